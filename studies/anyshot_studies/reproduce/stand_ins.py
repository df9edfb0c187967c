"""Generated images that stand in for FEMNIST (characters by writers) and UT Zappos50K (things with attributes).

They have the structure that the protocols `writers` and `attribute_pairs` need, and nothing else of the originals.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from anyshot_analysis.readers.records import Records

SIDE = 64  # pixels of a drawing
WRITER = "WRITER"
CHARACTERS, STROKES = 30, 3
GROUPS = {  # values of which a thing has one each, so that two of one group never meet
    "shape": ("disc", "square", "triangle", "cross", "ring", "bar"),
    "colour": ("red", "green", "blue", "yellow", "violet", "grey"),
    "texture": ("plain", "rows", "columns", "checks", "dots"),
    "size": ("small", "medium", "large"),
    "ground": ("black", "dim", "light", "white"),
    "frame": ("none", "thin", "thick"),
}
COLOURS = {
    "red": (205, 60, 55),
    "green": (70, 165, 75),
    "blue": (65, 95, 200),
    "yellow": (215, 190, 60),
    "violet": (150, 75, 175),
    "grey": (130, 130, 130),
}
GROUNDS = {"black": 20, "dim": 85, "light": 165, "white": 235}
RADII = {"small": 9, "medium": 14, "large": 19}
FRAMES = {"none": 0, "thin": 2, "thick": 5}


@dataclass(frozen=True)
class Hand:
    """How a writer writes: an affine map of the strokes, their thickness, how they are bent, paper and ink."""

    shear: NDArray[np.float64]  # [2, 2]
    width: float
    bent: NDArray[np.float64]  # [characters, strokes, 3, 2]
    ink: float
    noise: float


def draw_writers(writers: int, seed: int = 0) -> Records:
    """Characters by `writers`, each of whom has a hand and wrote 4 to 9 of the 30 characters two to four times."""
    glyphs = np.random.default_rng([seed, 0]).uniform(-0.8, 0.8, (CHARACTERS, STROKES, 3, 2))
    classes, names, images = list[str](), list[str](), list[Image.Image]()
    for writer in range(writers):
        rng = np.random.default_rng([seed, 1, writer])
        hand = _hand(rng)
        for c in rng.choice(CHARACTERS, int(rng.integers(4, 10)), replace=False):
            for _ in range(int(rng.integers(2, 5))):
                classes.append(f"character {c:02d}")
                names.append(f"writer {writer:04d}")
                images.append(_write(glyphs[c], hand, hand.bent[c], rng))
    return _records(classes, images, {WRITER: tuple(names)})


def draw_things(count: int, seed: int = 0) -> Records:
    """Things on a ground, each with one value of every group of `GROUPS`; its class is its shape.

    Within a group some values are rarer than others, as attributes of shoes are.
    """
    rng = np.random.default_rng([seed, 2])
    drawn = {group: rng.choice(len(values), count, p=_rarer(len(values))) for group, values in GROUPS.items()}
    columns = {
        f"{group}.{value}": tuple(str(int(cell)) for cell in drawn[group] == place)
        for group, values in GROUPS.items()
        for place, value in enumerate(values)
    }
    things = [{group: GROUPS[group][drawn[group][i]] for group in GROUPS} for i in range(count)]
    return _records([thing["shape"] for thing in things], [_thing(own, rng) for own in things], columns)


def _records(classes: list[str], images: list[Image.Image], columns: dict[str, tuple[str, ...]]) -> Records:
    return Records(tuple(classes), ("all",) * len(classes), images.__getitem__, columns)


def _rarer(count: int) -> NDArray[np.float64]:
    """Shares that fall from value to value; the last has half of the first's."""
    shares = np.linspace(2, 1, count)
    return shares / shares.sum()


def _hand(rng: np.random.Generator) -> Hand:
    turn, slant = rng.normal(0, 0.25), rng.normal(0, 0.35)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    scale = np.diag(rng.uniform(0.7, 1.15, 2))
    return Hand(
        shear=rotation @ np.array([[1, slant], [0, 1]]) @ scale,
        width=float(rng.uniform(2, 6)),
        bent=rng.normal(0, 0.16, (CHARACTERS, STROKES, 3, 2)),
        ink=float(rng.uniform(120, 255)),
        noise=float(rng.uniform(5, 30)),
    )


def _write(
    glyph: NDArray[np.float64], hand: Hand, bent: NDArray[np.float64], rng: np.random.Generator
) -> Image.Image:
    """One character: quadratic curves through the hand, anew unsteady each time."""
    points = (glyph + bent + rng.normal(0, 0.07, glyph.shape)) @ hand.shear.T
    middle = SIDE / 2 + rng.normal(0, 2, 2)
    paper = Image.new("L", (SIDE, SIDE))
    t = np.linspace(0, 1, 16)[:, None]
    for start, control, end in points:
        curve = middle + SIDE / 2.6 * ((1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end)
        ImageDraw.Draw(paper).line([(float(x), float(y)) for x, y in curve], 255, round(hand.width), "curve")
    grey = np.asarray(paper) * (hand.ink / 255) + rng.normal(0, hand.noise, (SIDE, SIDE))
    return Image.fromarray(np.clip(255 - grey, 0, 255).astype(np.uint8)).convert("RGB")


def _thing(own: dict[str, str], rng: np.random.Generator) -> Image.Image:
    y, x = np.mgrid[0:SIDE, 0:SIDE] - (SIDE / 2 + rng.uniform(-6, 6, 2))[:, None, None]
    radius = RADII[own["size"]] * rng.uniform(0.88, 1.12)
    inside = _SHAPES[own["shape"]](x, y, radius) & _TEXTURES[own["texture"]](x, y, int(rng.integers(4, 7)))
    ground = np.full((SIDE, SIDE, 3), GROUNDS[own["ground"]] + rng.normal(0, 12))
    colour = np.array(COLOURS[own["colour"]]) + rng.normal(0, 28, 3)
    picture = np.where(inside[..., None], colour, ground)
    edge = np.minimum.reduce([*np.indices((SIDE, SIDE)), *np.indices((SIDE, SIDE))[:, ::-1, ::-1]])
    wide = FRAMES[own["frame"]]
    picture[edge < wide] = 255 - ground[0, 0]
    noise = rng.normal(0, 22, picture.shape)
    return Image.fromarray(np.clip(picture + noise, 0, 255).astype(np.uint8))


Mask = Callable[..., NDArray[np.bool_]]
_SHAPES: dict[str, Mask] = {
    "disc": lambda x, y, r: np.hypot(x, y) < r,
    "square": lambda x, y, r: np.maximum(abs(x), abs(y)) < 0.88 * r,
    "triangle": lambda x, y, r: (y < 0.8 * r) & (abs(x) < (y + r) / 1.7),
    "cross": lambda x, y, r: np.maximum(np.minimum(abs(x), abs(y)) * 3, np.maximum(abs(x), abs(y))) < r,
    "ring": lambda x, y, r: abs(np.hypot(x, y) - 0.8 * r) < 0.28 * r,
    "bar": lambda x, y, r: (abs(x) < 0.45 * r) & (abs(y) < 1.2 * r),
}
_TEXTURES: dict[str, Mask] = {
    "plain": lambda x, y, _: np.isfinite(x),
    "rows": lambda _, y, step: (y // step) % 2 < 1,
    "columns": lambda x, _, step: (x // step) % 2 < 1,
    "checks": lambda x, y, step: (x // step + y // step) % 2 < 1,
    "dots": lambda x, y, step: np.hypot(x % step - step / 2, y % step - step / 2) < 0.42 * step,
}
