"""The data of a dry run: a folder in Meta-Album's format, or generated; packed once and kept in a cache."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyshot_core.data.pack import SUFFIX, pack_dataset
from anyshot_core.demo_data import DATASETS, make_demo_data


class NoData(ValueError):
    """The data of a dry run cannot be found; the message says what was expected where."""


@dataclass(frozen=True, slots=True)
class PublicData:
    """Packs for meta-training and for meta-testing."""

    train: tuple[Path, ...]
    test: tuple[Path, ...]
    generated: bool
    pools: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)  # of further evaluations, by name
    named: bool = False  # those to train on were asked for by name


def default_cache() -> Path:
    """Where packs and generated data are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "anyshot"


def find_public_data(
    folder: Path | None,
    cache: Path,
    *,
    train: Sequence[str] = (),
    test: Sequence[str] = (),
    trained: bool = True,
    disjoint: bool = False,
    pools: Sequence[str] = (),
    on_step: Callable[[str], object] = lambda _: None,
) -> PublicData:
    """The packs of `folder` (generated data without one), split as its info says or as `train` and `test` name.

    Without `trained` only those to test on; with `disjoint` no dataset may be both trained and tested on. `pools` are
    folders of which every dataset is wanted. Raises NoData, or DataError where a dataset breaks the format.
    """
    generated, named = folder is None, bool(train)
    source = _generated(cache, on_step) if folder is None else folder
    if not source.is_dir():
        raise NoData(f"{source}: there is no such folder.")
    if not test or (trained and not train):
        known_train, known_test = read_split(source)
        train, test = train or known_train, test or known_test
    train = train if trained else ()
    _require_distinct(train, test, disjoint)
    packs = {name: _pack(source, name, cache, on_step) for name in [*train, *test]}
    return PublicData(
        tuple(packs[name] for name in train),
        tuple(packs[name] for name in test),
        generated=generated,
        pools={name: _whole_pool(Path(name), cache, on_step) for name in pools},
        named=named,
    )


def _whole_pool(folder: Path, cache: Path, on_step: Callable[[str], object]) -> tuple[Path, ...]:
    """The packs of all datasets of a folder, by name."""
    names = {path.stem for path in folder.glob(f"*{SUFFIX}")}
    names |= {path.parent.name for path in folder.glob("*/labels.csv")}
    if not names:
        raise NoData(f"{folder}: found no dataset there, neither packs nor folders with labels.csv.")
    return tuple(_pack(folder, name, cache, on_step) for name in sorted(names))


def _require_distinct(train: Sequence[str], test: Sequence[str], disjoint: bool) -> None:
    for kind, names in (("train", train), ("test", test)):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise NoData(f"Datasets to {kind} on: {', '.join(twice)} named more than once.")
    both = sorted(set(train) & set(test))
    if disjoint and both:
        raise NoData(
            f"{', '.join(both)}: to be trained and tested on, so that the score would say nothing about unseen data."
            " Name datasets of which none is in both with --train and --test."
        )


def read_split(folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names for meta-train and meta-test, from `info/meta_splits.txt` or the first two sets of `info/sets.json`."""
    splits, sets = folder / "info" / "meta_splits.txt", folder / "info" / "sets.json"
    if splits.is_file():
        data = _read(splits)
        return tuple(data["meta-train"]), tuple(data["meta-test"])
    if sets.is_file():
        named = list(_read(sets).values())
        if len(named) < 2:
            raise NoData(
                f"{sets}: found {len(named)} set, expected at least two (to train on and to test on)."
            )
        return tuple(named[0]), tuple(named[1])
    raise NoData(
        f"{folder}: found neither info/meta_splits.txt nor info/sets.json. Name datasets with --train and --test, or"
        ' write info/meta_splits.txt: {"meta-train": ["A", "B"], "meta-test": ["C"]}.'
    )


def _read(path: Path) -> dict[str, list[str]]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NoData(f"{path}: not JSON ({error}).") from error


def _generated(cache: Path, on_step: Callable[[str], object]) -> Path:
    folder = cache / "generated"
    if not (folder / "info" / "sets.json").is_file():
        on_step("Making a small meta-dataset (once)")
        make_demo_data(folder, datasets=tuple(dataset.name for dataset in DATASETS if dataset.variant < 2))
    return folder


def _pack(folder: Path, name: str, cache: Path, on_step: Callable[[str], object]) -> Path:
    ready = folder / f"{name}{SUFFIX}"
    if ready.is_file():
        return ready
    dataset = folder / name
    if not dataset.is_dir():
        raise NoData(f"{folder}: there is no dataset {name} (neither a folder nor {name}{SUFFIX}).")
    target = cache / "packs" / f"{name}-{_fingerprint(dataset)}{SUFFIX}"
    if not target.is_file():
        on_step(f"Packing {name} (once)")
        target.parent.mkdir(parents=True, exist_ok=True)
        pack_dataset(dataset, target)
    return target


def _fingerprint(dataset: Path) -> str:
    """Changes when a file of the dataset is changed, added or removed."""
    parts = [str(dataset.resolve())]
    for path in sorted([*dataset.glob("*"), *(dataset / "images").glob("*")]):
        stat = path.stat()
        parts.append(f"{path.name} {stat.st_size} {stat.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
