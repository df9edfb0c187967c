"""How a run trains and what of the machine it uses, over time: charts for the page, rows for its live stream."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import chart_data
from anyshot_core.wire.worker_api import LogPolicy, Series
from anyshot_platform.foundation.filters import count, decimal, duration, join_texts, score, size
from anyshot_platform.judging.run_logs.measures import read_measures
from anyshot_platform.judging.run_logs.models import RunMeasure
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.shell.chart_data import ChartView, thinned
from anyshot_platform.site.submissions.progress import is_live, run_title

Value = Callable[[RunMeasure], float | None]


@dataclass(frozen=True)
class _Line:
    label: str
    series: Series
    value: Value


@dataclass(frozen=True)
class _Kind:
    """A chart that each run can have: its lines, the unit, and how a cell of its table is written."""

    key: str
    title: str
    y: str
    y_kind: str
    lines: tuple[_Line, ...]
    cell: Callable[[float], object]
    limit: Callable[[Run], float | None] = lambda _: None
    note: str = ""


def _accuracy(one: RunMeasure) -> float | None:
    """The normalized one where the logger was given tasks; batches have only the plain one."""
    return one.normalized_accuracy if one.normalized_accuracy is not None else one.accuracy


_TRAIN, _VALID, _USED = Series.TRAINING, Series.VALIDATION, Series.RESOURCES
_LOGGED = "Means of what your code logged in each stretch of time."
KINDS = (
    _Kind(
        "loss",
        "Loss",
        "Loss",
        "number",
        (
            _Line("Training", _TRAIN, lambda one: one.loss),
            _Line("Validation", _VALID, lambda one: one.loss),
        ),
        lambda value: f"{value:.4g}",
        note=_LOGGED,
    ),
    _Kind(
        "accuracy",
        "Accuracy while training",
        "Accuracy",
        "score",
        (_Line("Training", _TRAIN, _accuracy), _Line("Validation", _VALID, _accuracy)),
        score,
        note=f"{_LOGGED} Normalized accuracy of tasks, plain accuracy of batches.",
    ),
    _Kind(
        "cpu",
        "Processor",
        "Cores in use",
        "number",
        (_Line("Cores in use", _USED, lambda one: one.cpu_cores),),
        lambda value: decimal(value, 2),
        lambda run: run.phase_version.cpus,
    ),
    _Kind(
        "memory",
        "Memory",
        "Memory",
        "bytes",
        (_Line("Memory", _USED, lambda one: one.memory_bytes),),
        lambda value: size(round(value)),
        lambda run: run.phase_version.memory_bytes,
        "The highest reading of each stretch of time, files in the scratch space included.",
    ),
    _Kind(
        "gpu",
        "GPU",
        "Busy",
        "share",
        (_Line("Busy", _USED, lambda one: one.gpu_share),),
        lambda value: f"{100 * value:.0f} %",
    ),
    _Kind(
        "gpu-memory",
        "GPU memory",
        "GPU memory",
        "bytes",
        (_Line("GPU memory", _USED, lambda one: one.gpu_memory_bytes),),
        lambda value: size(round(value)),
    ),
)


@dataclass(frozen=True)
class RunCharts:
    """The charts of one run; those of a run that goes on may still be empty."""

    run_id: str
    title: str  # where there are several runs
    charts: tuple[ChartView, ...]


@dataclass(frozen=True)
class RunningView:
    """What the page shows of how the runs go.

    `last` is where the live stream goes on, `hidden` says what is not told.
    """

    runs: tuple[RunCharts, ...]
    last: int
    live: bool
    hidden: str

    @property
    def shown(self) -> bool:
        """Whether there is, or may soon be, a chart."""
        return any(run.charts for run in self.runs)


_HIDDEN = {
    LogPolicy.META_TRAIN: (
        "Shown up to the end of meta-training: what code uses of the machine "
        "afterwards could reveal hidden images."
    ),
    LogPolicy.NOTHING: "",
}


def read_running(session: Session, found: SubmissionAccess, runs: Sequence[Run]) -> RunningView:
    """The charts of all runs, as far as the phase shows the output of code."""
    policy = found.sight.logs
    measures = read_measures(session, [run.id for run in runs], policy=policy)
    live = is_live(runs) and policy != LogPolicy.NOTHING
    shown = tuple(
        RunCharts(
            run.id,
            run_title(run) if len(runs) > 1 else "",
            _charts(run, [one for one in measures if one.run_id == run.id], growing=live and is_live([run])),
        )
        for run in runs
    )
    return RunningView(
        tuple(run for run in shown if run.charts),
        max((one.id for one in measures), default=0),
        live,
        _HIDDEN.get(policy, ""),
    )


def _charts(run: Run, measures: Sequence[RunMeasure], *, growing: bool) -> tuple[ChartView, ...]:
    made = (_chart(run, kind, measures) for kind in KINDS)
    return tuple(
        chart for chart in made if growing or len(chart.data["at"]) > 2
    )  # one or two dots are no curve


def _chart(run: Run, kind: _Kind, measures: Sequence[RunMeasure]) -> ChartView:
    points = _points(kind, measures)
    limit = kind.limit(run)
    data = chart_data(
        [at for at, *_ in points],
        [
            {"label": line.label, "values": [values[place] for _, *values in points], "line": True}
            for place, line in enumerate(kind.lines)
        ],
        x="Time",
        y=kind.y,
        x_kind="seconds",
        y_kind=kind.y_kind,
        limit=limit if limit else None,
    )
    rows = tuple(
        (duration(at), *("" if value is None else kind.cell(value) for value in values))
        for at, *values in thinned(points)
    )
    columns = ("Time", *(line.label for line in kind.lines))
    note = join_texts((kind.note, _limit_words(kind, limit) if limit else ""))
    epoch = max((one.epoch for one in measures), default=None)
    return ChartView(kind.title, data, columns, rows, note, f"{kind.key}.{run.id}", epoch)


def _limit_words(kind: _Kind, limit: float) -> str:
    what = count(limit, "core") if kind.key == "cpu" else size(round(limit))
    return f"The line across is the limit: {what}."


def _points(kind: _Kind, measures: Sequence[RunMeasure]) -> list[tuple[Any, ...]]:
    """Time and the value of each line; None where a line has none at this time."""
    found = []
    for one in measures:
        values = [line.value(one) if line.series == one.series else None for line in kind.lines]
        if any(value is not None for value in values):
            found.append((round(one.seconds, 1), *values))
    return sorted(found, key=lambda point: point[0])


def stream_measures(
    session: Session, found: SubmissionAccess, runs: Sequence[Run], after: int
) -> tuple[dict[str, Any], int]:
    """New points by the key of their chart and the epoch of each run; the id of the last measure, also as `last`."""
    measures = read_measures(session, [run.id for run in runs], policy=found.sight.logs, after=after)
    points: dict[str, list[tuple[Any, ...]]] = {}
    for run in runs:
        own = [one for one in measures if one.run_id == run.id]
        for kind in KINDS:
            if new := _points(kind, own):
                points[f"{kind.key}.{run.id}"] = new
    epochs = {one.run_id: one.epoch for one in measures}
    last = max((one.id for one in measures), default=after)
    return {"points": points, "epochs": epochs, "last": last}, last
