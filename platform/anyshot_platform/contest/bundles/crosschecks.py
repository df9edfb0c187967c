"""What no single field can tell: files that are missing, references to nothing, moments in the wrong order.

The checks read the raw document, so that they report even while fields elsewhere are wrong.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from anyshot_core.zones import find_zone
from anyshot_platform.contest.bundles.consistency import (
    PROTOCOL_ROLES,
    SEEDS_OF_RUNS,
    words_on_late,
    words_on_moment,
    words_on_order,
    words_on_protocol,
    words_on_ranking,
    words_on_seeds,
)
from anyshot_platform.contest.bundles.files import BundleFiles, missing_file
from anyshot_platform.contest.bundles.yaml_lines import FileProblem, Marked, Path
from anyshot_platform.foundation.schema.quantities import parse_moment
from anyshot_platform.foundation.zones import words_on_zone

Check = Callable[[Marked, BundleFiles], Iterator[FileProblem]]


def cross_check(marked: Marked, files: BundleFiles) -> list[FileProblem]:
    """All problems between the parts of a document."""
    return [problem for check in _CHECKS for problem in check(marked, files)]


def entries(marked: Marked, section: str) -> Iterator[tuple[Path, dict[Any, Any]]]:
    """The mappings in a top-level list."""
    found = marked.data.get(section)
    for index, entry in enumerate(found if isinstance(found, list) else []):
        if isinstance(entry, dict):
            yield (section, index), entry


def _keys(marked: Marked, section: str, key: str = "key") -> list[str]:
    return [str(entry[key]) for _, entry in entries(marked, section) if entry.get(key) is not None]


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _files_exist(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    named: list[tuple[Path, Any]] = [((key,), marked.data.get(key)) for key in ("logo", "terms")]
    for section in ("pages", "baselines"):
        named += [((*path, "file"), entry.get("file")) for path, entry in entries(marked, section)]
    for path, name in named:
        said = missing_file(name, files) if isinstance(name, str) else None
        if said:
            yield marked.problem(path, said)


def _keys_differ(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    for section, key in (("phases", "key"), ("leagues", "key"), ("baselines", "key"), ("pools", "name")):
        twice = {name for name, times in Counter(_keys(marked, section, key)).items() if times > 1}
        for path, entry in entries(marked, section):
            if entry.get(key) in twice:
                words = f"{entry[key]!r} is used more than once in {section}"
                yield marked.problem((*path, key), words)


def _references(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    leagues, pools = set(_keys(marked, "leagues")), set(_keys(marked, "pools", "name"))
    phases = set(_keys(marked, "phases"))
    for path, entry in entries(marked, "baselines"):
        yield from _unknown(marked, (*path, "leagues"), _texts(entry.get("leagues")), leagues, "league")
        if not entry.get("file") and not entry.get("builtin"):
            yield marked.problem(path, "a baseline needs `file` or `builtin`")
    for path, entry in entries(marked, "pools"):
        yield from _unknown(marked, (*path, "combines"), _texts(entry.get("combines")), pools, "pool")
    for path, entry in entries(marked, "phases"):
        for part, key in (("tasks", "meta_train"), ("tasks", "meta_test"), ("smoke", "pool")):
            named = _given(_mapping(entry.get(part)), key)
            yield from _unknown(marked, (*path, part, key), named, pools, "pool")
        source = _mapping(entry.get("entries"))
        where = (*path, "entries")
        yield from _unknown(marked, (*where, "phase"), _given(source, "phase"), phases, "phase")
        if source.get("phase") is not None and source["phase"] == entry.get("key"):
            yield marked.problem((*where, "phase"), "a phase cannot take its entries from itself")
        gates = source.get("gates")
        for index, gate in enumerate(gates if isinstance(gates, list) else []):
            named = _given(_mapping(gate), "league")
            yield from _unknown(marked, (*where, "gates", index, "league"), named, leagues, "league")


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _given(entry: dict[Any, Any], key: str) -> list[str]:
    return [str(entry[key])] if entry.get(key) is not None else []


def _unknown(
    marked: Marked, path: Path, names: list[str], known: set[str], kind: str
) -> Iterator[FileProblem]:
    for index, name in enumerate(names):
        if name not in known:
            offered = ", ".join(sorted(known)) or "none"
            place = (*path, index) if (*path, index) in marked.lines else path
            yield marked.problem(place, f"there is no {kind} {name!r}; known: {offered}")


def _final_phases_fed(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    for path, entry in entries(marked, "phases"):
        if (
            entry.get("kind") == "final"
            and not entry.get("entries")
            and not entry.get("accepts_uploads", True)
        ):
            yield marked.problem(path, "a final phase without uploads needs `entries: {phase: ...}`")


def _seeds_counted(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    for path, entry in entries(marked, "phases"):
        tasks, runs = _mapping(entry.get("tasks")), _mapping(entry.get("scoring")).get("runs", 1)
        for side in SEEDS_OF_RUNS:
            seeds = tasks.get(side)
            if isinstance(seeds, list) and isinstance(runs, int) and (words := words_on_seeds(seeds, runs)):
                yield marked.problem((*path, "tasks", side), words)


def _rankings_known(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    for path, entry in entries(marked, "phases"):
        name = _mapping(entry.get("scoring")).get("ranking")
        if isinstance(name, str) and (words := words_on_ranking(name)):
            yield marked.problem((*path, "scoring", "ranking"), words)


def _protocols_readable(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    for path, entry in entries(marked, "phases"):
        tasks = _mapping(entry.get("tasks"))
        for role in PROTOCOL_ROLES:
            if words := words_on_protocol(_mapping(tasks.get(role)), role):
                yield marked.problem((*path, "tasks", role), words)


def _moments_ordered(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    home = marked.data.get("timezone") or "UTC"
    for path, entry in entries(marked, "phases"):
        start, end = _moment(entry.get("start")), _moment(entry.get("end"))
        zone = find_zone(str(entry.get("timezone") or home))
        if start and end and zone and (words := words_on_order(start, end, zone)):
            yield marked.problem((*path, "end"), words)
        until = _moment(entry.get("late_until"))
        if until and zone and (words := words_on_late(end, until, zone)):
            yield marked.problem((*path, "late_until"), words)


def _moment(value: Any) -> datetime | None:
    try:
        return parse_moment(value) if value is not None else None
    except ValueError:
        return None  # said by the field itself


def _zones_known(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    named: list[tuple[Path, Any]] = [(("timezone",), marked.data.get("timezone"))]
    named += [((*path, "timezone"), entry.get("timezone")) for path, entry in entries(marked, "phases")]
    for path, name in named:
        if isinstance(name, str) and (words := words_on_zone(name)):
            yield marked.problem(path, words)


def _moments_exist(marked: Marked, files: BundleFiles) -> Iterator[FileProblem]:
    home = marked.data.get("timezone") or "UTC"
    named: list[tuple[Path, Any, Any]] = [
        ((key,), marked.data.get(key), home) for key in ("opens", "fact_sheet_by")
    ]
    for path, entry in entries(marked, "phases"):
        zone = entry.get("timezone") or home
        named += [((*path, key), entry.get(key), zone) for key in ("start", "end", "late_until")]
    for path, value, name in named:
        moment, zone = _moment(value), find_zone(str(name))
        if moment and zone and (words := words_on_moment(moment, zone)):
            yield marked.problem(path, words)


_CHECKS: tuple[Check, ...] = (
    _files_exist,
    _keys_differ,
    _references,
    _final_phases_fed,
    _seeds_counted,
    _rankings_known,
    _protocols_readable,
    _moments_ordered,
    _zones_known,
    _moments_exist,
)
