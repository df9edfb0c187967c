"""Everything about one pair of layers, with its chance levels and warnings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from anyshot_analysis.representations.cca import bases, correlate, pwcca_of_bases, svcca_of_bases
from anyshot_analysis.representations.chance import (
    PermutationLevel,
    chance_cca,
    chance_cka,
    permutation_levels,
)
from anyshot_analysis.representations.cka import cka_of_pair, unbiased_of_rows
from anyshot_analysis.representations.procrustes import procrustes_of_pair
from anyshot_analysis.representations.rows import BadRepresentation, Matrix, Pair, centred, compress
from anyshot_analysis.undefined import Quantity, Undefined, as_json

ENOUGH_ROWS = 10.0


@dataclass(frozen=True)
class Similarities:
    """Similarities (CKA, CCA and relatives: 1 is the same) and the Procrustes distance (0 is the same).

    `examples` are rows, `images` what is independent of each other. `chance` has the levels without a formula.
    """

    examples: int
    images: int
    widths: tuple[int, int]
    ranks: tuple[int, int] | None
    cka: Quantity
    cka_unbiased: Quantity
    cka_chance: Quantity
    procrustes: Quantity
    cca: Quantity
    cca_squared: Quantity
    cca_squared_chance: Quantity
    svcca: Quantity
    svcca_variance: Quantity
    pwcca: Quantity
    pwcca_side: str | None
    warnings: tuple[str, ...]
    chance: Mapping[str, PermutationLevel | Undefined] = field(default_factory=dict)

    @property
    def images_a_column(self) -> float:
        return self.images / max(self.widths)

    def distances(self) -> dict[str, Quantity]:
        """Each as a distance: 0 is the same representation."""
        similarities = {"cka": self.cka, "cca": self.cca, "svcca": self.svcca, "pwcca": self.pwcca}
        away = {name: s if isinstance(s, Undefined) else 1.0 - s for name, s in similarities.items()}
        return {**away, "procrustes": self.procrustes}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; undefined quantities with their reasons."""
        names = (
            "cka", "cka_unbiased", "cka_chance", "procrustes", "cca", "cca_squared", "cca_squared_chance",
            "svcca", "svcca_variance", "pwcca",
        )  # fmt: skip
        return {
            "examples": self.examples,
            "images": self.images,
            "widths": list(self.widths),
            "ranks": None if self.ranks is None else list(self.ranks),
            "images_a_column": self.images_a_column,
            **{name: as_json(getattr(self, name)) for name in names},
            "pwcca_side": self.pwcca_side,
            "warnings": list(self.warnings),
            "chance": {n: c if isinstance(c, Undefined) else vars(c) for n, c in self.chance.items()},
        }


def compare(x: ArrayLike, y: ArrayLike, positions: int = 1, permutations: int = 0) -> Similarities:
    """All quantities of `[N, Dx]` against `[N, Dy]`, the same examples in the same order.

    With `positions`, the rows are so many positions of each image, image by image. `permutations` pairings of the
    images give the chance levels of what has no formula.
    """
    left, right = centred(x), centred(y)
    if len(left) != len(right):
        raise BadRepresentation(f"{len(left)} examples on one side, {len(right)} on the other")
    sides = compress(left, right)
    images = len(left) // positions
    canon = canonical(sides, left, right, positions)
    levels = permutation_levels(left, right, positions, permutations) if permutations else {}
    return Similarities(
        examples=sides.examples,
        images=images,
        widths=sides.widths,
        cka=cka_of_pair(sides),
        cka_unbiased=unbiased_of_rows(left, right, sides),
        cka_chance=chance_cka(left, right, positions),
        procrustes=procrustes_of_pair(sides),
        warnings=warnings_of(sides.examples, images, max(sides.widths)),
        chance=levels if canon["ranks"] else {k: v for k, v in levels.items() if k == "procrustes"},
        **canon,
    )


def canonical(sides: Pair, left: Matrix, right: Matrix, positions: int) -> dict[str, Any]:
    """The fields of a comparison that rest on canonical correlations."""
    found = bases(sides)
    if isinstance(found, Undefined):
        names = ("cca", "cca_squared", "cca_squared_chance", "svcca", "svcca_variance", "pwcca")
        return {"ranks": None, "pwcca_side": None, **dict.fromkeys(names, found)}
    cca, weighted = correlate(*found), pwcca_of_bases(sides, *found)
    return {
        "ranks": (cca.rank_x, cca.rank_y),
        "cca": cca.mean,
        "cca_squared": cca.mean_squared,
        "cca_squared_chance": chance_cca(left, right, positions),
        "svcca": svcca_of_bases(*found).mean,
        "svcca_variance": svcca_of_bases(*found, kept="variance").mean,
        "pwcca": weighted.similarity,
        "pwcca_side": weighted.side,
    }


def warnings_of(examples: int, images: int, widest: int) -> tuple[str, ...]:
    """A sentence where the images are too few for CCA to mean much: positions of one image do not replace images."""
    if widest <= examples and images < ENOUGH_ROWS * widest:
        ratio = images / widest
        return (f"only {ratio:.1f} images a neuron: CCA is inflated, read it beside its chance level",)
    return ()
