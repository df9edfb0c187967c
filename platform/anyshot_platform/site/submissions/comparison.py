"""Two submissions on the same tasks: the difference, its interval, and in words what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from anyshot_core.charts import Bar, draw_bars
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.matrix import ScoreMatrix, align
from anyshot_scoring.reliability.paired import Interval, judge
from anyshot_scoring.table import TaskTable

MARGIN = 0.01  # normalized accuracy: differences below a point do not matter in practice


@dataclass(frozen=True)
class DatasetLine:
    """The difference on one dataset."""

    dataset: str
    tasks: int
    first: float
    second: float
    difference: float
    half_width: float | None
    words: str


@dataclass(frozen=True)
class PairView:
    """A comparison of two submissions, `first` minus `second`."""

    first: str
    second: str
    verdict_word: str
    tone: str
    words: str
    difference: float
    half_width: float | None
    stats: list[tuple[str, str, str]]
    svg: Markup
    rows: list[DatasetLine]
    population: str


def compare_pair(
    first: str, second: str, tables: tuple[Sequence[TaskTable], Sequence[TaskTable]]
) -> PairView:
    """Compare by tables, one a seeded run. Raises `NotComparable` where the tasks are not the same."""
    matrix = align({"first": tables[0], "second": tables[1]})
    difference = matrix.column("first") - matrix.column("second")
    mean, half = t_interval(difference)
    verdict = _judge(difference)
    rows = _by_dataset(matrix, difference)
    better = first if mean > 0 else second
    tones = {"different": "good", "equivalent": "info", "undecided": "warn"}
    wins = float((difference > 0).mean())
    return PairView(
        first=first,
        second=second,
        verdict_word=verdict,
        tone=tones[verdict],
        words=_words(verdict, better, first, second, abs(mean)),
        difference=mean,
        half_width=half,
        stats=[
            ("Tasks in common", f"{len(difference):,}", "the same support and query images for both"),
            (f"{first} is ahead", f"{100 * wins:.0f} %", "of the tasks"),
            (*_other_datasets(matrix, rows), "what other datasets could show"),
        ],
        svg=Markup(_draw(rows, first, second)),
        rows=rows,
        population="The interval of the difference is about other tasks of these datasets. Whether the order would "
        "hold on other datasets is a harder question, answered by the figure above from the datasets' means alone.",
    )


@dataclass(frozen=True)
class Cell:
    """The submission of the row minus that of the column, at a family-wise confidence."""

    difference: float
    half_width: float | None
    words: str
    tone: str


@dataclass(frozen=True)
class MatrixView:
    """All pairs of three or more submissions; `cells[i][j]` is None on the diagonal."""

    titles: list[str]
    scores: list[float]
    cells: list[list[Cell | None]]
    words: str


def compare_all(titles: Sequence[str], tables: Sequence[Sequence[TaskTable]]) -> MatrixView:
    """Every submission against every other one. Raises `NotComparable` where the tasks are not the same.

    The intervals hold together: each is taken at 1 - 5 % / (number of pairs), after Bonferroni, so that among many
    pairs not one is called different by the number of looks alone.
    """
    matrix = align({str(place): table for place, table in enumerate(tables)})
    columns = [matrix.column(str(place)) for place in range(len(tables))]
    pairs = len(columns) * (len(columns) - 1) // 2
    cells = [
        [None if i == j else _cell(first - second, pairs) for j, second in enumerate(columns)]
        for i, first in enumerate(columns)
    ]
    return MatrixView(
        titles=list(titles),
        scores=[float(column.mean()) for column in columns],
        cells=cells,
        words=f"Rows minus columns, paired over {len(columns[0]):,} tasks. The {pairs} intervals hold together at "
        f"95 % (each at {100 * (1 - 0.05 / pairs):.1f} %): with many pairs some differ by chance alone.",
    )


def _cell(difference: NDArray[np.float64], pairs: int) -> Cell:
    mean, half = t_interval(difference, 1 - 0.05 / pairs)
    verdict = _judge(difference, pairs)
    if verdict == "different":
        return Cell(mean, half, "better" if mean > 0 else "worse", "good" if mean > 0 else "bad")
    return Cell(
        mean, half, *{"equivalent": ("equal", "info"), "undecided": ("cannot be told", "warn")}[verdict]
    )


def _judge(difference: NDArray[np.float64], pairs: int = 1) -> str:
    intervals = []
    for confidence in (1 - 0.05 / pairs, 1 - 0.1 / pairs):
        mean, half = t_interval(difference, confidence)
        if half is None:
            return "undecided"
        intervals.append(Interval(mean - half, mean + half, confidence, len(difference)))
    return judge(intervals[0], intervals[1], MARGIN)


def _words(verdict: str, better: str, first: str, second: str, size: float) -> str:
    if verdict == "different":
        return f"{better} is better by {size:.3f}: the difference is larger than chance in the draw of tasks explains."
    if verdict == "equivalent":
        return f"For practical purposes {first} and {second} are equal: any difference is below {MARGIN:.2f}."
    return (
        f"It cannot be told which is better: {better} is ahead by {size:.3f}, but another draw of tasks "
        "could turn the order round."
    )


def _by_dataset(matrix: ScoreMatrix, difference: NDArray[np.float64]) -> list[DatasetLine]:
    lines = []
    for place, name in enumerate(matrix.datasets):
        here = matrix.dataset == place
        mean, half = t_interval(difference[here])
        verdict = _judge(difference[here])
        words = {"equivalent": "equal", "undecided": "cannot be told"}.get(
            verdict, "first is better" if mean > 0 else "second is better"
        )
        lines.append(
            DatasetLine(
                dataset=name,
                tasks=int(here.sum()),
                first=float(matrix.column("first")[here].mean()),
                second=float(matrix.column("second")[here].mean()),
                difference=mean,
                half_width=half,
                words=words,
            )
        )
    return sorted(lines, key=lambda line: (len(line.dataset), line.dataset))


def _other_datasets(matrix: ScoreMatrix, rows: Sequence[DatasetLine]) -> tuple[str, str]:
    del matrix
    mean, half = t_interval(np.array([row.difference for row in rows]))
    if half is None:
        return "Over datasets", "undefined"
    return "Over datasets", f"{mean:+.3f} ± {half:.3f}".replace("-", "−")


def _draw(rows: Sequence[DatasetLine], first: str, second: str) -> str:
    bars = [Bar(row.dataset, row.difference, row.half_width) for row in rows]
    return draw_bars(bars, f"{first} minus {second}, by dataset", "Difference of normalized accuracy").svg
