"""Two submissions on the same tasks: the difference, its interval, and in words what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_core.browser_charts.numbers import chart_data, scatter
from anyshot_platform.judging.pairs import make_statement, side_by_side
from anyshot_platform.kernel.filters import number, percent
from anyshot_platform.kernel.language import Amount, say, together
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.site.shell.chart_data import ChartView
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.table import TaskTable


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
    stats: list[tuple[str, str | Amount, str]]
    chart: ChartView
    tasks: ChartView | None  # a dot a task, where the phase shows single tasks
    rows: list[DatasetLine]
    population: str


def compare_pair(
    first: str,
    second: str,
    tables: tuple[Sequence[TaskTable], Sequence[TaskTable]],
    version: PhaseVersion,
    *,
    single_tasks: bool,
) -> PairView:
    """Compare by tables, one a seeded run. Raises `NotComparable` where the tasks are not the same."""
    matrix = side_by_side({"first": tables[0], "second": tables[1]}, version)
    difference = matrix.column("first") - matrix.column("second")
    said = make_statement(difference)
    rows = _by_dataset(matrix, difference)
    tones = {"different": "good", "equivalent": "info", "undecided": "warn"}
    wins = float((difference > 0).mean())
    return PairView(
        first=first,
        second=second,
        verdict_word=said.verdict,
        tone=tones[said.verdict],
        words=said.words(first, second),
        difference=said.difference,
        half_width=said.half_width,
        stats=[
            (
                say("Tasks in common"),
                number(len(difference)),
                say("the same support and query images for both"),
            ),
            (say("%(first)s is ahead", first=first), percent(wins), say("of the tasks")),
            (*_other_datasets(matrix, rows), say("expected on new datasets")),
        ],
        chart=_draw(rows, first, second),
        tasks=_draw_tasks(matrix, difference, first, second) if single_tasks else None,
        rows=rows,
        population=say(
            "The interval of the difference is about other tasks of these datasets. Whether the order "
            "would hold on other datasets is a harder question, answered by the figure above from the "
            "datasets' means alone."
        ),
    )


@dataclass(frozen=True)
class ComparisonCell:
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
    cells: list[list[ComparisonCell | None]]
    words: str


def compare_all(
    titles: Sequence[str], tables: Sequence[Sequence[TaskTable]], version: PhaseVersion
) -> MatrixView:
    """Every submission against every other one. Raises `NotComparable` where the tasks are not the same.

    The intervals hold together: each is taken at 1 - 5 % / (number of pairs), after Bonferroni, so that among many
    pairs not one is called different by the number of looks alone.
    """
    matrix = side_by_side({str(place): table for place, table in enumerate(tables)}, version)
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
        words=say(
            "Rows minus columns, paired over %(len)s tasks. The %(pairs)s intervals hold together at 95 "
            "%% (each at %(value)s %%): with many pairs some differ by chance alone. So a pair may be "
            "undecided here that differs where only its two are compared.",
            len=Amount(len(columns[0])),
            pairs=pairs,
            value=Amount(100 * (1 - 0.05 / pairs), 1),
        ),
    )


def _cell(difference: NDArray[np.float64], pairs: int) -> ComparisonCell:
    said = make_statement(difference, pairs)
    ahead = said.difference > 0
    words = {
        "different": ("better", "good") if ahead else ("worse", "bad"),
        "equivalent": ("equal", "info"),
        "undecided": (say("cannot be told"), "warn"),
    }
    return ComparisonCell(said.difference, said.half_width, *words[said.verdict])


def _by_dataset(matrix: ScoreMatrix, difference: NDArray[np.float64]) -> list[DatasetLine]:
    lines = []
    for place, name in enumerate(matrix.datasets):
        here = matrix.dataset == place
        said = make_statement(difference[here])
        words = {"equivalent": "equal", "undecided": say("cannot be told")}.get(
            said.verdict, say("first is better") if said.difference > 0 else say("second is better")
        )
        lines.append(
            DatasetLine(
                dataset=name,
                tasks=int(here.sum()),
                first=float(matrix.column("first")[here].mean()),
                second=float(matrix.column("second")[here].mean()),
                difference=said.difference,
                half_width=said.half_width,
                words=words,
            )
        )
    return sorted(lines, key=lambda line: (len(line.dataset), line.dataset))


def _other_datasets(matrix: ScoreMatrix, rows: Sequence[DatasetLine]) -> tuple[str, str]:
    del matrix
    mean, half = t_interval(np.array([row.difference for row in rows]))
    if half is None:
        return say("Over datasets"), say("undefined")
    width = f"± {half:.3f}" if half else say("(all datasets equal)")
    return say("Over datasets"), together((f"{mean:+.3f}".replace("-", "−"), width))


def _draw_tasks(matrix: ScoreMatrix, difference: NDArray[np.float64], first: str, second: str) -> ChartView:
    """Each task at its two scores; in the table, of how many each one is ahead."""
    values = matrix.column("first"), matrix.column("second")
    rows = []
    for place, name in enumerate(matrix.datasets):
        here = difference[matrix.dataset == place]
        rows.append((name, int((here > 0).sum()), int((here == 0).sum()), int((here < 0).sum())))
    return ChartView(
        say("Each task"),
        scatter(*values, x=first, y=second, equal=say("Both equal")),
        (say("Dataset"), say("First is ahead"), say("Both equal"), say("Second is ahead")),
        tuple(sorted(rows, key=lambda row: (len(row[0]), row[0]))),
        say(
            "One dot a task: %(first)s across, %(second)s upwards. Above the line %(second)s is better.",
            first=first,
            second=second,
        ),
    )


def _draw(rows: Sequence[DatasetLine], first: str, second: str) -> ChartView:
    """A dot with its interval for each dataset, above zero where the first is better; its table is the rows'."""
    series = {
        "label": f"{first} − {second}",
        "values": [row.difference for row in rows],
        "low": [None if row.half_width is None else row.difference - row.half_width for row in rows],
        "high": [None if row.half_width is None else row.difference + row.half_width for row in rows],
    }
    names = [row.dataset for row in rows]
    data = chart_data(
        range(len(rows)),
        [series],
        x=say("Dataset"),
        y=say("Difference"),
        x_kind="names",
        names=names,
        limit=0.0,
    )
    return ChartView(say("Difference by dataset"), data)
