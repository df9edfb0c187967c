"""One function a domain: draws an example of a class. Class `c` of variant `v` is the same for any seed."""

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SIDE = 128
ALPHABETS = ("ABCDEFGHJKLMNPQRSTUV", "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθλξ", "БГДЖЗИЙЛПФЦЧШЩЪЫЬЭЮЯ")


def class_stream(domain: str, variant: int, category: int) -> np.random.Generator:
    """The random numbers that define a class, apart from those that vary its images."""
    return np.random.default_rng([sum(domain.encode()), variant, category])


@cache
def fonts() -> tuple[Path, ...]:
    """Font files that matplotlib bundles and that hold Latin, Greek and Cyrillic letters."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return tuple(path for path in sorted(folder.glob("DejaVuS*.ttf")) if "Display" not in path.name)


def character(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """A printed letter in some font, size, place, tilt and pair of colours."""
    font = ImageFont.truetype(str(fonts()[rng.integers(len(fonts()))]), int(rng.integers(48, 88)))
    dark, light = rng.integers(0, 110, 3), rng.integers(150, 256, 3)
    paper, ink = (light, dark) if rng.random() < 0.7 else (dark, light)
    image = Image.new("RGB", (SIDE, SIDE), tuple(paper.tolist()))
    where = (SIDE / 2 + rng.uniform(-14, 14), SIDE / 2 + rng.uniform(-14, 14))
    ImageDraw.Draw(image).text(
        where, ALPHABETS[variant][category], fill=tuple(ink.tolist()), font=font, anchor="mm"
    )
    return image.rotate(rng.uniform(-20, 20), Image.Resampling.BILINEAR, fillcolor=tuple(paper.tolist()))


def texture(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """Two gratings and band-limited noise; orientation, frequency and mixture make the class."""
    of_class = class_stream("texture", variant, category)
    angles = of_class.uniform(0, np.pi, 2) + rng.normal(0, 0.06, 2)
    waves = of_class.uniform(3, 14, 2) * rng.uniform(0.9, 1.1, 2)
    weights = of_class.dirichlet([1.0, 1.0, 0.6])
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE
    field = np.zeros((SIDE, SIDE))
    for angle, wave, weight in zip(angles, waves, weights[:2], strict=True):
        phase = 2 * np.pi * (wave * (x * np.cos(angle) + y * np.sin(angle)) + rng.random())
        field += weight * (np.sign(np.sin(phase)) if variant == 1 else np.sin(phase))
    field += weights[2] * _smooth_noise(rng, 2 + int(of_class.integers(0, 5) * (variant + 1)))
    return _coloured(field / (np.abs(field).max() + 1e-9), of_class, rng)


def shape(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """A polygon, a star or a ring of dots with as many corners as the class says, on a noisy ground."""
    ground = rng.integers(0, 256, 3)
    image = Image.new("RGB", (SIDE, SIDE), tuple(ground.tolist()))
    draw = ImageDraw.Draw(image)
    ink = tuple(((ground + rng.integers(90, 166, 3)) % 256).tolist())
    corners, style = 3 + category // 2, category % 2
    centre, radius, turn = SIDE / 2 + rng.uniform(-16, 16, 2), rng.uniform(28, 46), rng.uniform(0, 2 * np.pi)
    angles = turn + 2 * np.pi * np.arange(2 * corners) / (2 * corners)
    inner = (0.45, 0.75, 0.6)[variant] if style else np.cos(np.pi / corners)
    radii = np.where(np.arange(2 * corners) % 2, inner, 1.0) * radius
    points = [
        (float(a), float(b))
        for a, b in zip(centre[0] + radii * np.cos(angles), centre[1] + radii * np.sin(angles), strict=True)
    ]
    if variant == 0:
        draw.polygon(points, fill=ink)
    elif variant == 1:
        draw.line([*points, points[0]], fill=ink, width=4, joint="curve")
    else:
        for a, b in points if style else points[::2]:
            draw.ellipse((a - 5, b - 5, a + 5, b + 5), fill=ink)
    noise = rng.normal(0, 10, (SIDE, SIDE, 1))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def fractal(variant: int, category: int, rng: np.random.Generator) -> Image.Image:
    """Escape times of z -> z^(variant + 2) + c, zoomed and turned; the constant c makes the class."""
    of_class = class_stream("fractal", variant, category)
    radius = 0.62 + 0.25 * of_class.random()
    constant = radius * np.exp(1j * of_class.uniform(0, 2 * np.pi)) + rng.normal(0, 0.004)
    y, x = np.mgrid[0:SIDE, 0:SIDE] / SIDE - 0.5
    z = (x + 1j * y) * rng.uniform(1.8, 2.6) * np.exp(1j * rng.uniform(-0.4, 0.4)) + rng.normal(0, 0.1)
    escape = np.zeros(z.shape)
    for _ in range(24):
        alive = np.abs(z) < 4
        escape += alive
        z = np.where(alive, z ** (variant + 2) + constant, z)
    return _coloured(
        np.sqrt((escape - escape.min()) / max(float(np.ptp(escape)), 1.0)) * 2 - 1, of_class, rng
    )


def _smooth_noise(rng: np.random.Generator, cells: int) -> np.ndarray:
    small = Image.fromarray(rng.normal(0, 1, (cells + 2, cells + 2)).astype(np.float32))
    return np.asarray(small.resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def _coloured(field: np.ndarray, of_class: np.random.Generator, rng: np.random.Generator) -> Image.Image:
    """Map a field in [-1, 1] to a ramp between two colours near those of the class."""
    ends = np.clip(of_class.integers(0, 256, (2, 3)) + rng.normal(0, 45, (2, 3)), 0, 255)
    share = (field[..., None] + 1) / 2
    pixels = ends[0] * (1 - share) + ends[1] * share + rng.normal(0, 6, (SIDE, SIDE, 1))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
