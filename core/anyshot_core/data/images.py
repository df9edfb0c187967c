"""One image file to uint8 [3, 128, 128], as Meta-Album's preprocessing does it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image, UnidentifiedImageError

if TYPE_CHECKING:
    import numpy as np  # a tenth of a second that a packing process does without

SIDE = 128
IMAGE_SHAPE = (3, SIDE, SIDE)
IMAGE_BYTES = 3 * SIDE * SIDE
READABLE_ENDINGS = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm"})
_MODE_NAMES = {
    "1": "a black and white image (1 bit)",
    "L": "a grey image (mode L)",
    "LA": "a grey image with transparency (mode LA)",
    "P": "an image with a palette (mode P)",
    "RGBA": "an image with transparency (mode RGBA)",
    "CMYK": "a CMYK image",
    "F": "a floating point image (mode F)",
    "I": "a 32-bit grey image (mode I)",
}
_WHITE = (255, 255, 255, 255)


class UnreadableImage(Exception):
    """The file cannot be decoded; the message says what the decoder found."""


class WrongMode(Exception):
    """The image is not 8-bit RGB; the message describes what it is."""


def decode_image(path: Path | str, *, convert: bool = False) -> np.ndarray:
    """Pixels of an image file as contiguous uint8 [3, 128, 128].

    An image of 128x128 keeps its pixels. Any other size is turned upright (EXIF), cut to its central square
    and resampled: Lanczos, whose support grows with the reduction and so suppresses aliasing, when
    shrinking; bicubic when enlarging. `convert` accepts what is not 8-bit RGB: transparency goes onto white,
    16 bits are scaled to 8.

    Raises:
        UnreadableImage: the file is damaged or not an image.
        WrongMode: it is not 8-bit RGB and `convert` is off.
    """
    import numpy as np

    return np.ascontiguousarray(np.asarray(_read_rgb(path, convert)).transpose(2, 0, 1))


def decode_into(path: Path | str, pixels: memoryview, *, convert: bool = False) -> None:
    """As `decode_image`, into `pixels`: 49,152 bytes, one colour after the other."""
    image = _read_rgb(path, convert)
    size = SIDE * SIDE
    for number, colour in enumerate("RGB"):
        pixels[number * size : (number + 1) * size] = image.tobytes("raw", colour)


def read_any(source: Path | Image.Image) -> Image.Image:
    """A file, or an image that is open already, of any mode, as RGB of 128x128.

    Raises:
        UnreadableImage: it is damaged or not an image.
    """
    return _read_rgb(source, convert=True)


def _read_rgb(source: Path | str | Image.Image, convert: bool) -> Image.Image:
    """The image as RGB, 128x128."""
    try:
        with source if isinstance(source, Image.Image) else Image.open(source) as image:
            image.load()
            rgb = image if image.mode == "RGB" else _as_rgb(image, convert)
            return rgb if rgb.size == (SIDE, SIDE) else _resize(rgb)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadableImage("an image too large to be decoded safely") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise UnreadableImage(_reason(source, error)) from error


def _reason(source: Path | str | Image.Image, error: Exception) -> str:
    path = None if isinstance(source, Image.Image) else Path(source)
    if path is not None and path.exists() and path.stat().st_size == 0:
        return "an empty file"
    if isinstance(error, UnidentifiedImageError):
        return "a file that is not an image"
    return f"an image that cannot be decoded ({str(error) or type(error).__name__})"


def _as_rgb(image: Image.Image, convert: bool) -> Image.Image:
    if not convert:
        raise WrongMode(describe_mode(image.mode))
    if image.mode.startswith("I;16") or image.mode == "I":
        import numpy as np

        grey = np.asarray(image).astype(np.float64) / 257.0  # 65535 -> 255
        return Image.fromarray(np.clip(np.rint(grey), 0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layer = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, _WHITE), layer).convert("RGB")
    return image.convert("RGB")


def describe_mode(mode: str) -> str:
    """Words for a Pillow mode that is not RGB."""
    return "a 16-bit image" if mode.startswith("I;16") else _MODE_NAMES.get(mode, f"an image of mode {mode}")


def _resize(image: Image.Image) -> Image.Image:
    from PIL import ImageOps  # only here: a packing process whose images have their size does without

    image = ImageOps.exif_transpose(image)
    edge = min(image.size)
    left, top = (image.width - edge) // 2, (image.height - edge) // 2
    square = image.crop((left, top, left + edge, top + edge)) if image.width != image.height else image
    kind = Image.Resampling.LANCZOS if edge > SIDE else Image.Resampling.BICUBIC
    return square.resize((SIDE, SIDE), kind)
