"""Whether browsers can show what somebody sent as a picture."""

from pathlib import Path
from xml.parsers import expat

from PIL import Image

_KINDS = ("PNG", "JPEG", "GIF", "WEBP")
_DRAWING = "http://www.w3.org/2000/svg svg"


def is_bitmap(path: Path) -> bool:
    """Whether it is decoded to its end; of which of the kinds says the content itself, to browsers too."""
    try:
        Image.open(path, formats=_KINDS).verify()  # its sums and its end
        with Image.open(path, formats=_KINDS) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError):
        return False
    return True


def is_drawing(path: Path) -> bool:
    """Whether it is XML to its end, with SVG's own root: anything else a browser shows as broken."""
    roots: list[str] = []
    reader = expat.ParserCreate(namespace_separator=" ")
    reader.StartElementHandler = lambda name, _: roots.append(name) if not roots else None
    try:
        reader.Parse(path.read_bytes(), True)
    except expat.ExpatError:
        return False
    return roots == [_DRAWING]
