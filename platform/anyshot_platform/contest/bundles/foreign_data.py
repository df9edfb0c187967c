"""The data of a foreign bundle: which paths are data, and the Meta-Album folders in them."""

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from anyshot_platform.contest.bundles.codabench_report import entries, mapping
from anyshot_platform.contest.bundles.files import BundleUnreadable, Tree, ZipTree, normal, open_tree
from anyshot_platform.contest.bundles.yaml_lines import read_marked
from anyshot_platform.foundation.filters import decimal

MOST_DATASETS = 40
MOST_IMAGES = 5_000  # of one dataset: its pack has to fit into what a confined process may write
MOST_BYTES = 2 << 30
_DATA = (
    "input_data",
    "reference_data",
    "public_data",
    "scoring_program",
    "ingestion_program",
    "starting_kit",
    "path",
)


@dataclass
class FoundData:
    """Dataset folders that were taken out, by the path that the bundle gives its data; and what was left out, why."""

    folders: dict[str, list[Path]] = field(default_factory=dict)
    remarks: list[tuple[str, str]] = field(default_factory=list)  # path, words


def data_paths(definition: bytes) -> set[str]:
    """The folders and zips that tasks, phases and solutions of a foreign bundle name as data or programs."""
    data = read_marked(definition, "competition.yaml").data
    if not isinstance(data, dict) or "anyshot" in data:
        return set()
    named = {value for part in _parts(data) for key in _DATA if isinstance(value := part.get(key), str)}
    return {path for path in map(normal, named) if path not in ("", ".")}


def _parts(data: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    for key in ("tasks", "phases", "solutions"):
        value = data.get(key)
        yield from (part for _, part in entries(list(value.values()) if isinstance(value, dict) else value))


def input_data_of(data: dict[Any, Any], phase: dict[Any, Any]) -> str | None:
    """The path of a phase's input data: of its own (CodaLab), or of its first task that has any (Codabench)."""
    named = phase.get("tasks")
    wanted: list[Any] = named if isinstance(named, list) else []
    tasks = [task for _, task in entries(data.get("tasks")) if task.get("index") in wanted]
    for part in (phase, *tasks):
        value = mapping(part).get("input_data")
        if isinstance(value, str) and normal(value) not in ("", "."):
            return normal(value)
    return None


def take_out(source: Path | bytes, paths: Iterable[str], target: Path) -> FoundData:
    """Copy the Meta-Album folders (`labels.csv`, `info.json`, `images/`) under these paths into `target`."""
    found = FoundData()
    with open_tree(source) as tree:
        definition = tree.definition()
        root = definition[: -len(PurePosixPath(definition).name)]
        room = MOST_BYTES
        for number, path in enumerate(sorted(set(paths))):
            room -= _take_path(tree, root, path, target / str(number), room, found)
    return found


def _take_path(tree: Tree, root: str, path: str, target: Path, room: int, found: FoundData) -> int:
    """The bytes that were copied."""
    if f"{root}{path}" not in tree.names:
        return _take_folders(tree, f"{root}{path}/", path, target, room, found)
    if not path.lower().endswith(".zip"):
        return 0
    with tempfile.TemporaryFile() as copy, tree.open(f"{root}{path}") as inner:
        shutil.copyfileobj(inner, copy, 1 << 20)
        try:
            with zipfile.ZipFile(copy) as archive:
                return _take_folders(ZipTree(archive), "", path, target, room, found)
        except (zipfile.BadZipFile, BundleUnreadable) as error:
            words = f"{path} cannot be read: {error!s}"
            found.remarks.append((path, words))
            return 0


def _take_folders(tree: Tree, under: str, path: str, target: Path, room: int, found: FoundData) -> int:
    names = {name for name in tree.names if name.startswith(under)}
    folders = sorted(
        name[: -len("labels.csv")]
        for name in names
        if name.endswith("labels.csv") and f"{name[: -len('labels.csv')]}info.json" in names
    )
    taken = 0
    for number, folder in enumerate(folders):
        files = [
            name
            for name in names
            if name.startswith((f"{folder}images/", f"{folder}labels.csv", f"{folder}info.json"))
        ]
        title = PurePosixPath(folder).name or PurePosixPath(path).stem
        if number >= MOST_DATASETS or len(files) > MOST_IMAGES + 2:
            words = (
                f"{title} was left out: at most {MOST_DATASETS} datasets of "
                f"{decimal(MOST_IMAGES)} images are taken; pack it with anyshot data pack and "
                "upload it as a pool"
            )
            found.remarks.append((path, words))
            continue
        place = target / str(number) / title
        for name in files:
            taken += _copy(tree, name, place / name.removeprefix(folder), room - taken)
        found.folders.setdefault(path, []).append(place)
    return taken


def _copy(tree: Tree, name: str, place: Path, room: int) -> int:
    """The bytes of one file, copied; raises `BundleUnreadable` where there is no room for them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    copied = 0
    with tree.open(name) as source, place.open("wb") as sink:
        while chunk := source.read(1 << 20):
            copied += len(chunk)
            if copied > room:
                raise BundleUnreadable(f"its data unpack to over {MOST_BYTES >> 30} GiB")
            sink.write(chunk)
    return copied
