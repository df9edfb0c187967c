"""Leaderboards of Codabench and CodaLab as leagues, their columns as ours where the metric is one of ours."""

import re
from dataclasses import dataclass, field
from typing import Any

from anyshot_platform.contest.bundles.codabench_report import is_true, number_of
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.yaml_lines import Path

_METRICS = (
    (r"normali[sz]ed.*acc|norm.?acc|^nacc$", "normalized_accuracy"),
    (r"bal.*acc|^bac$|macro.?recall.*acc", "balanced_accuracy"),
    (r"recall", "macro_recall"),
    (r"prec", "macro_precision"),
    (r"(^|[^a-z])f.?1|f.?score|f.?measure", "macro_f1"),
    (r"acc", "accuracy"),
    (r"duration|elapsed|(execution|excecution|running|run|cpu).?time|^time$", "duration"),
)


@dataclass(frozen=True)
class ImportedBoard:
    """A leaderboard there: its columns in the order of their table, each with its place in the file."""

    path: Path
    title: str
    columns: list[tuple[Path, dict[str, Any]]]
    hidden: bool = False
    primary: Any = None  # the index of the column that the board is ordered by, as it was written


@dataclass
class Boards:
    leagues: list[dict[str, Any]] = field(default_factory=list)
    notices: list[tuple[Path, str]] = field(default_factory=list)


def metric_of(key: str, title: str) -> str | None:
    """Our metric for a column, by its key or title; None where there is none."""
    for name in (key.lower(), title.lower()):
        for pattern, metric in _METRICS:
            if re.search(pattern, name):
                return metric
    return None


def boards_of(data: dict[Any, Any], *, v2: bool) -> list[ImportedBoard]:
    """The leaderboards of a bundle, hidden ones too."""
    return _boards_v2(data) if v2 else _boards_v15(data)


def shown_boards(data: dict[Any, Any], *, v2: bool) -> list[ImportedBoard]:
    """The leaderboards that become leagues: those that are not hidden, or all where all are hidden."""
    found = boards_of(data, v2=v2)
    return [board for board in found if not board.hidden] or found


def convert_boards(data: dict[Any, Any], *, v2: bool) -> Boards:
    """One league a leaderboard; a board without a title becomes "Results"."""
    boards = Boards()
    shown = shown_boards(data, v2=v2)
    for board in boards_of(data, v2=v2):
        if board not in shown:
            words = f"the board {board.title!r} is hidden there; it became no league, which all would see"
            boards.notices.append((board.path, words))
            continue
        key = unique(key_from(board.title, "results"), {league["key"] for league in boards.leagues})
        taken = _columns(board.columns, boards)
        boards.leagues.append({"key": key, "title": board.title[:200], "columns": taken})
    if not boards.leagues:
        boards.leagues.append({"key": "results", "title": "Results", "columns": []})
    return boards


def _columns(columns: list[tuple[Path, dict[str, Any]]], boards: Boards) -> list[dict[str, Any]]:
    taken: list[dict[str, Any]] = []
    for path, column in columns:
        title = str(column.get("title") or column.get("label") or column.get("key") or "")
        metric = metric_of(str(column.get("key") or ""), title)
        shown = repr(title)
        if is_true(column.get("hidden", False)):
            words = f"the column {shown} is hidden there; left out, for all would see it"
            boards.notices.append((path, words))
        elif metric is None:
            words = f"the column {shown} has no metric of ours; left out"
            boards.notices.append((path, words))
        elif metric in {other["metric"] for other in taken}:
            words = f"the column {shown} would show {metric} once more; left out"
            boards.notices.append((path, words))
        else:
            decimals = column.get("precision", column.get("numeric_format"))
            taken.append({"metric": metric, "title": title[:200], "decimals": _decimals(decimals)})
        if column.get("computation") or column.get("computed"):
            words = f"the column {shown} is computed from others; ranking is the phase's rule"
            boards.notices.append((path, words))
    return taken


def _decimals(value: Any) -> int:
    """Digits after the point; both platforms show two where a column does not say."""
    try:
        return min(max(int(value), 0), 6)
    except (TypeError, ValueError):
        return 2


def _boards_v2(data: dict[Any, Any]) -> list[ImportedBoard]:
    raw = data.get("leaderboards") or data.get("leaderboard")
    found: list[Any] = raw if isinstance(raw, list) else [raw]
    boards: list[ImportedBoard] = []
    for index, board in enumerate(found):
        if not isinstance(board, dict):
            continue
        path: Path = ("leaderboards", index)
        columns = [
            ((*path, "columns", i), column)
            for i, column in enumerate(board.get("columns") or [])
            if isinstance(column, dict)
        ]
        columns.sort(key=lambda item: number_of(item[1].get("index"), default=item[0][-1]))
        title = str(board.get("title") or board.get("key") or "Results")
        hidden = is_true(board.get("hidden", False))
        boards.append(ImportedBoard(path, title, columns, hidden, board.get("primary_index")))
    return boards


def _boards_v15(data: dict[Any, Any]) -> list[ImportedBoard]:
    raw = data.get("leaderboard")
    board = raw if isinstance(raw, dict) else {}
    groups = _mapping(board.get("leaderboards"))
    labels = {str(key): str((value or {}).get("label") or key) for key, value in groups.items()}
    columns = _mapping(board.get("columns"))
    result: list[ImportedBoard] = []
    for key, label in labels.items():
        mine = [
            (("leaderboard", "columns", name), {"key": name, "title": column.get("label") or name, **column})
            for name, column in columns.items()
            if isinstance(column, dict) and _label(column).lower() == label.lower()
        ]
        mine.sort(key=lambda item: _decimal_rank(item[1].get("rank")))
        result.append(ImportedBoard(("leaderboard", "leaderboards", key), label, mine))
    return result


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _label(column: dict[Any, Any]) -> str:
    board = column.get("leaderboard")
    return str(board.get("label", "")) if isinstance(board, dict) else str(board or "")


def _decimal_rank(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 1.0
