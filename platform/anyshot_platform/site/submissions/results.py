"""The results part of the submission page: figures first, tables behind them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.exits import LEAST_TASKS
from anyshot_core.wire.worker_api import Usage
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.filters import count, duration, join_texts, percent, size
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore, SubmissionScore
from anyshot_platform.judging.scores.tables import find_results, read_table
from anyshot_platform.judging.visibility.names import hide_names, name_datasets, natural
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.site.shell.chart_data import ChartView, of_groups, of_tasks, over_numbers
from anyshot_platform.site.submissions.timing import TimingStep, overhead_words, time_steps
from anyshot_platform.site.submissions.training import LOGGER, find_logger, training_curves
from anyshot_platform.site.submissions.words import peak_words
from anyshot_scoring.rules import Rule
from anyshot_scoring.summary import RunSummary
from anyshot_scoring.table import TaskTable


@dataclass(frozen=True)
class StatView:
    """A figure beside the score."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class RunLine:
    """What the page says of one seeded run."""

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
    summary = counting.summary
    digest = find_results(session, by_run[counting.run_id]) if sight.phase.tasks else None
    table = read_table(storage, digest)
    steps = time_steps(runs)
    return ResultsView(
        score=total.value if total is not None else result.score,
        half_width=result.half_width,
        population=join_texts(
            (
                f"over {count(summary.tasks, 'task')}",
                version.rule.score_words(len(scores)),
            ),
            by="; ",
        ),
        explanation=_explain(version.rule, len(scores), summary, exact=sight.exact),
        stats=_stats(sight, summary, runs),
        runs=tuple(
            RunLine(one.value, one.half_width, by_run[one.run_id].seconds_used, counts)
            for one, counts in zip(scores, result.counting, strict=True)
        ),
        charts=(
            *_charts(sight.summary(summary, names), hide_names(table, names) if table else None),
            *_training(session, storage, sight, by_run[counting.run_id]),
        ),
        steps=steps,
        longest_step=max((step.seconds for step in steps), default=0.0),
        overhead_words=overhead_words(runs),
    )


def _explain(rule: Rule, runs: int, summary: RunSummary, *, exact: bool) -> str:
    scale = "0 is chance and 1 is perfect, whatever the number of ways."
    words = (
        (
            "The interval is the 95 % t-interval over tasks: how much another draw of tasks from these "
            "datasets could change the score. It does not cover other datasets or seeds."
        )
        if summary.half_width is not None
        else "A single task gives no interval for its score."
    )
    chosen = "The charts show the run whose score is nearest to that." if runs > 1 else ""
    answered = _answered(summary)
    failed = (
        (
            "The code failed on at least one dataset, whose tasks count as 0 in the score. The charts "
            f"and the time per task are of the {count(answered, 'task')} that it answered."
        )
        if answered < summary.tasks
        else ""
    )
    withheld = (
        "" if exact else f"Means of fewer than {LEAST_TASKS} tasks are shown when the phase has closed."
    )
    return join_texts((rule.words(runs), chosen, failed, scale, words, withheld))


def _answered(summary: RunSummary) -> int:
    """Of how many tasks the groups are: not of those of a dataset that the code failed on, where others count."""
    return sum(group.tasks for group in summary.by_dataset)


def _stats(sight: Sight, summary: RunSummary, runs: Sequence[Run]) -> tuple[StatView, ...]:
    stats = []
    for group in summary.metrics:
        if str(group.key) == "accuracy":
            stats.append(StatView("Accuracy", percent(group.mean, 1), "mean over tasks"))
    used = sum(run.seconds_used for run in runs)
    stats.append(
        StatView(
            "Time used",
            duration(used),
            "your code's own, all runs" if len(runs) > 1 else "your code's own",
        )
    )
    per_task = (summary.fit_seconds + summary.predict_seconds) / max(_answered(summary), 1)
    stats.append(StatView("Time per task", duration(per_task), "fit and predict, on average"))
    return (*stats, *_memory([used for run in runs if (used := sight.used(run))], exact=sight.exact))


def _memory(used: Sequence[Usage], *, exact: bool) -> tuple[StatView, ...]:
    peak = max((one.memory_peak_bytes for one in used), default=0)
    training = max((one.meta_train_memory_peak_bytes for one in used), default=0)
    if not peak:
        return ()
    note = f"up to {size(training)} in meta-training" if training else "over the whole run"
    return (StatView("Peak memory", peak_words(peak, exact=exact), note),)


def _charts(summary: RunSummary, table: TaskTable | None) -> tuple[ChartView, ...]:
    made = [of_groups("By dataset", "Dataset", summary.by_dataset)]
    if len(summary.by_domain) > 1:
        made.append(of_groups("By domain", "Domain", summary.by_domain))
    made.append(over_numbers("By number of ways", "Ways", summary.by_ways))
    made.append(over_numbers("By number of shots", "Shots", summary.by_shots))
    if table is not None:
        rows = {name: table.normalized_accuracy[table.dataset == name] for name in _ordered(table)}
        made.append(of_tasks("Distribution over tasks", rows))
    return tuple(made)


def _training(session: Session, storage: Storage, sight: Sight, run: Run) -> tuple[ChartView, ...]:
    """What the participant's own logger saw, by iteration, where the phase shows the output of meta-training."""
    digest = find_logger(session, run) if sight.may_have(LOGGER) else None
    return training_curves(storage, digest) if digest is not None else ()


def _ordered(table: TaskTable) -> list[str]:
    return sorted({str(name) for name in table.dataset}, key=natural)
