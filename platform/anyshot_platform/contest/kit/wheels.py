"""Wheels of the installed packages that participants and workers need, made again from their files (PEP 427)."""

import base64
import hashlib
import importlib.metadata
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from anyshot_core.installation import package_files, package_folder

PROJECTS = ("anyshot-core", "anyshot-scoring", "anyshot-starting-kit", "anyshot-worker")
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever they are made
_WHEEL = "Wheel-Version: 1.0\nGenerator: anyshot\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True)
class Wheel:
    """A wheel's file name, its bytes, their sha-256 in hex, and the versions of Python that it is for (PEP 440)."""

    filename: str
    content: bytes
    digest: str
    requires_python: str


def kit_version() -> str:
    """The version of the starting kit that this site serves: the one that is installed beside the platform."""
    return importlib.metadata.version("anyshot-starting-kit")


@cache
def make_wheel(project: str) -> Wheel:
    """The wheel of one of `PROJECTS`, with the files of this installation; the same bytes each time.

    Raises:
        PackageNotFoundError: it is not installed beside the platform.
    """
    distribution = importlib.metadata.distribution(project)
    module = project.replace("-", "_")
    info = f"{module}-{distribution.version}.dist-info"
    files = dict(_files(module))
    files[f"{info}/METADATA"] = (distribution.read_text("METADATA") or "").encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    if entry_points := distribution.read_text("entry_points.txt"):
        files[f"{info}/entry_points.txt"] = entry_points.encode()
    files |= {f"{info}/{name}": content for name, content in _licences(distribution)}
    record = "".join(f"{name},{_hash(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    content = _zip(files)
    name = f"{module}-{distribution.version}-py3-none-any.whl"
    asked = distribution.metadata["Requires-Python"]
    return Wheel(name, content, hashlib.sha256(content).hexdigest(), asked)


def _licences(distribution: importlib.metadata.Distribution) -> Iterator[tuple[str, bytes]]:
    """The licence files that the metadata name, each where a wheel has it (PEP 639)."""
    for named in distribution.metadata.get_all("License-File") or ():
        place = f"licenses/{named}"
        if text := distribution.read_text(place):
            yield place, text.encode()


def _files(module: str) -> Iterator[tuple[str, bytes]]:
    root = package_folder(module)
    for path in package_files(module):
        yield f"{module}/{path.relative_to(root).as_posix()}", path.read_bytes()


def _hash(content: bytes) -> str:
    """As RECORD has it: urlsafe base64 without padding."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _zip(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _BEGINNING)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    return made.getvalue()
