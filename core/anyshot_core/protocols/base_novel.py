"""Tasks of base and novel classes and their mixtures.

BaseGen, NovelGen and the mixtures P_BN(lambda) of Setlur, Li and Smith, *Two Sides of Meta-Learning Evaluation: In vs.
Out of Distribution* (2021). Support and query are disjoint, where the paper's code draws them independently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.any_way_any_shot import FIVE, AnyWayAnyShot
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.keys import Seed
from anyshot_core.protocols.splits import hold_back, split_classes
from anyshot_core.protocols.task import (
    Protocol,
    ProtocolError,
    Range,
    TaskSpec,
    dataset_in_turn,
    deal,
    require_classes,
    require_images,
)

BASE_VALID_NOVEL = (0.5, 0.25, 0.25)
_SIDES = ("base", "valid", "novel")
IMAGES = ("trained", "held_back", "all")


def base_rows(pack: Pack, shares: Sequence[float], held_back: float, split_seed: Seed) -> np.ndarray:
    """What one trains on: the images of the base classes that are not held back, int64 `[n]`."""
    base = split_classes(pack, shares, split_seed)[0]
    return np.concatenate([hold_back(pack, int(c), held_back, split_seed)[0] for c in base])


@dataclass(frozen=True)
class ClassSide(Protocol):
    """Tasks of one side of a split of each dataset's classes into base, validation and novel ones.

    `side` base with `images` trained is what one trains on; base with held_back is BaseGen; valid and novel with
    all are ValGen and NovelGen. `held_back` is the share of each class's images that is never trained on.
    """

    name: ClassVar[str] = "class_side"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"side": _SIDES, "images": IMAGES}
    splits_datasets: ClassVar[bool] = True
    divides: ClassVar[bool] = True
    ways: Range = FIVE
    shots: Range = FIVE
    query: int = 15
    shares: tuple[float, ...] = BASE_VALID_NOVEL
    side: str = "base"
    images: str = "trained"
    held_back: float = 0.2
    split_seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.shares) != 3:
            raise ProtocolError(
                f"shares must be three numbers (base, valid, novel); found {list(self.shares)}."
            )

    def classes(self, pool: Pool, dataset: int) -> np.ndarray:
        """The classes of the side, int64."""
        return split_classes(pool[dataset], self.shares, self.split_seed)[_SIDES.index(self.side)]

    def rows(self, pack: Pack, c: int) -> np.ndarray:
        """The images of a class that tasks may use."""
        return images_of(pack, c, self.images, self.held_back, self.split_seed)

    def training_rows(self, pack: Pack) -> np.ndarray:
        """The trained images of the base classes."""
        return base_rows(pack, self.shares, self.held_back, self.split_seed)

    def shown_rows(self, pack: Pack) -> np.ndarray:
        """The images of the side's classes that tasks may use."""
        classes = split_classes(pack, self.shares, self.split_seed)[_SIDES.index(self.side)]
        return np.sort(np.concatenate([self.rows(pack, int(c)) for c in classes]))

    def on_shown(self) -> AnyWayAnyShot:
        """Tasks of all classes that are left."""
        return AnyWayAnyShot(self.ways, self.shots, self.query)

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index`: distinct classes of the side, uniform."""
        draws = Draws(self.name, self.side, self.images, seed, index)
        dataset = dataset_in_turn(seed, index, range(len(pool)))
        available = self.classes(pool, dataset)
        require_classes(pool, dataset, len(available), self.ways.low, f"{self.side} classes")
        ways = self.ways.capped(len(available), least=2).draw(draws)
        shots = self.shots.draw(draws)
        classes = draws.pick(available, ways)
        rows = [self.rows(pool[dataset], c) for c in classes]
        require_images(
            pool, dataset, min(map(len, rows)), shots, self.query, f"{self.images} images in a class"
        )
        return deal(draws, index, dataset, classes, rows, shots, self.query)

    def check(self, pool: Pool) -> None:
        """Every dataset's side has enough classes with enough images for the largest task."""
        for dataset, pack in enumerate(pool):
            available = self.classes(pool, dataset)
            require_classes(pool, dataset, len(available), self.ways.low, f"{self.side} classes")
            fewest = min(len(self.rows(pack, c)) for c in available)
            require_images(
                pool, dataset, fewest, self.shots.high, self.query, f"{self.images} images in a class"
            )


@dataclass(frozen=True)
class BaseNovel(Protocol):
    """A mixture of base classes (held-back images) and novel classes (all images): P_BN(lambda).

    `mixing` says how the classes are drawn: `coin`, each position is novel with probability `novel_share`, as the paper
    writes; `weighted`, one after the other without replacement with weights novel_share / |C_N| and
    (1 - novel_share) / |C_B|, as its code does. Only the latter is uniform over the union at
    novel_share = |C_N| / (|C_N| + |C_B|).
    """

    name: ClassVar[str] = "base_novel"
    choices: ClassVar[Mapping[str, Sequence[str]]] = {"mixing": ("weighted", "coin")}
    splits_datasets: ClassVar[bool] = True
    divides: ClassVar[bool] = True
    novel_share: float = 0.5
    mixing: str = "weighted"
    ways: Range = FIVE
    shots: Range = FIVE
    query: int = 15
    shares: tuple[float, ...] = BASE_VALID_NOVEL
    held_back: float = 0.2
    split_seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.novel_share <= 1:
            raise ProtocolError(f"novel_share must be from 0 to 1; found {self.novel_share}.")

    def training_rows(self, pack: Pack) -> np.ndarray:
        """The trained images of the base classes."""
        return base_rows(pack, self.shares, self.held_back, self.split_seed)

    def shown_rows(self, pack: Pack) -> np.ndarray:
        """What is held back of the base classes, and all of the novel ones."""
        base, _, novel = split_classes(pack, self.shares, self.split_seed)
        rows = [self._rows(pack, int(c), side) for side, own in ((False, base), (True, novel)) for c in own]
        return np.sort(np.concatenate(rows))

    def on_shown(self) -> Protocol:
        """There is none: a cut pack does not tell base classes from novel ones."""
        raise ProtocolError(
            "base_novel mixes base and novel classes, which one can be tested on only. To train or validate take"
            " class_side, with side=base, valid or novel."
        )

    def task(self, pool: Pool, seed: Seed, index: int) -> TaskSpec:
        """Task `index`; raises `ProtocolError` where a side runs out of classes."""
        draws = Draws(self.name, self.mixing, str(self.novel_share), seed, index)
        dataset = dataset_in_turn(seed, index, range(len(pool)))
        pack = pool[dataset]
        base, _, novel = split_classes(pack, self.shares, self.split_seed)
        ways, shots = self.ways.draw(draws), self.shots.draw(draws)
        try:
            positions = MIXINGS[self.mixing](
                draws, len(base), len(novel), ways, Fraction(str(self.novel_share))
            )
        except NoClassLeft as side:
            raise ProtocolError(
                f"{pack.name}: {ways} ways need more {side} classes than the dataset has."
            ) from side
        classes = np.concatenate([base, novel])[positions]
        rows = [self._rows(pack, c, place >= len(base)) for c, place in zip(classes, positions, strict=True)]
        require_images(pool, dataset, min(map(len, rows)), shots, self.query, "images in a class")
        return deal(draws, index, dataset, classes, rows, shots, self.query)

    def check(self, pool: Pool) -> None:
        """Every dataset can fill the largest task from each side that can be drawn, and has the images for it."""
        for dataset, pack in enumerate(pool):
            base, _, novel = split_classes(pack, self.shares, self.split_seed)
            alone = {"base": (base, self.novel_share < 1), "novel": (novel, self.novel_share > 0)}
            for side, (classes, used) in alone.items():
                if used and (self.mixing == "coin" or self.novel_share in (0, 1)):
                    require_classes(pool, dataset, len(classes), self.ways.high, f"{side} classes")
                rows = [self._rows(pack, c, side == "novel") for c in classes] if used else []
                fewest = min(map(len, rows), default=self.shots.high + self.query)
                require_images(pool, dataset, fewest, self.shots.high, self.query)
            require_classes(pool, dataset, len(base) + len(novel), self.ways.high)

    def _rows(self, pack: Pack, c: int, novel: bool) -> np.ndarray:
        return images_of(pack, c, "all" if novel else "held_back", self.held_back, self.split_seed)


def images_of(pack: Pack, c: int, which: str, share: float, split_seed: Seed) -> np.ndarray:
    """Rows of a class: those trained on, those held back, or all."""
    if which == "all":
        return pack.class_rows[c]
    trained, held = hold_back(pack, c, share, split_seed)
    return trained if which == "trained" else held


class NoClassLeft(Exception):
    """A side of a mixture has no class left; its argument names the side."""


def mixture_classes(
    draws: Draws, base: np.ndarray, novel: np.ndarray, ways: int, novel_share: float, mixing: str = "weighted"
) -> np.ndarray:
    """The classes of one task of P_BN(`novel_share`), int64 `[ways]`, in random order.

    Raises:
        RunOut: a side has fewer classes than it is asked for.
    """
    share = Fraction(str(novel_share))  # the decimal that was written, so that weights are exact
    return np.concatenate([base, novel])[MIXINGS[mixing](draws, len(base), len(novel), ways, share)]


def draw_by_coin(draws: Draws, base: int, novel: int, ways: int, share: Fraction) -> list[int]:
    """Each position is novel with probability `share`, then uniform among the classes left on that side.

    Positions below `base` are base classes, the others novel ones.
    """
    left = (list(range(base)), list(range(base, base + novel)))
    chosen = []
    for _ in range(ways):
        is_novel = draws.below(share.denominator) < share.numerator
        side = left[is_novel]
        if not side:
            raise NoClassLeft("novel" if is_novel else "base")
        chosen.append(side.pop(draws.below(len(side))))
    return chosen


def draw_by_weight(draws: Draws, base: int, novel: int, ways: int, share: Fraction) -> list[int]:
    """Sequentially without replacement, a novel class with weight share / novel, a base class with (1 - share) /
    base.
    """
    weights = (
        int((share.denominator - share.numerator) * novel),
        int(share.numerator * base),
    )  # common denominator
    left = (list(range(base)), list(range(base, base + novel)))
    chosen = []
    for _ in range(ways):
        masses = [weight * len(side) for weight, side in zip(weights, left, strict=True)]
        if sum(masses) == 0:
            raise NoClassLeft("base" if share < 1 else "novel")
        side = left[draws.below(sum(masses)) >= masses[0]]
        chosen.append(side.pop(draws.below(len(side))))
    return chosen


MIXINGS = {"weighted": draw_by_weight, "coin": draw_by_coin}
MIXTURE_STEPS: Sequence[float] = tuple(step / 10 for step in range(11))
