"""Digests of what decides a run's result besides its settings: the kit's code, the content of packs."""

import hashlib
from functools import cache
from pathlib import Path

import anyshot_core
import anyshot_scoring
import anyshot_starting_kit
from anyshot_core.data.layout import read_meta

_KIT = ("api.py", "budget.py", "training", "networks", "runner", "episodes")
_CORE = ("taskserver", "episodes", "protocols", "wire")
_SCORING = ("metrics.py", "confusion.py", "predictions.py")


@cache
def kit_digest() -> str:
    """Of the modules that train, run, draw tasks and score, as they were when this process first asked."""
    digest = hashlib.sha256()
    for package, parts in ((anyshot_starting_kit, _KIT), (anyshot_core, _CORE), (anyshot_scoring, _SCORING)):
        root = Path(package.__path__[0])
        for path in _modules(root, parts):
            digest.update(f"{package.__name__}/{path.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def pack_digest(path: Path) -> str:
    """Of a pack's metadata, which hold the digests of its images and labels. Raises BadPack."""
    return read_meta(path)[1].meta_digest.hex()


def derive_seed(seed: int, dataset: str) -> int:
    """A dataset's own seed, 31 bits: the same in every process and whatever other datasets there are."""
    digest = hashlib.sha256(f"{seed} {dataset}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _modules(root: Path, parts: tuple[str, ...]) -> list[Path]:
    found = [path for part in parts for path in (root / part, *(root / part).rglob("*")) if path.is_file()]
    return sorted(path for path in found if path.suffix == ".py")
