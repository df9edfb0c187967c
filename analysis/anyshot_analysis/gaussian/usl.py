"""Union supervised learning: one classifier over all training classes, then logistic regression on its features."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from anyshot_analysis.gaussian.maml import Trained, has_converged, tensors
from anyshot_analysis.gaussian.perceptron import Parameters, clone, draw_parameters, features, loss
from anyshot_analysis.gaussian.world import GaussianTasks
from anyshot_analysis.heads.baseline import BaselineHead
from anyshot_analysis.heads.problem import FittingProblem, compact


@dataclass(frozen=True)
class UslSettings:
    """The same optimizer as MAML's; ends by the slope of the training loss."""

    rate: float = 1e-3
    batch: int = 256
    iterations: int = 6000
    window: int = 500


def train_union(
    points: NDArray[np.float32],
    hidden_widths: tuple[int, ...],
    seed: int,
    settings: UslSettings = UslSettings(),
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Classify all classes of `points` `[classes, n]` at once.

    `hidden_widths` from the input to the last hidden layer.
    """
    classes, size = points.shape
    x = torch.from_numpy(np.ascontiguousarray(points)).reshape(-1, 1)
    y = torch.arange(classes).repeat_interleave(size)
    generator = torch.Generator().manual_seed(seed)
    parameters = clone(draw_parameters((*hidden_widths, classes), seed), trainable=True)
    optimizer = torch.optim.Adam(parameters.values(), settings.rate)
    losses: list[float] = []
    for iteration in range(settings.iterations):
        rows = torch.randint(len(x), (settings.batch,), generator=generator)
        value = loss(parameters, x[rows], y[rows])
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
        progress(1)
        if iteration % 50 == 0 and has_converged(losses, settings.window, share=0.002):
            break
    found = has_converged(losses, settings.window, share=0.002)
    return Trained(clone(parameters), np.asarray(losses), found)


def regression_hits(
    parameters: Parameters, tasks: GaussianTasks, strength: float = 1.0, ways: int = 5
) -> NDArray[np.float64]:
    """Query accuracy `[T]` of logistic regression on frozen features, standardised by each task's support."""
    support_x, support_y, query_x, query_y = tensors(tasks)
    support, query = of_layer(parameters, support_x), of_layer(parameters, query_x)
    centre = support.mean(axis=1, keepdims=True)
    spread = np.maximum(support.std(axis=1, keepdims=True), 1e-6)
    problem = FittingProblem((support - centre) / spread, support_y.numpy(), (query - centre) / spread, ways)
    small = compact(problem)
    rule = BaselineHead(strength, tolerance=1e-4).fit(small, np.ones((small.tasks, 1, support.shape[1])))
    return (rule.predict(small.queries)[:, 0] == query_y.numpy()).mean(axis=1)


def of_layer(parameters: Parameters, x: Tensor) -> NDArray[np.float64]:
    """Features `[T, n, width]` in float64."""
    with torch.no_grad():
        return features(parameters, x).double().numpy()
