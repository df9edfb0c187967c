"""Baselines as zips with other settings: `paper.json`, `within.json`, `quick.json` and changes over `config.json`."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyshot_core.bundle.pack import pack_folder

CONFIG = "config.json"
SOURCES = "sources"  # of an overlay: where each of its values was published; not part of the config
_LEFT_OUT = (
    "paper.json",
    "within.json",
    "pretrained.json",
    "within-pretrained.json",
    "two-sides.json",
    "lessons.json",
    "diversity.json",
    "evaluators.json",
    "zappos.json",
    "femnist.json",
)  # what was chosen of them is in the config; the zip's digest keeps to that
_NOT_HERE = (
    "There are no baselines in that folder: name another --folder, or none for those that ship with Anyshot."
)


class NoBaseline(ValueError):
    """There is no bundle of that name, or two; the message lists those that there are."""


class BadBaselineConfig(ValueError):
    """A bundle's config.json or overlay is no JSON object; the message has its path."""


@dataclass(frozen=True, slots=True)
class ExperimentBundle:
    """One entry of an experiment: a bundle, or somebody's zip, under the name that tables show."""

    name: str
    source: Path

    @property
    def is_zip(self) -> bool:
        """Packed already: its settings are its own."""
        return self.source.is_file()

    def overlays(self) -> set[str]:
        """The names that `--settings` can have for it."""
        return set() if self.is_zip else {path.stem for path in self.source.glob("*.json")} - {"config"}


def find_baselines(names: tuple[str, ...], folder: Path | None) -> list[ExperimentBundle]:
    """Bundles by their folder's name (hyphens count as underscores) or paths of others'; all without names.

    Raises NoBaseline.
    """
    bundles = sorted(folder.glob("*/model.py")) if folder is not None else []
    known = {path.parent.name: path.parent for path in bundles}
    if not names:
        if not known:
            raise NoBaseline(_NOT_HERE)
        return [ExperimentBundle(name, path) for name, path in known.items()]
    found = [_find(name, known) for name in names]
    _require_distinct(found)
    return found


def _find(name: str, known: Mapping[str, Path]) -> ExperimentBundle:
    folder = known.get(name.replace("-", "_"))
    if folder is not None:
        return ExperimentBundle(folder.name, folder)
    path = Path(name)
    if (path / "model.py").is_file() or (path.suffix == ".zip" and path.is_file()):
        return ExperimentBundle(path.resolve().name.removesuffix(".zip"), path)
    if path.is_dir():
        raise NoBaseline(f"{path}: there is no model.py in this folder.")
    if path.suffix == ".zip" or path.name != name:
        raise NoBaseline(f"{name}: there is no such file or folder.")
    raise NoBaseline(
        f"There is no baseline {name}; there are {', '.join(known)}." if known else f"{name}: {_NOT_HERE}"
    )


def _require_distinct(found: Sequence[ExperimentBundle]) -> None:
    """Tables tell methods by their names alone. Raises NoBaseline."""
    seen: dict[str, Path] = {}
    for baseline in found:
        path, other = baseline.source.resolve(), seen.get(baseline.name)
        if other == path:
            raise NoBaseline(f"{baseline.name} is named twice.")
        if other is not None:
            raise NoBaseline(
                f"{other} and {path} are both called {baseline.name}: give one of them another name."
            )
        seen[baseline.name] = path


def pack_baseline(
    baseline: ExperimentBundle,
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
    """The bundle's config.json with an overlay and changes; changes of `method` touch only what has settings.

    Raises BadBaselineConfig.
    """
    config = _read(folder / CONFIG)
    if settings:
        chosen = _read(folder / f"{settings}.json")
        config = overlay(config, {key: value for key, value in chosen.items() if key != SOURCES})
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
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise BadBaselineConfig(f"{path}: not JSON ({error}).") from error
    if not isinstance(content, dict):
        raise BadBaselineConfig(f"{path}: expected an object.")
    return content


def _entries(target: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(target) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
