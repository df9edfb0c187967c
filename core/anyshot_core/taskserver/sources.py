"""The files of a bundle as they lie in `program/`: what of a traceback is believed."""

from pathlib import Path

from anyshot_core.bundle.members import read_member
from anyshot_core.bundle.zipsafety import ZipRefused, folder_of, read_listing
from anyshot_core.exits import SOURCE_BYTES


class Sources:
    """The Python files of a bundle. Raises ZipRefused for an archive that must not be unpacked."""

    def __init__(self, bundle: Path) -> None:
        listing = read_listing(bundle)
        top = folder_of(listing)
        self._bundle = bundle
        self._files = {
            entry.path.removeprefix(top): entry for entry in listing.files if entry.path.endswith(".py")
        }

    def has_line(self, file: str, line: int) -> bool:
        """Whether the bundle has that file, and the file so many lines; reads the one file, after a failure only."""
        entry = self._files.get(file)
        try:
            content = None if entry is None else read_member(self._bundle, entry, SOURCE_BYTES)
        except ZipRefused:
            return False
        return content is not None and 1 <= line <= content.count(b"\n") + 1
