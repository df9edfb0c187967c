"""By which column a board of Codabench or CodaLab is ordered, and what becomes of that here."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anyshot_platform.contest.bundles.codabench_columns import ImportedBoard, metric_of
from anyshot_platform.contest.bundles.codabench_report import mapping, whole_of
from anyshot_platform.contest.bundles.yaml_lines import Path

_RANKS = re.compile(r"(avg|average|mean)[ _-]?rank", re.IGNORECASE)
_BY_DATASET = "dataset_ranks_worst"


@dataclass(frozen=True)
class Order:
    """The order of one board: its leading column, and whether the lowest value of it comes first."""

    path: Path
    board: str
    column: str
    metric: str | None
    lowest_first: bool
    of_ranks: bool  # the column is an average of ranks
    more_columns: bool  # which decide between equals there

    @property
    def words(self) -> str:
        """What an organizer has to know of it; empty where the order here is the same."""
        there = f"the board {self.board!r} is ordered by the column {self.column!r} there"
        if self.of_ranks:
            return (
                f"{there}: here submissions are ranked on each dataset and the average of the ranks counts; "
                "look at the ranking"
            )
        if self.metric == "normalized_accuracy" and not self.lowest_first and not self.more_columns:
            return ""
        lowest = ", lowest first" if self.lowest_first else ""
        equals = ", then by the others" if self.more_columns else ""
        return (
            f"{there}{lowest}{equals}; here by the score of normalized accuracy, highest first, and of equal "
            "ones the earlier is first: look at the ranking"
        )


def orders_of(boards: Sequence[ImportedBoard], *, v2: bool) -> Iterator[Order]:
    """The orders of the boards that have columns."""
    for board in boards:
        if not board.columns:
            continue
        path, column = _leading_v2(board) if v2 else board.columns[0]
        title = str(column.get("title") or column.get("label") or column.get("key") or "")
        key = str(column.get("key") or "")
        lowest = v2 and str(column.get("sorting") or "").strip().lower() == "asc"
        named = lowest and bool(_RANKS.search(title) or _RANKS.search(key))
        yield Order(
            path,
            board.title,
            title,
            metric_of(key, title),
            lowest,
            named if v2 else _averages_ranks(column),
            len(board.columns) > 1,
        )


def ranking_of(orders: Sequence[Order]) -> str | None:
    """The ranking of the phases that keeps the order of the first board; None where none of ours does."""
    return _BY_DATASET if orders and orders[0].of_ranks else None


def _leading_v2(board: ImportedBoard) -> tuple[Path, dict[str, Any]]:
    """Codabench's `primary_index` names the column by its index, the first where it is silent."""
    wanted = whole_of(board.primary) or 0
    by_index = {
        whole_of(column.get("index", place)): place for place, (_, column) in enumerate(board.columns)
    }
    return board.columns[by_index.get(wanted, 0)]


def _averages_ranks(column: dict[str, Any]) -> bool:
    """CodaLab's computed averages are of the ranks in other columns."""
    return str(mapping(column.get("computed")).get("operation")).lower() == "avg"
