"""In- and out-of-distribution evaluation: BaseGen, ValGen, NovelGen, mixtures and snapshot selection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.episodes import BadEpisodes, Episodes, draw_episodes, draw_rows
from anyshot_analysis.features import Features
from anyshot_analysis.heads import Head, compact, problem_of
from anyshot_analysis.trust.estimate import oracle
from anyshot_analysis.undefined import Quantity
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.base_novel import BASE_VALID_NOVEL, mixture_classes
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.splits import hold_back, split_classes
from anyshot_scoring.reliability import tau_b

LAMBDAS = tuple(round(0.1 * i, 1) for i in range(11))


@dataclass(frozen=True)
class Sides:
    """Features split by class and image: `trained` holds images of base classes to train on, `held_back` others of
    the same classes (BaseGen), `validation` and `novel` other classes (ValGen, NovelGen)."""

    trained: Features
    held_back: Features
    validation: Features
    novel: Features


def split_sides(
    features: Features, shares: tuple[float, float] = (0.5, 0.25), held_back: float = 0.2, seed: int = 0
) -> Sides:
    """Split classes dataset by dataset (`shares` base and validation, the rest novel), and base images 80/20."""
    rng = np.random.default_rng(seed)
    parts: tuple[list[int], list[int], list[int]] = ([], [], [])
    for name in dict.fromkeys(features.datasets):
        own = rng.permutation(features.classes_of([name]))
        ends = np.round(np.cumsum(shares) * len(own)).astype(int)
        for part, chosen in zip(parts, np.split(own, ends), strict=True):
            part.extend(int(c) for c in np.sort(chosen))
    base = features.restricted(parts[0])
    trained = np.zeros(len(base.labels), dtype=bool)
    for rows in base.class_rows:
        trained[rng.permutation(rows)[: round(len(rows) * (1 - held_back))]] = True
    return Sides(
        Features(np.asarray(base.values)[trained], base.labels[trained], base.datasets),
        Features(np.asarray(base.values)[~trained], base.labels[~trained], base.datasets),
        features.restricted(parts[1]),
        features.restricted(parts[2]),
    )


def split_sides_of_pool(
    pool: Pool,
    features: Features,
    split_seed: int = 0,
    shares: tuple[float, ...] = BASE_VALID_NOVEL,
    held_back: float = 0.2,
) -> Sides:
    """The sides of the kit's protocol `class_side`: what was trained by it is novel here nowhere.

    `features` are those of the pool's images in order.
    """
    rows: tuple[list[NDArray[np.int64]], ...] = ([], [], [], [])
    start = 0
    for pack in pool:
        base, valid, novel = split_classes(pack, shares, split_seed)
        for c in base.tolist():
            for part, own in zip(rows, hold_back(pack, c, held_back, split_seed), strict=False):
                part.append(start + own)
        for part, side in zip(rows[2:], (valid, novel), strict=True):
            part.extend(start + pack.class_rows[c] for c in side.tolist())
        start += len(pack)
    return Sides(*[_of_rows(features, part) for part in rows])


def _of_rows(features: Features, classes: Sequence[NDArray[np.int64]]) -> Features:
    """The features of some rows of classes, renumbered in their order."""
    own = [rows for rows in classes if len(rows)]
    if not own:
        return Features(np.asarray(features.values[:0]), features.labels[:0], ())
    labels = np.repeat(np.arange(len(own)), [len(rows) for rows in own])
    names = tuple(features.datasets[features.labels[rows[0]]] for rows in own)
    return Features(np.asarray(features.values[np.concatenate(own)]), labels, names)


def joined(first: Features, second: Features) -> tuple[Features, NDArray[np.int64], NDArray[np.int64]]:
    """Both together, and the class numbers of either in the union."""
    values = np.concatenate([first.values, second.values])
    labels = np.concatenate([first.labels, second.labels + first.classes])
    union = Features(values, labels, first.datasets + second.datasets)
    return union, np.arange(first.classes), first.classes + np.arange(second.classes)


def mixture_episodes(
    union: Features,
    base: ArrayLike,
    novel: ArrayLike,
    share: float,
    ways: int,
    shots: int,
    query: int,
    tasks: int,
    seed: int,
    mixing: str = "weighted",
    within: bool = False,
) -> Episodes:
    """Tasks of the mixture P_BN(lambda), `share` = lambda; classes drawn by the starting kit's sampler.

    With `within`, each task is of one dataset, datasets in turn, as in a competition; raises `BadEpisodes` where no
    dataset has `ways` base and as many novel classes.
    """
    one, two = np.asarray(base), np.asarray(novel)
    sides = _sides_by_dataset(union, one, two, ways) if within else [(one, two)]
    tuples = np.stack(
        [
            mixture_classes(
                Draws("mixture", seed, round(share * 1000), i), *sides[i % len(sides)], ways, share, mixing
            )
            for i in range(tasks)
        ]
    )
    return draw_rows(
        np.random.default_rng([seed, round(share * 1000)]), union.class_rows, tuples, shots, query
    )


def _sides_by_dataset(
    union: Features, base: NDArray[np.int64], novel: NDArray[np.int64], ways: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    names = np.asarray(union.datasets)
    pairs = [
        (base[names[base] == name], novel[names[novel] == name]) for name in dict.fromkeys(union.datasets)
    ]
    found = [pair for pair in pairs if min(map(len, pair)) >= ways]
    if not found:
        raise BadEpisodes(f"no dataset has {ways} base and {ways} novel classes; ask for fewer ways")
    return found


def accuracies(head: Head, values: NDArray[np.floating], episodes: Episodes) -> NDArray[np.float64]:
    """Query accuracy `[T]` of a head on features brought to length 1."""
    truth = np.repeat(np.arange(episodes.ways), episodes.query.shape[2])
    parts = []
    for start in range(0, len(episodes), 200):
        parts.append(oracle(head, compact(problem_of(values, episodes[start : start + 200])), truth))
    return np.concatenate(parts)


@dataclass(frozen=True)
class LambdaPoint:
    """Accuracies `[tasks]` of each head, on the same tasks of one mixture."""

    share: float
    hits: dict[str, NDArray[np.float64]]


def lambda_curves(
    sides: Sides,
    heads: Sequence[Head],
    lambdas: Sequence[float] = LAMBDAS,
    ways: int = 5,
    shots: int = 3,
    query: int = 5,
    tasks: int = 300,
    seed: int = 0,
    mixing: str = "weighted",
    progress: Callable[[int], None] = lambda done: None,
    within: bool = False,
) -> list[LambdaPoint]:
    """Accuracy along lambda from BaseGen (0: base classes on images never trained on) to NovelGen (1)."""
    union, base, novel = joined(sides.held_back, sides.novel)
    points = []
    for share in lambdas:
        episodes = mixture_episodes(
            union, base, novel, share, ways, shots, query, tasks, seed, mixing, within
        )
        points.append(LambdaPoint(share, {h.name: accuracies(h, union.values, episodes) for h in heads}))
        progress(1)
    return points


def generalisation(
    side: Features, heads: Sequence[Head], ways: int, shots: int, query: int, tasks: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    """Accuracies `[tasks]` of each head on tasks of one side."""
    episodes = draw_episodes(side, ways, shots, query, tasks, seed)
    return {head.name: accuracies(head, side.values, episodes) for head in heads}


@dataclass(frozen=True)
class Snapshots:
    """Scores of the snapshots of one training run, in order of time."""

    train_loss: NDArray[np.float64]
    base: NDArray[np.float64]
    validation: NDArray[np.float64]
    novel: NDArray[np.float64]

    def __post_init__(self) -> None:
        if len({len(self.train_loss), len(self.base), len(self.validation), len(self.novel)}) != 1 or not len(
            self.base
        ):
            raise BadEpisodes("snapshots need as many losses as scores, at least one")


@dataclass(frozen=True)
class ShiftChoice:
    """Which snapshot a rule takes, and what it loses on novel classes against the best one."""

    rule: str
    snapshot: int
    novel: float
    novel_lost: float


def choose_snapshots(snapshots: Snapshots) -> list[ShiftChoice]:
    """By last, lowest training loss, best BaseGen, best ValGen; the earliest snapshot wins ties."""
    picks = {
        "last": len(snapshots.novel) - 1,
        "lowest training loss": int(np.argmin(snapshots.train_loss)),
        "best BaseGen": int(np.argmax(snapshots.base)),
        "best ValGen": int(np.argmax(snapshots.validation)),
    }
    best = float(snapshots.novel.max())
    return [
        ShiftChoice(rule, i, float(snapshots.novel[i]), best - float(snapshots.novel[i]))
        for rule, i in picks.items()
    ]


def snapshot_agreement(snapshots: Snapshots) -> dict[str, Quantity]:
    """Kendall's tau-b between the snapshots' order by BaseGen, ValGen and NovelGen.

    Without p values: neighbouring snapshots depend on each other.
    """
    return {
        "BaseGen and NovelGen": tau_b(snapshots.base, snapshots.novel),
        "ValGen and NovelGen": tau_b(snapshots.validation, snapshots.novel),
        "BaseGen and ValGen": tau_b(snapshots.base, snapshots.validation),
    }
