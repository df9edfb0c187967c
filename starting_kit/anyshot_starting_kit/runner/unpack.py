"""Unpacks the zip inside the sandbox, with every check of the host repeated and every byte counted."""

from pathlib import Path

from anyshot_core.bundle.members import pieces
from anyshot_core.bundle.zipsafety import (
    ZipLimits,
    ZipListing,
    ZipRefused,
    folder_of,
    is_clutter,
    read_listing,
)


def unpack_bundle(archive: Path, target: Path, limit: int) -> None:
    """Unpack into `target` at most `limit` bytes, nested zips of the root included. Raises ZipRefused, OSError.

    One top-level folder that holds everything is left out of the paths; a zip at the root goes into a folder
    of its name.
    """
    listing = read_listing(archive, ZipLimits(unpacked_bytes=limit))
    left = limit - _unpack(archive, listing, target, folder_of(listing))
    for nested in sorted(target.glob("*.zip")):
        left -= _unpack_nested(nested, left)


def _unpack_nested(nested: Path, limit: int) -> int:
    folder = nested.with_suffix("")
    if folder.exists():
        return 0
    try:
        listing = read_listing(nested, ZipLimits(unpacked_bytes=limit))
    except ZipRefused as refusal:
        if refusal.code == "not_a_zip":
            return 0  # some file of the participant's that only has the name
        raise refusal.within(nested.name) from None
    return _unpack(nested, listing, folder, "")


def _unpack(archive: Path, listing: ZipListing, target: Path, top: str) -> int:
    written = 0
    target.mkdir(parents=True, exist_ok=True)
    for entry in listing.entries:
        relative = entry.path.removeprefix(top)
        if is_clutter(entry.path) or not entry.path.startswith(top) or not relative:
            continue
        path = target / relative
        if entry.folder:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as sink:
            for piece in pieces(archive, entry):
                written += sink.write(piece)
    return written
