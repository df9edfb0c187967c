"""What a dry run shows while it runs, and what it leaves behind."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import PointScore, score_text
from anyshot_core.report import (
    build_report,
    evaluations_section,
    render_page,
    report_text,
)
from anyshot_core.report.task_gallery import tasks_page
from anyshot_core.results import Identity, write_predictions, write_results
from anyshot_core.taskserver.job import Hooks, JobOutcome, LogLine, ServerProgress
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.worker_api import Stage
from anyshot_starting_kit.cli.dry_run_files import (
    EVALUATIONS,
    PREDICTIONS,
    REPORT,
    REPORT_TEXT,
    RESULTS,
    TASKS,
    further_name,
)
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, PointRun

_STAGES = {
    Stage.PREPARING: "starting",
    Stage.META_TRAINING: "meta-training",
    Stage.META_TESTING: "meta-testing",
    Stage.SCORING: "scoring",
}


class ProgressView:
    """A bar over the log of the submission; Ctrl-C cancels the run in order.

    `on_begin` is called once, when nothing can be refused any more and nothing of the run is written yet.
    """

    def __init__(self, console: Console, plan: DryRunPlan, on_begin: Callable[[], None]) -> None:
        self._console, self._plan = console, plan
        self._on_begin, self._begun = on_begin, False
        self._cancelled = threading.Event()
        self._lines: list[str] = []
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed}/{task.total} tasks, {task.fields[used]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._bar = self._progress.add_task("starting", total=plan.tasks, used="")
        self.hooks = Hooks(
            on_progress=self._show_progress, on_log=self._show_line, cancelled=self._cancelled.is_set
        )

    def begin(self) -> None:
        """The run has begun; it says so by its progress, unless it fails before."""
        if not self._begun:
            self._begun = True
            self._on_begin()

    def _show_progress(self, progress: ServerProgress) -> None:
        self.begin()
        budget = self._plan.budget.run_seconds
        used = f"{progress.seconds_used:.1f} of {budget:g} s used"
        stage = _STAGES[progress.stage]
        self._progress.update(self._bar, description=stage, completed=progress.tasks_done, used=used)

    def _show_line(self, line: LogLine) -> None:
        style = "red" if line.stream == "stderr" else "dim"
        self._progress.console.print(f"[{style}]{escape(line.text)}[/{style}]", soft_wrap=True)

    def _cancel(self, _number: int, _frame: FrameType | None) -> None:
        self._cancelled.set()

    def __enter__(self) -> ProgressView:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._cancel)
        self._progress.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._progress.stop()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._before)


def save(
    result: DryRun,
    plan: DryRunPlan,
    name: str,
    output: Path,
    console: Console,
    further: Sequence[PointRun] = (),
    exported: tuple[Sequence[Path], Sequence[str]] = ((), ()),
) -> dict[str, Any]:
    """Write report, results and logger tables to `output`, print the outcome, and return it as plain data."""
    outcome = result.outcome
    output.mkdir(parents=True, exist_ok=True)
    for table, content in outcome.logger_tables.items():
        (output / table).write_bytes(content)
    data = describe_outcome(outcome, plan)
    if outcome.failure is not None:
        _print_failure(outcome, console)
        return data
    assert result.table is not None and result.summary is not None and result.predictions is not None
    identity, meta = plan.identify(Path(name).stem, outcome), _facts(outcome, plan, name)
    write_results(output / RESULTS, result.table, identity)
    write_predictions(output / PREDICTIONS, result.predictions, identity)
    report = build_report(result.summary, result.table, meta)
    scores = _save_further(further, identity, output)
    page = render_page(report, evaluations_section({"Score": scores}))
    (output / REPORT).write_text(page, encoding="utf-8")
    text = report_text(result.summary, result.table, meta)
    (output / REPORT_TEXT).write_text(text, encoding="utf-8")
    console.print(escape(text), soft_wrap=True)
    if scores:
        console.print(escape(f"Further evaluations\n{score_text(scores)}\n"), soft_wrap=True)
    files, notes = exported
    for line in (*(f"Exported: {path}" for path in files), *notes):
        console.print(escape(line), soft_wrap=True)
    console.print(escape(_times(outcome)), soft_wrap=True)
    if plan.max_items is not None:
        console.print("It runs. The score means nothing yet: meta-training was cut short (--quick).")
    console.print(f"Report: {output / REPORT}")
    pool = Pool.open(plan.data.test, verify=False)
    tasks = PoolTasks(pool, plan.tasks_protocol, plan.test_seed, 0, plan.tasks)
    pictures = tasks_page(pool, tasks.spec, result.predictions, f"Tasks of the dry run of {name}")
    if pictures:
        (output / TASKS).write_text(pictures, encoding="utf-8")
        console.print(f"Its first tasks, with images and predictions: {output / TASKS}")
    found: dict[str, Any] = {"evaluations": [score.to_dict() for score in scores]} if scores else {}
    if files or notes:
        found |= {"exports": [str(path) for path in files], "notes": list(notes)}
    return data | {"summary": result.summary.to_dict(), "report": str(output / REPORT)} | found


def _save_further(further: Sequence[PointRun], identity: Identity, output: Path) -> list[PointScore]:
    """The results of each point as files of its own, and the scores of all of them."""
    for tested in further:
        if tested.run.table is None or tested.run.predictions is None:
            continue
        own = identity.model_copy(
            update={
                "evaluation": tested.name,
                "tasks": len(tested.run.table),
                "protocol": tested.point.protocol.to_dict(),
                "test_pool": tested.pool,
            }
        )
        write_results(output / further_name(RESULTS, tested.name), tested.run.table, own)
        write_predictions(output / further_name(PREDICTIONS, tested.name), tested.run.predictions, own)
    scores = [tested.score for tested in further]
    if scores:
        text = json.dumps([score.to_dict() for score in scores], indent=1)
        (output / EVALUATIONS).write_text(text + "\n", encoding="utf-8")
    return scores


def describe_outcome(outcome: JobOutcome, plan: DryRunPlan) -> dict[str, Any]:
    """Verdict, failure and times as plain data."""
    failure = outcome.failure
    return {
        "verdict": str(outcome.verdict),
        "message": "" if failure is None else failure.message,
        "detail": "" if failure is None else failure.detail,
        "private": "" if failure is None else failure.private,
        "task": None if failure is None else failure.task_index,
        "ways": None if failure is None else failure.ways,
        "shots": None if failure is None else failure.shots,
        "tasks": len(outcome.results),
        "participant_seconds": outcome.time.participant,
        "platform_seconds": outcome.time.platform,
        "budget_seconds": plan.budget.run_seconds,
        "train_seed": plan.train_seed,
        "test_seed": plan.test_seed,
        "runner": outcome.runner,
    }


def _facts(outcome: JobOutcome, plan: DryRunPlan, name: str) -> dict[str, Any]:
    time = outcome.time.participant
    return {
        "title": f"Dry run of {name}",
        "data": "generated (synthetic)" if plan.data.generated else "public datasets",
        "tasks": plan.tasks,
        "training_seed": plan.train_seed,
        "test_seed": plan.test_seed,
        "meta_training_seconds": round(time.get("import", 0.0) + time.get("meta_fit", 0.0), 2),
        "meta_testing_seconds": round(sum(time.get(step, 0.0) for step in ("load", "fit", "predict")), 2),
        "budget_seconds": plan.budget.run_seconds,
        "meta_training_cut_short": "yes" if plan.max_items is not None else "no",
        **{f"{key}_version": value for key, value in outcome.runner.items() if key != "version"},
    }


def _print_failure(outcome: JobOutcome, console: Console) -> None:
    failure = outcome.failure
    assert failure is not None
    console.print(f"\n[bold red]{failure.verdict}[/bold red]  {escape(failure.message)}", soft_wrap=True)
    if failure.task_index is not None:
        shape = f"{failure.ways}-way" + (f" {failure.shots}-shot" if failure.shots else "")
        number = failure.task_index + 1  # as the platform's page and `anyshot status` count
        console.print(f"At task number {number}: {shape}.")
    for text in (failure.detail, failure.private):
        if text:
            console.print(escape(text), soft_wrap=True)


def _times(outcome: JobOutcome) -> str:
    def words(seconds: dict[str, float]) -> str:
        return ", ".join(f"{step} {value:.2f} s" for step, value in seconds.items())

    return f"Your time: {words(outcome.time.participant)}\nOurs:      {words(outcome.time.platform)}"
