"""MAML as a head on frozen features: a small network, meta-trained on base classes, that adapts to each support set."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad, vmap
from torch.nn import functional

from anyshot_analysis.episodes import draw_episodes
from anyshot_analysis.features import Features
from anyshot_analysis.gaussian.maml import Draw, MamlSettings, meta_train
from anyshot_analysis.gaussian.perceptron import Parameters, logits
from anyshot_analysis.gaussian.world import GaussianTasks
from anyshot_analysis.heads.problem import Array, BadProblem, FittingProblem, to_unit_length


def tasks_from(features: Features, ways: int, shots: int, query: int) -> Draw:
    """A source of tasks from cached features brought to length 1."""
    values = to_unit_length(np.asarray(features.values, np.float64)).astype(np.float32)

    def draw(rng: np.random.Generator, count: int) -> GaussianTasks:
        found = draw_episodes(features, ways, shots, query, count, int(rng.integers(2**31)))
        labels = [np.tile(np.repeat(np.arange(ways), k), (count, 1)) for k in (shots, query)]
        support, queries = (values[rows.reshape(count, -1)] for rows in (found.support, found.query))
        return GaussianTasks(found.classes, support, labels[0], queries, labels[1])

    return draw


@dataclass(frozen=True)
class AdaptedRule:
    """Parameters of `S` adaptations to each of `T` support sets, stacked in front."""

    parameters: Parameters

    def predict(self, points: Array) -> NDArray[np.int64]:
        """Labels `[T, S, m]`."""
        x = torch.from_numpy(np.ascontiguousarray(points, dtype=np.float32))
        scores = vmap(vmap(logits, in_dims=(0, None)))(self.parameters, x)
        return scores.argmax(dim=-1).numpy()


@dataclass(frozen=True)
class MamlHead:
    """Second-order MAML (Finn et al. 2017): `steps` gradient steps from meta-trained parameters.

    A network has as many outputs as the tasks that it was trained on have ways; other problems are refused. It needs
    the features themselves, not `compact` ones.
    """

    parameters: Parameters
    steps: int = 5
    rate: float = 0.5
    name: str = "maml"

    def fit(self, problem: FittingProblem, weights: Array) -> AdaptedRule:
        """Adapt once for each row of `weights` `[T, S, n]`. Raises BadProblem."""
        outputs = len(list(self.parameters.values())[-1])
        if problem.ways != outputs:
            raise BadProblem(f"this MAML answers {outputs}-way tasks, the problem has {problem.ways} ways")
        x = torch.from_numpy(np.ascontiguousarray(problem.support, dtype=np.float32))
        y = torch.from_numpy(np.array(problem.labels))
        shares = torch.from_numpy(weights / weights.sum(axis=-1, keepdims=True)).float()

        def one(own: Tensor, points: Tensor, labels: Tensor) -> Parameters:
            return self.adapt(points, labels, own)

        return AdaptedRule(vmap(vmap(one, in_dims=(0, None, None)))(shares, x, y))

    def adapt(self, points: Tensor, labels: Tensor, shares: Tensor) -> Parameters:
        """Gradient steps on the cross-entropy weighted by `shares` `[n]`."""

        def loss(now: Parameters) -> Tensor:
            return (shares * functional.cross_entropy(logits(now, points), labels, reduction="none")).sum()

        now = self.parameters
        for _ in range(self.steps):
            slopes = grad(loss)(now)
            now = {name: value - self.rate * slopes[name] for name, value in now.items()}
        return now


def train_head(
    features: Features, ways: int = 5, shots: int = 5, iterations: int = 400, width: int = 64, seed: int = 0
) -> MamlHead:
    """Meta-train on the base classes of `features`."""
    rules = MamlHead({})
    settings = MamlSettings(rules.steps, rules.rate, iterations=iterations)
    draw = tasks_from(features, ways, shots, 10)
    trained = meta_train(draw, (features.values.shape[1], width, ways), seed, settings)
    return MamlHead({name: value.detach() for name, value in trained.parameters.items()})
