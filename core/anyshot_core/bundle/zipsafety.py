"""Reads the directory of a zip that nobody trusts, and refuses what could hurt whoever unpacks it.

Nothing is decompressed here. The central directory is parsed by hand, because `zipfile` believes what it is
told: sizes are bounded, entries must not overlap, names must stay inside. The same checks run again in the
sandbox before unpacking.
"""

from __future__ import annotations

import mmap
import re
import stat
import struct
import unicodedata
from dataclasses import dataclass
from pathlib import Path

_EOCD = struct.Struct("<4s4H2LH")
_EOCD64_LOCATOR = struct.Struct("<4sLQL")
_EOCD64 = struct.Struct("<4sQ2H2L4Q")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_UNIX = 3
_STORED, _DEFLATED = 0, 8
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_FULL32, _FULL16 = 0xFFFFFFFF, 0xFFFF
_MAX_DEFLATE_RATIO = 1032  # no deflate stream can expand further


@dataclass(frozen=True, slots=True)
class ZipLimits:
    """What an archive may have; bytes and counts."""

    zip_bytes: int = 1 << 30
    unpacked_bytes: int = 4 << 30
    entries: int = 10_000
    directory_bytes: int = 8 << 20
    name_bytes: int = 1_024
    depth: int = 32
    ratio: int = 200  # of an entry's unpacked to its packed size, once it is larger than `ratio_from`
    ratio_from: int = 16 << 20


class ZipRefused(ValueError):
    """An archive that must not be unpacked. `remedy` tells the participant what to do."""

    def __init__(self, code: str, problem: str, remedy: str) -> None:
        self.code, self.problem, self.remedy = code, problem, remedy
        super().__init__(f"{self.problem} {self.remedy}")

    def within(self, name: str) -> ZipRefused:
        """The refusal of a zip inside another one, where it has this name."""
        problem = f"In {name}: {self.problem}"
        return ZipRefused(self.code, problem, self.remedy)


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One member: `path` is normalised, with forward slashes; `start` is where its local header begins."""

    path: str
    folder: bool
    packed: int
    size: int
    crc: int
    method: int
    start: int
    data: int  # where the packed bytes begin


@dataclass(frozen=True, slots=True)
class ZipListing:
    """The members of a safe archive, in the order of its directory."""

    entries: tuple[ZipMember, ...]

    @property
    def files(self) -> tuple[ZipMember, ...]:
        return tuple(entry for entry in self.entries if not entry.folder)

    @property
    def unpacked_bytes(self) -> int:
        return sum(entry.size for entry in self.entries)


def read_listing(path: Path, limits: ZipLimits | None = None) -> ZipListing:
    """The members of the zip at `path`. Raises ZipRefused; reads the directory and local headers, nothing else."""
    limits = limits or ZipLimits()
    size = path.stat().st_size
    if size > limits.zip_bytes:
        raise ZipRefused(
            "too_large",
            f"The zip has {_mib(size)}; at most {_mib(limits.zip_bytes)} are allowed.",
            "Leave out data and checkpoints that the submission does not read.",
        )
    if size < _EOCD.size:
        raise _not_a_zip()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return _list(data, limits)


def _list(data: mmap.mmap, limits: ZipLimits) -> ZipListing:
    start, end, declared = _find_directory(data)
    if declared > limits.entries:
        raise _too_many(declared, limits)
    if end - start > limits.directory_bytes:
        raise ZipRefused(
            "directory_too_large",
            f"The list of files inside the zip has {_mib(end - start)}.",
            "Zip fewer files, with shorter names.",
        )
    entries = _read_entries(data, start, end, limits)
    if len(entries) != declared:
        raise _damaged(f"it announces {declared} entries and lists {len(entries)}")
    _check_overlaps(entries, start)
    _check_names(entries)
    _check_sizes(entries, limits)
    return ZipListing(tuple(entries))


def _find_directory(data: mmap.mmap) -> tuple[int, int, int]:
    """Start and end of the central directory, and the number of entries announced."""
    tail = max(0, len(data) - _EOCD.size - _FULL16)
    at = data.rfind(b"PK\x05\x06", tail)
    if at < 0 or at + _EOCD.size > len(data):
        raise _not_a_zip()
    _, disk, directory_disk, on_disk, count, length, offset, comment = _EOCD.unpack_from(data, at)
    if at + _EOCD.size + comment > len(data):
        raise _damaged("it is cut off at the end")
    end = at
    locator = at - _EOCD64_LOCATOR.size
    if locator >= 0 and data[locator : locator + 4] == b"PK\x06\x07":
        end = _EOCD64_LOCATOR.unpack_from(data, locator)[2]
        if end + _EOCD64.size > locator or data[end : end + 4] != b"PK\x06\x06":
            raise _damaged("its 64-bit directory record is not where it should be")
        _, _, _, _, disk, directory_disk, on_disk, count, length, offset = _EOCD64.unpack_from(data, end)
    if disk or directory_disk or on_disk != count:
        raise _damaged("it is one part of a split archive")
    if offset + length != end:
        raise _damaged("its directory is not where it should be")
    return offset, end, count


def _read_entries(data: mmap.mmap, start: int, end: int, limits: ZipLimits) -> list[ZipMember]:
    entries: list[ZipMember] = []
    position, total = start, 0
    while position < end:
        if len(entries) >= limits.entries:
            raise _too_many(len(entries) + 1, limits)
        if position + _CENTRAL.size > end or data[position : position + 4] != b"PK\x01\x02":
            raise _damaged("its list of files is broken")
        entry, position = _read_entry(data, position, end, limits)
        entries.append(entry)
        total += entry.size
        if total > limits.unpacked_bytes:  # known now: the rest need not be read
            raise ZipRefused(
                "bomb",
                (f"Unpacked, the zip has more than the {_mib(limits.unpacked_bytes)} that are allowed."),
                "Leave out what the submission does not read.",
            )
    return entries


def _read_entry(data: mmap.mmap, position: int, end: int, limits: ZipLimits) -> tuple[ZipMember, int]:
    fields = _CENTRAL.unpack_from(data, position)
    (_, made_by, _, flags, method, _, _, crc, packed, size) = fields[:10]
    name_length, extra_length, comment_length, _, _, attributes, offset = fields[10:]
    name_at = position + _CENTRAL.size
    after = name_at + name_length + extra_length + comment_length
    if after > end:
        raise _damaged("its list of files is cut off")
    raw = bytes(data[name_at : name_at + name_length])
    extra = bytes(data[name_at + name_length : name_at + name_length + extra_length])
    size, packed, offset = _widen(extra, size, packed, offset)
    path, folder = _checked_name(raw, flags, limits)
    _check_kind(path, made_by >> 8, attributes >> 16)
    _check_method(path, flags, method)
    begin = _check_local_header(data, raw, path, offset, flags, (crc, packed, size))
    return ZipMember(path, folder, packed, size, crc, method, offset, begin), after


def _widen(extra: bytes, *sizes: int) -> tuple[int, int, int]:
    """Replace 32-bit placeholders by the values of the zip64 extra field."""
    wide = _zip64_field(extra)
    result: list[int] = []
    for value in sizes:
        if value != _FULL32:
            result.append(value)
        elif len(wide) >= 8:
            result.append(int.from_bytes(wide[:8], "little"))
            wide = wide[8:]
        else:
            raise _damaged("a 64-bit size is missing")
    return result[0], result[1], result[2]


def _zip64_field(extra: bytes) -> bytes:
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, position)
        if kind == 1:
            return extra[position + 4 : position + 4 + length]
        position += 4 + length
    return b""


def _checked_name(raw: bytes, flags: int, limits: ZipLimits) -> tuple[str, bool]:
    if len(raw) > limits.name_bytes:
        raise ZipRefused("name_too_long", f"A file name has {len(raw)} bytes.", "Use shorter names.")
    try:
        name = raw.decode("utf-8" if flags & 0x800 else "cp437")
    except UnicodeDecodeError:
        raise ZipRefused("bad_name", f"The file name {raw[:60]!r} is not text.", "Rename the file.") from None
    shown = repr(name[:80])
    if _CONTROLS.search(name):
        raise ZipRefused("bad_name", f"The file name {shown} has control characters.", "Rename the file.")
    name = name.replace("\\", "/")
    if name.startswith("/") or name[1:2] == ":":
        raise _climbs(f"The zip names the absolute path {shown}.")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise _climbs(f"The path {shown} leads out of the zip.")
    if len(parts) > limits.depth or any(len(part.encode()) > 255 for part in parts):
        raise ZipRefused("name_too_long", f"The path {shown} is too long or too deep.", "Use shorter paths.")
    return "/".join(parts), name.endswith("/") or not parts


def _check_kind(path: str, system: int, mode: int) -> None:
    if system != _UNIX or not mode:
        return
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        remedy = "Put the file itself into the zip (zip without -y)."
        raise ZipRefused("link", f"{path!r} is a symbolic link.", remedy)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ZipRefused("special_file", f"{path!r} is not a plain file.", "Leave it out.")
    if mode & (stat.S_ISUID | stat.S_ISGID):
        raise ZipRefused("setuid", f"{path!r} has a setuid or setgid bit.", f"Run: chmod ug-s {path!r}")


def _check_method(path: str, flags: int, method: int) -> None:
    if flags & 1:
        raise ZipRefused("encrypted", f"{path!r} is encrypted.", "Zip without a password.")
    if method not in (_STORED, _DEFLATED):
        raise ZipRefused(
            "compression",
            f"{path!r} is packed with method {method}.",
            "Zip again with the usual compression (deflate), for example by `anyshot pack`.",
        )


def _check_local_header(
    data: mmap.mmap, raw: bytes, path: str, offset: int, flags: int, central: tuple[int, int, int]
) -> int:
    """Where the packed bytes begin. Raises ZipRefused where the local header tells another story."""
    if offset + _LOCAL.size > len(data) or data[offset : offset + 4] != b"PK\x03\x04":
        raise _damaged(f"the entry {path!r} is not where the directory says")
    fields = _LOCAL.unpack_from(data, offset)
    crc, packed, size, name_length, extra_length = fields[6:]
    name_at = offset + _LOCAL.size
    if bytes(data[name_at : name_at + name_length]) != raw:
        raise _damaged(f"the entry {path!r} has two names")
    if not flags & 8:  # with bit 3 the numbers follow the data, and only the directory's count
        extra = bytes(data[name_at + name_length : name_at + name_length + extra_length])
        size, packed, _ = _widen(extra, size, packed, 0)
        if (crc, packed, size) != central:
            raise _damaged(f"the entry {path!r} states two sizes")
    return name_at + name_length + extra_length


def _check_overlaps(entries: list[ZipMember], directory: int) -> None:
    """Entries that share bytes unpack to far more than the zip holds."""
    previous = 0
    for entry in sorted(entries, key=lambda entry: entry.start):
        if entry.start < previous:
            problem = f"{entry.path!r} shares its bytes with another entry."
            raise ZipRefused("overlap", problem, "Zip the folder again.")
        previous = entry.data + entry.packed
    if previous > directory:
        raise _damaged("its last entry runs into the directory")


def _check_names(entries: list[ZipMember]) -> None:
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for entry in entries:
        key = unicodedata.normalize("NFC", entry.path).casefold()
        if not entry.folder:
            if key in files:
                _refuse_twins(files[key], entry.path)
            files[key] = entry.path
        parts = entry.path.split("/") if entry.folder else entry.path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            seen = folders.setdefault(unicodedata.normalize("NFC", folder).casefold(), folder)
            if seen != folder:
                _refuse_twins(seen, folder)
    for key in files.keys() & folders.keys():
        raise ZipRefused("duplicate", f"{files[key]!r} is a file and a folder.", "Rename one of them.")


def _refuse_twins(first: str, second: str) -> None:
    if first == second:
        raise ZipRefused("duplicate", f"{first!r} is in the zip twice.", "Zip the folder again.")
    raise ZipRefused("case_clash", f"{first!r} and {second!r} differ only in case.", "Rename one of them.")


def _check_sizes(entries: list[ZipMember], limits: ZipLimits) -> None:
    for entry in entries:
        impossible = entry.packed != entry.size if entry.method == _STORED else _cannot_be_deflate(entry)
        if impossible or (entry.folder and entry.size):
            raise ZipRefused(
                "lying_size",
                (
                    f"{entry.path!r} states {entry.size} bytes, which its {entry.packed} packed "
                    "bytes cannot be."
                ),
                "Zip the folder again.",
            )
        if entry.size > limits.ratio_from and entry.size > limits.ratio * max(entry.packed, 1):
            raise ZipRefused(
                "bomb",
                (
                    f"{entry.path!r} unpacks to {_mib(entry.size)}, "
                    f"{entry.size // max(entry.packed, 1)} times its packed size."
                ),
                "Leave the file out, or create it when the code runs.",
            )


def _cannot_be_deflate(entry: ZipMember) -> bool:
    """Whether no encoder turns `size` bytes into `packed` ones; stored blocks add 5 bytes per 16 KiB at most."""
    too_small = entry.size > _MAX_DEFLATE_RATIO * (entry.packed + 64)
    return too_small or entry.packed > entry.size + entry.size // 1_000 + 1_024


def _mib(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB" if count < 1 << 30 else f"{count / 2**30:,.1f} GiB"


def _not_a_zip() -> ZipRefused:
    return ZipRefused(
        "not_a_zip",
        "The file is not a zip archive, whatever its name says.",
        "Create one with `anyshot pack FOLDER`, or zip the folder that holds model.py.",
    )


def _damaged(what: str) -> ZipRefused:
    remedy = "Zip the folder again and upload it completely."
    return ZipRefused("damaged", f"The zip is damaged: {what}.", remedy)


def _climbs(problem: str) -> ZipRefused:
    remedy = "Zip the folder itself, from inside it, so that all paths are relative."
    return ZipRefused("path", problem, remedy)


def _too_many(count: int, limits: ZipLimits) -> ZipRefused:
    return ZipRefused(
        "too_many",
        f"The zip has {count:,} entries or more; at most {limits.entries:,} are allowed.",
        "Put many small files into one, such as an .npz or a nested zip.",
    )


def folder_of(listing: ZipListing) -> str:
    """The one top-level folder that holds everything (`"name/"`), or an empty string.

    What macOS adds beside it does not count.
    """
    tops = {
        entry.path.split("/")[0] for entry in listing.entries if entry.path and not is_clutter(entry.path)
    }
    if len(tops) != 1:
        return ""
    top = tops.pop()
    inside = any(entry.path.startswith(f"{top}/") for entry in listing.files)
    return f"{top}/" if inside and not any(entry.path == top for entry in listing.files) else ""


def is_clutter(path: str) -> bool:
    """Whether a path is what file managers leave in archives."""
    parts = path.split("/")
    return parts[0] == "__MACOSX" or parts[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")
