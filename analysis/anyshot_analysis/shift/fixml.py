"""FIX-ML (Setlur, Li and Smith, *Lessons from Chasing Few-Shot Learning Benchmarks*): one fixed support a class.

Before training, as many images of each base class as there are shots become that class's only support. Validation and
test are never fixed. The learner here is a prototypical network over cached features.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyshot_analysis.episodes import Episodes, draw_classes, draw_rows
from anyshot_analysis.features import Features
from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes

QuerySource = Literal["rest", "all"]


@dataclass(frozen=True)
class EpisodicSettings:
    """Training of one arm. `fixed` is the switch; `query_from` says where a fixed class's query comes from.

    `rest` (default) keeps support and query disjoint; `all` is the paper's.
    """

    fixed: bool = False
    query_from: QuerySource = "rest"
    widths: tuple[int, ...] = (64,)
    ways: int = 5
    shots: int = 5
    query: int = 10
    episodes: int = 600
    batch: int = 4
    rate: float = 1e-3
    snapshots: int = 6
    seed: int = 0


@dataclass(frozen=True)
class EpisodicRun:
    """Networks and unfixed training losses at each snapshot."""

    networks: list[nn.Module]
    losses: list[float]


def make_embedding(inputs: int, widths: tuple[int, ...], seed: int) -> nn.Sequential:
    """Linear layers with ReLUs between them; the last width is the embedding's."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for i, width in enumerate(widths):
            layers += [nn.ReLU()] if i else []
            layers.append(nn.Linear(widths[i - 1] if i else inputs, width))
    return nn.Sequential(*layers)


def fix_supports(features: Features, shots: int, seed: int) -> NDArray[np.int64]:
    """`[classes, shots]`: the rows that are each class's only support."""
    rng = np.random.default_rng([seed, 77])
    return np.stack([rng.permutation(rows)[:shots] for rows in features.class_rows])


def draw_training(
    features: Features,
    settings: EpisodicSettings,
    supports: NDArray[np.int64] | None,
    rng: np.random.Generator,
    tasks: int,
) -> Episodes:
    """Training tasks; with `supports` each class brings its fixed one, and the query comes from the rest or all."""
    classes = draw_classes(rng, np.arange(features.classes), settings.ways, tasks)
    if supports is None:
        return draw_rows(rng, features.class_rows, classes, settings.shots, settings.query)
    rest = features.class_rows
    if settings.query_from == "rest":
        rest = tuple(np.setdiff1d(r, s) for r, s in zip(features.class_rows, supports, strict=True))
    drawn = draw_rows(rng, rest, classes, 0, settings.query)
    return Episodes(classes, supports[classes], drawn.query)


def episodic_loss(network: nn.Module, values: Tensor, episodes: Episodes) -> Tensor:
    """Mean cross-entropy of a prototypical network over tasks."""
    total = torch.zeros(())
    ways = episodes.ways
    for support, query in zip(episodes.support, episodes.query, strict=True):
        embedded = network(values[np.concatenate([support.ravel(), query.ravel()])])
        labels = torch.arange(ways).repeat_interleave(support.shape[1])
        centres = prototypes(embedded[: support.size], labels, ways)
        logits = negative_squared_distances(embedded[support.size :], centres) / embedded.shape[1] ** 0.5
        total = total + functional.cross_entropy(logits, torch.arange(ways).repeat_interleave(query.shape[1]))
    return total / len(episodes)


def train_arm(
    features: Features, settings: EpisodicSettings, progress: Callable[[int], None] = lambda done: None
) -> EpisodicRun:
    """Train one arm. Both arms of a seed start from the same weights and see the same classes in the same order."""
    values = torch.from_numpy(np.asarray(features.values, dtype=np.float32))
    network = make_embedding(values.shape[1], settings.widths, settings.seed)
    supports = fix_supports(features, settings.shots, settings.seed) if settings.fixed else None
    optimizer = torch.optim.Adam(network.parameters(), settings.rate)
    rng = np.random.default_rng(settings.seed)
    judge = draw_training(features, settings, None, np.random.default_rng([settings.seed, 5]), 60)
    run = EpisodicRun([], [])
    every = max(1, settings.episodes // settings.snapshots)
    for step in range(1, settings.episodes + 1):
        loss = episodic_loss(
            network, values, draw_training(features, settings, supports, rng, settings.batch)
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress(1)
        if step % every == 0:
            copy = make_embedding(values.shape[1], settings.widths, settings.seed)
            copy.load_state_dict(network.state_dict())
            run.networks.append(copy.eval())
            with torch.no_grad():
                run.losses.append(episodic_loss(network, values, judge).item())
    return run


def embedded(network: nn.Module, features: Features) -> Features:
    """The features as the trained network sees them."""
    with torch.no_grad():
        values = network(torch.from_numpy(np.asarray(features.values, dtype=np.float32))).numpy()
    return Features(values, features.labels, features.datasets)
