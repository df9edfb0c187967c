"""Names that become parts of paths, here and on other machines: of datasets, and of files."""

import re
from pathlib import Path, PurePosixPath

NAME_WORDS = (
    "1 to 100 letters of a to z, digits, dots, dashes and underscores, beginning with a letter or a digit"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class OutsideFolder(ValueError):
    """A path that leads out of its folder."""


def is_name(text: str) -> bool:
    """Whether a dataset or a file may have this name."""
    return _NAME.fullmatch(text) is not None


def path_below(folder: Path, path: str) -> Path:
    """The place of a relative path, with forward slashes, in a folder. Raises `OutsideFolder`."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or "\\" in path or "\0" in path:
        raise OutsideFolder(f"{path!r}, which leaves the folder")
    return folder / path
