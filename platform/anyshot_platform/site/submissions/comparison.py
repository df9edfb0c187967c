"""Two submissions on the same tasks: what the one model of the board says of them, and where they differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_core.browser_charts.numbers import chart_data, interval_ends, scatter
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import chance, decimal, join_texts, percent, score
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.site.shell.chart_data import ChartView
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.joins import MEAN
from anyshot_scoring.reliability.board_model import FEWEST_UNITS
from anyshot_scoring.reliability.matrix import ScoreMatrix, align
from anyshot_scoring.reliability.shared_tasks import counted_once, where_all_count
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class DatasetLine:
    """The difference on one dataset."""

    dataset: str
    tasks: int
    first: float
    second: float
    difference: float
    half_width: float | None  # over other tasks of this dataset


@dataclass(frozen=True)
class PairView:
    """A comparison of two submissions, `first` minus `second`."""

    first: str
    second: str
    verdict_word: str
    tone: str
    words: str
    difference: float
    interval: str
    stats: list[tuple[str, str, str]]
    chart: ChartView
    tasks: ChartView | None  # a dot a task, where the phase shows single tasks
    rows: list[DatasetLine]
    population: str


_BADGES = {
    "first": ("the first is better", "good"),
    "second": ("the second is better", "good"),
    "better": ("better", "good"),  # the row of a table, than the column
    "worse": ("worse", "bad"),
    "equivalent": ("equal", "info"),
    "undecided": ("too close to call", "warn"),
}


def compare_pair(
    first: str,
    second: str,
    tables: tuple[Sequence[TaskTable], Sequence[TaskTable]],
    version: PhaseVersion,
    said: Statement,
    *,
    single_tasks: bool,
) -> PairView:
    """Compare by tables, one a seeded run. Raises `NotComparable` where the tasks are not the same."""
    matrix = align({"first": tables[0], "second": tables[1]})
    shown = _counted(matrix, version)
    difference = shown.column("first") - shown.column("second")
    rows = _by_dataset(shown, difference)
    wins = float((difference > 0).mean())
    verdict_word, tone = _badge(said, "first", "second")
    return PairView(
        first=first,
        second=second,
        verdict_word=verdict_word,
        tone=tone,
        words=said.words(first, second),
        difference=said.difference,
        interval=range_words(said),
        stats=[
            (
                "Tasks in common",
                decimal(len(difference)),
                "the same support and query images for both",
            ),
            (f"{first} is ahead", percent(wins), "of the tasks"),
            _on_other_datasets(first, said, len(shown.datasets)),
        ],
        chart=_draw(rows, first, second),
        tasks=_draw_tasks(shown, difference, first, second) if single_tasks else None,
        rows=rows,
        population=join_texts((_POPULATION, _whose_runs(matrix, shown, version)), by=" "),
    )


_POPULATION = (
    "Verdict, difference and interval are those of the board: by its ranking rule, and by "
    "one model of all its submissions. They hold for other tasks of these datasets. "
    "The interval of a single dataset covers its own tasks alone: about 1 in 20 misses by chance."
)


def _counted(matrix: ScoreMatrix, version: PhaseVersion) -> ScoreMatrix:
    """The tasks of the runs that count, each once; all runs where other runs count for the two, on other tasks."""
    if version.runs_share_tasks and matrix.runs > 1:
        return counted_once(matrix, version.rule)
    return where_all_count(matrix, version.rule) or matrix


def _whose_runs(matrix: ScoreMatrix, shown: ScoreMatrix, version: PhaseVersion) -> str:
    """That tasks and datasets are shown by all runs, where the ranking goes by others."""
    if matrix.runs == 1 or shown is not matrix or version.rule.join is MEAN:
        return ""
    return (
        "Tasks and datasets are shown by all runs here: the two have different runs that "
        "count, which ran other tasks."
    )


def _on_other_datasets(first: str, said: Statement, datasets: int) -> tuple[str, str, str]:
    title = "On other datasets"
    if said.elsewhere is None:
        return title, "not known", f"Needs at least {FEWEST_UNITS} datasets (this phase has {datasets})"
    return title, chance(said.elsewhere), f"probability that {first} is better there"


def range_words(said: Statement) -> str:
    """The interval of the true difference; nothing where it is undefined, or has no width."""
    if said.low is None or said.high is None or said.low == said.high:
        return ""
    return f"(95 %: {score(said.low)} to {score(said.high)})"


@dataclass(frozen=True)
class ComparisonCell:
    """The submission of the row minus that of the column."""

    difference: float
    interval: str
    words: str
    tone: str


@dataclass(frozen=True)
class MatrixView:
    """All pairs of three or more submissions; `cells[i][j]` is None on the diagonal."""

    titles: list[str]
    scores: list[float | None]
    cells: list[list[ComparisonCell | None]]
    words: str


def compare_all(
    titles: Sequence[str], scores: Sequence[float | None], said: Mapping[tuple[int, int], Statement]
) -> MatrixView:
    """Every submission against every other one, by the statements on all ordered pairs of places."""
    places = range(len(titles))
    return MatrixView(
        titles=list(titles),
        scores=list(scores),
        cells=[[None if i == j else _cell(said[i, j]) for j in places] for i in places],
        words=(
            "Rows minus columns, with 95 % intervals. All come from one model of the board, which "
            "shrinks lucky differences: a pair gets the same verdict as on a page of its own."
        ),
    )


def _cell(said: Statement) -> ComparisonCell:
    return ComparisonCell(said.difference, range_words(said), *_badge(said, "better", "worse"))


def _badge(said: Statement, first: str, second: str) -> tuple[str, str]:
    """The verdict in a word and its tone: `first` or `second` where one of the two is better."""
    better = first if said.ahead > 0 else second
    return _BADGES[better if said.told_apart else said.verdict]


def _by_dataset(matrix: ScoreMatrix, difference: NDArray[np.float64]) -> list[DatasetLine]:
    lines = []
    for place, name in enumerate(matrix.datasets):
        here = matrix.dataset == place
        mean, half_width = t_interval(difference[here])
        lines.append(
            DatasetLine(
                dataset=name,
                tasks=int(here.sum()),
                first=float(matrix.column("first")[here].mean()),
                second=float(matrix.column("second")[here].mean()),
                difference=mean,
                half_width=half_width,
            )
        )
    return sorted(lines, key=lambda line: (len(line.dataset), line.dataset))


def _draw_tasks(matrix: ScoreMatrix, difference: NDArray[np.float64], first: str, second: str) -> ChartView:
    """Each task at its two scores; in the table, of how many each one is ahead."""
    values = matrix.column("first"), matrix.column("second")
    rows = []
    for place, name in enumerate(matrix.datasets):
        here = difference[matrix.dataset == place]
        rows.append((name, int((here > 0).sum()), int((here == 0).sum()), int((here < 0).sum())))
    return ChartView(
        "Each task",
        scatter(*values, x=first, y=second, equal="Both equal"),
        ("Dataset", "First is ahead", "Both equal", "Second is ahead"),
        tuple(sorted(rows, key=lambda row: (len(row[0]), row[0]))),
        f"One dot a task: {first} across, {second} upwards. Above the line {second} is better.",
    )


def _draw(rows: Sequence[DatasetLine], first: str, second: str) -> ChartView:
    """A dot with its interval for each dataset, above zero where the first is better; its table is the rows'."""
    series = {
        "label": f"{first} − {second}",
        "values": [row.difference for row in rows],
        **interval_ends([row.difference for row in rows], [row.half_width for row in rows]),
    }
    names = [row.dataset for row in rows]
    data = chart_data(
        range(len(rows)),
        [series],
        x="Dataset",
        y="Difference",
        x_kind="names",
        names=names,
        limit=0.0,
    )
    return ChartView("Difference by dataset", data)
