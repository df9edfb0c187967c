"""Pretrained weights as named, digested files of a folder: what a site or a machine offers to runs, and the licence.

The folder's catalogue, `weights.json`, is written by `anyshot weights add`. A file without an entry is offered too, as
it was before there were catalogues; it is listed without a licence.
"""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from anyshot_core.data.digests import digest_file

CATALOGUE = "weights.json"
SUFFIXES = (".pt", ".pth", ".safetensors")
FOLDER = (
    "ANYSHOT_WEIGHTS_FOLDER"  # the variable that names the folder, for sites, workers and this machine alike
)


class BadWeights(ValueError):
    """A file that cannot be offered; the text says why."""


@dataclass(frozen=True)
class WeightsFile:
    """A file of weights: `name` in the folder, sha256 `digest`, `size` in bytes, `licence` and `source` in words.

    The licence is empty where nobody has said it.
    """

    name: str
    digest: str
    size: int
    licence: str = ""
    source: str = ""


def default_folder() -> Path:
    """Where this machine keeps weights: what `ANYSHOT_WEIGHTS_FOLDER` names, else a folder of the user's (XDG)."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "anyshot" / "weights"


def add_weights(folder: Path, file: Path, licence: str, source: str = "", name: str = "") -> WeightsFile:
    """Copy a file of weights into the folder, readable by all, and note what it is. Raises `BadWeights`."""
    name = name or file.name
    if Path(name).name != name or Path(name).suffix not in SUFFIXES or name.startswith("."):
        raise BadWeights(
            f"{name}: weights are a file whose name ends with {', '.join(SUFFIXES)}, in no folder."
        )
    if not licence.strip():
        raise BadWeights(f"{name}: say under which licence it may be used.")
    folder.mkdir(parents=True, exist_ok=True)
    digest, known = digest_file(file), {one.name: one for one in _catalogue(folder)}
    there = known.get(name)
    if there is not None and there.digest != digest:
        raise BadWeights(
            f"{name} is there already, with other bytes ({there.digest[:12]}): give this one a name of its own."
        )
    target = folder / name
    if file.resolve() != target.resolve():
        partial = target.with_name(f".{name}.partial")
        shutil.copyfile(file, partial)
        partial.replace(target)
    target.chmod(0o644)
    added = WeightsFile(name, digest, target.stat().st_size, licence.strip(), source.strip())
    _write(folder, known | {name: added})
    return added


def list_weights(folder: Path | None) -> list[WeightsFile]:
    """The files that the folder offers, by name, with what the catalogue says of these very bytes."""
    if folder is None or not folder.is_dir():
        return []
    known = {one.name: one for one in _catalogue(folder)}
    listed = []
    for path in _files(folder):
        stands = path.stat()
        found = WeightsFile(path.name, _digest(path, stands.st_mtime_ns, stands.st_size), stands.st_size)
        added = known.get(path.name)
        listed.append(added if added is not None and added.digest == found.digest else found)
    return listed


def problem_of(folder: Path, weights: WeightsFile) -> str:
    """What is wrong with a file of the catalogue: gone, or other bytes than were added. Empty where nothing is."""
    path = folder / weights.name
    if not path.is_file():
        return "the file is gone"
    found = digest_file(path)
    return "" if found == weights.digest else f"the bytes are others than were added: sha256 {found}"


def find_weights_file(folder: Path, name: str) -> WeightsFile:
    """What is known of the file `name`. Raises `BadWeights`, naming those that there are."""
    listed = {one.name: one for one in [*list_weights(folder), *_catalogue(folder)]}
    if name not in listed:
        raise BadWeights(
            f"There are no weights {name} in {folder}; there are: {', '.join(listed) or 'none'}."
        )
    return listed[name]


@lru_cache(maxsize=64)
def _digest(file: Path, changed: int, size: int) -> str:
    """Of a file, until it changes: pages ask often."""
    return digest_file(file)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES and path.is_file())


def _catalogue(folder: Path) -> list[WeightsFile]:
    path = folder / CATALOGUE
    if not path.is_file():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [WeightsFile(**row) for row in rows]
    except (ValueError, TypeError) as error:
        raise BadWeights(f"{path} cannot be read ({error}): add the weights again.") from error


def _write(folder: Path, known: dict[str, WeightsFile]) -> None:
    rows = [asdict(known[name]) for name in sorted(known)]
    partial = folder / f".{CATALOGUE}.partial"
    partial.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    partial.chmod(0o644)
    partial.replace(folder / CATALOGUE)
