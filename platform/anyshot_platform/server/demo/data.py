"""The demo's datasets: the operator's, or generated ones; packed once."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data

SETS = ("set-0", "set-1")


class NoSets(Exception):
    """The data folder does not say which datasets make up which set."""


@dataclass(frozen=True)
class DemoData:
    """Packs by set, and whether they were generated."""

    packs: dict[str, tuple[Path, ...]]
    generated: bool


def prepare_data(source: Path | None, home: Path, say: Callable[[str], None]) -> DemoData:
    """Packs of Set-0 and Set-1 of the folder `source`, or of generated data below `home` when there is none.

    Raises:
        NoSets: `source` has no `info/sets.json`, or it does not name both sets.
        DataError: a dataset breaks Meta-Album's format.
    """
    if source is None:
        say("Generating a small meta-dataset (printed characters, textures, shapes, fractals)")
        folder = make_demo_data(home / "data")
    else:
        folder = source
    sets = _read_sets(folder)
    target = home / "packs"
    target.mkdir(parents=True, exist_ok=True)
    say(f"Packing {sum(len(sets[name]) for name in SETS)} datasets")
    packs = {
        name: tuple(pack_dataset(folder / member, target).path for member in sets[name]) for name in SETS
    }
    return DemoData(packs, generated=source is None)


def _read_sets(folder: Path) -> dict[str, list[str]]:
    path = folder / "info" / "sets.json"
    try:
        sets = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise NoSets(
            f"{path} cannot be read ({error}). It must be a JSON object that names the dataset folders of each set,"
            ' such as {"set-0": ["A", "B"], "set-1": ["C"]}.'
        ) from error
    missing = [name for name in SETS if not sets.get(name)]
    if missing:
        raise NoSets(
            f"{path} names no datasets for {' and '.join(missing)}; it has {', '.join(sets) or 'nothing'}."
        )
    return {name: [str(member) for member in sets[name]] for name in SETS}
