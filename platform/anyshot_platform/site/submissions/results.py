"""The results part of the submission page: figures first, tables behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.charts import draw_bars, draw_curves, draw_distributions
from anyshot_platform.kernel.filters import duration, interval, score, size
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.runs.models import Run
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.scores.tables import find_results, read_table
from anyshot_platform.sight.names import hide_names, hide_summary, name_datasets, natural
from anyshot_platform.sight.submissions import Sight
from anyshot_platform.site.submissions.timing import TimingStep, overhead_words, time_steps
from anyshot_platform.site.submissions.training import LOGGER, find_logger, training_curves
from anyshot_scoring.pooling import pool_groups
from anyshot_scoring.rules import Rule
from anyshot_scoring.summary import Group, RunSummary
from anyshot_scoring.table import TaskTable

SCORE = "Normalized accuracy"


@dataclass(frozen=True)
class ChartView:
    """A chart with the table behind it."""

    title: str
    svg: Markup
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    note: str = ""
    wide: bool = False


@dataclass(frozen=True)
class StatView:
    """A figure beside the score."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class RunLine:
    """One seeded run."""

    number: int
    score: float
    half_width: float | None
    seconds: float
    counts: bool


@dataclass(frozen=True)
class ResultsView:
    """All of the results part."""

    score: float
    half_width: float | None
    population: str
    explanation: str
    stats: tuple[StatView, ...]
    runs: tuple[RunLine, ...]
    charts: tuple[ChartView, ...]
    steps: tuple[TimingStep, ...]
    longest_step: float
    overhead_words: str


def read_results_view(
    session: Session,
    storage: Storage,
    sight: Sight,
    version: PhaseVersion,
    runs: Sequence[Run],
) -> ResultsView | None:
    """The results under a version, as far as the viewer sees them; None while there is no score."""
    submission, names = sight.submission, name_datasets(session, sight.phase, version)
    total = session.scalars(
        select(SubmissionScore).where(
            SubmissionScore.submission_id == submission.id, SubmissionScore.phase_version_id == version.id
        )
    ).one_or_none()
    by_run = {run.id: run for run in runs}
    scores = session.scalars(
        select(RunScore).where(RunScore.run_id.in_(by_run)).order_by(RunScore.seed_index)
    ).all()
    if not scores:
        return None
    result = version.rule.result([one.summary.as_run() for one in scores])
    counting = scores[result.shown]
    score_words = version.rule.score_words(len(scores))
    summary = hide_summary(counting.summary, names)
    digest = find_results(session, by_run[counting.run_id]) if sight.phase.tasks else None
    table = read_table(storage, digest)
    steps = time_steps(runs)
    return ResultsView(
        score=total.value if total is not None else result.score,
        half_width=result.half_width,
        population=f"over {summary.tasks:,} tasks" + (f"; {score_words}" if score_words else ""),
        explanation=_explain(version.rule, len(scores)),
        stats=_stats(summary, runs),
        runs=tuple(
            RunLine(
                place + 1,
                one.value,
                one.half_width,
                by_run[one.run_id].seconds_used,
                result.counting[place],
            )
            for place, one in enumerate(scores)
        ),
        charts=(
            *_charts(counting.run_id, summary, hide_names(table, names) if table else None, names.hidden),
            *_training(session, storage, sight, by_run[counting.run_id]),
        ),
        steps=steps,
        longest_step=max((step.seconds for step in steps), default=0.0),
        overhead_words=overhead_words(runs),
    )


def _explain(rule: Rule, runs: int) -> str:
    words = (
        "0 is chance and 1 is perfect, whatever the number of ways. The interval is the 95 % t-interval over tasks: "
        "what another draw of tasks from these datasets would change, not other datasets or seeds."
    )
    chosen = " The charts show the run whose score is nearest to that." if runs > 1 else ""
    return f"{rule.words(runs)}{chosen} {words}"


def _stats(summary: RunSummary, runs: Sequence[Run]) -> tuple[StatView, ...]:
    stats = []
    for group in summary.metrics:
        if str(group.key) == "accuracy":
            stats.append(StatView("Accuracy", f"{100 * group.mean:.1f} %", "mean over tasks"))
    used = sum(run.seconds_used for run in runs)
    stats.append(
        StatView(
            "Time used",
            str(duration(used)),
            "your code's own, all runs" if len(runs) > 1 else "your code's own",
        )
    )
    per_task = (summary.fit_seconds + summary.predict_seconds) / max(summary.tasks, 1)
    stats.append(StatView("Time per task", str(duration(per_task)), "fit and predict, on average"))
    return (*stats, *_memory(runs))


def _memory(runs: Sequence[Run]) -> tuple[StatView, ...]:
    peak = max((run.used.memory_peak_bytes for run in runs), default=0)
    training = max((run.used.meta_train_memory_peak_bytes for run in runs), default=0)
    if not peak:
        return ()
    note = f"up to {size(training)} in meta-training" if training else "over the whole run"
    return (StatView("Peak memory", str(size(peak)), note),)


def _charts(run_id: str, summary: RunSummary, table: TaskTable | None, hidden: bool) -> tuple[ChartView, ...]:
    made = [_bars("By dataset", "Dataset", summary.by_dataset)]
    if len(summary.by_domain) > 1:
        made.append(_bars("By domain", "Domain", summary.by_domain))
    made.append(_curve("By number of ways", "ways", summary.by_ways))
    made.append(_curve("By number of shots", "shots", summary.by_shots))
    distribution = _distribution(run_id, hidden, _Unhashed(table)) if table is not None else None
    if distribution is not None:
        made.append(
            ChartView(
                "Distribution over tasks",
                distribution,
                note="One row per dataset; few tasks are shown as a dot each.",
            )
        )
    return tuple(made)


def _training(session: Session, storage: Storage, sight: Sight, run: Run) -> tuple[ChartView, ...]:
    """What the participant's own logger saw, where the phase shows the output of meta-training."""
    digest = find_logger(session, run) if sight.may_have(LOGGER) else None
    if digest is None:
        return ()
    return tuple(
        ChartView(
            title,
            svg,
            (axis.capitalize(), "Score", "95 %", "Rows"),
            rows,
            "Each point averages neighbouring rows of your logger's table.",
        )
        for title, svg, rows, axis in training_curves(storage, digest)
    )


def _bars(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    return ChartView(title, _draw_bars(title, tuple(groups)), (key, SCORE, "95 %", "Tasks"), _rows(groups))


def _curve(title: str, key: str, groups: Sequence[Group]) -> ChartView:
    columns = (key.capitalize(), SCORE, "95 %", "Tasks")
    pooled = pool_groups(groups)
    note = (
        "Points of fewer than 5 tasks are joined with their neighbours." if len(pooled) < len(groups) else ""
    )
    return ChartView(title, _draw_curve(title, key, pooled), columns, _rows(groups), note)


def _rows(groups: Sequence[Group]) -> tuple[tuple[Any, ...], ...]:
    return tuple((group.key, score(group.mean), interval(group.half_width), group.tasks) for group in groups)


@lru_cache(maxsize=512)
def _draw_bars(title: str, groups: tuple[Group, ...]) -> Markup:
    return Markup(draw_bars(groups, title, SCORE).svg)


@lru_cache(maxsize=512)
def _draw_curve(title: str, key: str, groups: tuple[Group, ...]) -> Markup:
    return Markup(draw_curves({"score": groups}, title, key, SCORE).svg)


class _Unhashed:
    """A table that does not take part in a cache's key: the run's id stands for it."""

    def __init__(self, table: TaskTable | None) -> None:
        self.table = table

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)


@lru_cache(maxsize=256)
def _distribution(run_id: str, hidden: bool, hold: _Unhashed) -> Markup | None:
    """Drawn once a run; names differ between those who see them and those who do not."""
    if hold.table is None:
        return None
    table = hold.table
    rows = {name: table.normalized_accuracy[table.dataset == name] for name in _ordered(table)}
    return Markup(draw_distributions(rows, "Distribution over tasks", SCORE).svg)


def _ordered(table: TaskTable) -> list[str]:
    return sorted({str(name) for name in table.dataset}, key=natural)
