"""What an importer hands over: images with their classes, and what is known of the whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from anyshot_core.data.problems import DataError


class CannotImport(DataError):
    """The source is not as its importer expects; the message says what was found and what to do."""


@dataclass(frozen=True)
class SourceImage:
    """An image of the source: a file, or pixels that are decoded already."""

    content: Path | Image.Image
    category: str
    name: str  # what a message calls it
    super_category: str = ""


@dataclass(frozen=True)
class Source:
    """The images of a dataset, and what its own description says of it."""

    images: Iterator[SourceImage]
    description: str = ""
    licence: str = ""
    origin: str = ""
    domain: str = ""
    notes: tuple[str, ...] = ()  # what the reader should know of how the source was read
