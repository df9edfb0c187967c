"""Baselines as zips with other settings: `paper.json`, `within.json`, `quick.json` and changes over `config.json`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyshot_starting_kit.bundle.pack import pack_folder

CONFIG = "config.json"
_LEFT_OUT = (
    "paper.json",
    "within.json",
)  # what was chosen of them is in the config; the zip's digest keeps to that


class NoBaseline(ValueError):
    """There is no bundle of that name; the message lists those that there are."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One entry of an experiment: a bundle, or somebody's zip, under the name that tables show."""

    name: str
    source: Path


def find_baselines(names: tuple[str, ...], folder: Path) -> list[Baseline]:
    """Bundles by their folder's name (hyphens count as underscores) or paths of others'; all without names.

    Raises NoBaseline.
    """
    known = {path.parent.name: path.parent for path in sorted(folder.glob("*/model.py"))}
    if not names:
        return [Baseline(name, path) for name, path in known.items()]
    return [_find(name, known) for name in names]


def _find(name: str, known: Mapping[str, Path]) -> Baseline:
    folder = known.get(name.replace("-", "_"))
    if folder is not None:
        return Baseline(folder.name, folder)
    path = Path(name)
    if (path / "model.py").is_file() or path.suffix == ".zip":
        if not path.exists():
            raise NoBaseline(f"{name}: there is no such file.")
        return Baseline(path.stem, path)
    raise NoBaseline(f"There is no baseline {name}; there are {', '.join(known) or 'none here'}.")


def pack_baseline(
    baseline: Baseline,
    target: Path,
    settings: str = "",
    changes: Mapping[str, Any] | None = None,
    files: Sequence[Path] = (),
) -> None:
    """Write the zip, with the overlay `<settings>.json` where the bundle has one, `changes` over its config, and files.

    A zip is taken as it is: other people's submissions have settings of their own.
    """
    if baseline.source.is_file():
        target.write_bytes(baseline.source.read_bytes())
        return
    pack_folder(baseline.source, target)
    config = merged_config(baseline.source, settings, changes or {})
    entries = {name: content for name, content in _entries(target).items() if name not in _LEFT_OUT}
    entries[CONFIG] = json.dumps(config, indent=1).encode()
    entries |= {file.name: file.read_bytes() for file in files}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), entries[name])


def merged_config(
    folder: Path, settings: str = "", changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The bundle's config.json with an overlay and changes; changes of `method` touch only what has settings."""
    config = _read(folder / CONFIG)
    if settings:
        config = overlay(config, _read(folder / f"{settings}.json"))
    changes = dict(changes or {})
    if "method" not in config:
        changes.pop("method", None)
    return overlay(config, changes)


def overlay(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """`other` over `base`, objects merged key by key."""
    merged = dict(base)
    for key, value in other.items():
        old = merged.get(key)
        merged[key] = overlay(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _entries(target: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(target) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
