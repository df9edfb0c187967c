"""What can be taken home of a submission: log, results of each task, report, and all of it as one zip."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Any, BinaryIO

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import known_half
from anyshot_core.report import TimeCurve, build_report, curves_section, render_page
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.tables import Form, write
from anyshot_platform.judging.receipts.service import find_receipts, join_receipts
from anyshot_platform.judging.run_logs.measures import read_measures
from anyshot_platform.judging.run_logs.service import count_missing_lines, read_events
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.tables import find_results, read_table
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.names import DatasetNames, hide_names, name_datasets
from anyshot_platform.judging.visibility.submissions import TasksNotShown
from anyshot_platform.site.evaluations.view import points_out
from anyshot_platform.site.submissions import views
from anyshot_platform.site.submissions.downloads import kept_files, open_stored
from anyshot_platform.site.submissions.log_view import missing_words, part_key, part_titles
from anyshot_platform.site.submissions.progress import run_title
from anyshot_platform.site.submissions.provenance import provenance_facts, repeat_command
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.submissions.run_charts import read_running
from anyshot_platform.site.submissions.schemas import MeasureOut
from anyshot_platform.site.submissions.show import find_version, read_runs
from anyshot_scoring.table import TaskTable

_BATCH = 5000
_READ_ME = """Everything of one submission.

submission.zip        the code as it was uploaded
submission.json       states, scores, checks and files, as the JSON API tells them
provenance.json       of each run: image and code digests, seeds, hardware, the command that repeats it at home
log.txt               what the code printed, as far as the phase shows it
figures.csv           one line a run and dataset, number of ways, number of shots (once it is scored)
tasks.csv             one line a run and task (where the phase shows single tasks)
report.html           the same report as a dry run's, and how it ran (once it is scored)
receipts.json         of each run what the site signed: anyshot verify receipts.json (once it is scored)
measures.csv          how it trained and what it used of the machine over time, as far as the phase shows it
evaluations.json      its further evaluations (where the phase shows them)
runs/                 the files that each run left, such as its whole log.txt and the tables of the logger
"""


def log_text(services: Services, found: SubmissionAccess, run_ids: list[str]) -> Iterator[str]:
    """All lines that the viewer may see, in pieces; what they may see is settled before the first one is read."""
    return _log_lines(services, run_ids, found.sight.logs)


def _log_lines(services: Services, run_ids: list[str], policy: LogPolicy) -> Iterator[str]:
    after, part = 0, ""
    with services.database.reading() as reading:
        titles = part_titles(reading, reading.scalars(select(Run).where(Run.id.in_(run_ids))).all())
        dropped = sum(count_missing_lines(reading, run_ids).values())
    while True:
        with services.database.reading() as reading:
            events = read_events(reading, run_ids, policy=policy, after=after, limit=_BATCH)
        pieces = []
        for event in events:
            if len(titles) > 1 and part_key(event) != part:
                part = part_key(event)
                pieces.append(f"---- {titles.get(part, 'Another attempt')} ----\n")
            pieces.append(f"{event.at:%Y-%m-%d %H:%M:%S} {event.stage.value} {event.stream}: {event.text}\n")
        yield "".join(pieces)
        if len(events) < _BATCH:
            break
        after = events[-1].id
    if dropped:
        yield f"---- {missing_words(dropped)} ----\n"


def figures_csv(session: Session, found: SubmissionAccess) -> bytes:
    """One line a run and dataset, number of ways and number of shots: mean, half width of the 95 % interval, tasks."""
    return write([asdict(figure) for figure in read_figures(session, found)], _FIGURE, Form.CSV)


@dataclass(frozen=True)
class MeanOfTasks:
    """A run's mean over the tasks of a dataset, a domain, a number of ways or of shots."""

    run: int
    by: str
    key: str | int
    score: float
    half_width: float | None
    tasks: int


_FIGURE = tuple(field.name for field in fields(MeanOfTasks))


def read_figures(session: Session, found: SubmissionAccess) -> list[MeanOfTasks]:
    """The figures of all runs that count, with the names of datasets that the viewer may know."""
    found.sight.require_scored()
    names = _names(session, found)
    return [
        MeanOfTasks(number, by, group.key, group.mean, known_half(group.half_width), group.tasks)
        for number, (_, score) in enumerate(_scores(session, found), 1)
        for by in ("dataset", "domain", "ways", "shots")
        for group in getattr(found.sight.summary(score.summary, names), f"by_{by}")
    ]


def tasks_csv(session: Session, services: Services, found: SubmissionAccess) -> bytes:
    """One line a run and task; dataset names as the phase shows them, and nothing that tells hidden classes."""
    found.sight.require_tasks()
    version = find_version(session, found.submission)
    told = "true" if version is not None and version.same_test_tasks else "false"
    rows: list[dict[str, Any]] = []
    for number, (_, table) in enumerate(_results(session, services, found), 1):
        columns = {name: values.tolist() for name, values in table.columns().items()}
        rows += [
            {"run": number, **dict(zip(columns, row, strict=True)), "same_test_tasks": told}
            for row in zip(*columns.values(), strict=True)
        ]
    return write(rows, tuple(rows[0]) if rows else ("run",), Form.CSV)


def receipts_json(session: Session, found: SubmissionAccess) -> str:
    """The signed receipts of the runs that count, as a JSON list."""
    found.sight.require_scored()
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    return join_receipts(find_receipts(session, [run.id for run in runs]))


def report_page(session: Session, services: Services, found: SubmissionAccess) -> str:
    """The same report as a dry run's, of the run whose score is nearest to the submission's, and how all runs went."""
    sight = found.sight
    sight.require_scored()
    results = list(_results(session, services, found))
    if not results:
        raise NotFound("There are no results.")
    score, table = min(results, key=lambda pair: abs(pair[0].value - (sight.score or 0.0)))
    summary = sight.summary(score.summary, _names(session, found))
    facts = {"title": submission_title(found.submission), "phase": found.submission.phase.name}
    report = build_report(summary, table, facts, single_tasks=sight.phase.tasks)
    return render_page(report, curves_section(_curves(session, services, found)))


def _curves(session: Session, services: Services, found: SubmissionAccess) -> list[TimeCurve]:
    """The charts of the submission's page on how its runs went, in English."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    charts = [
        (f"{run.title}: {chart.title}" if run.title else chart.title, chart)
        for run in read_running(session, found, runs).runs
        for chart in run.charts
        if not chart.empty
    ]
    return [
        TimeCurve(
            str(title), chart.data, tuple(map(str, chart.columns)), _english(chart.rows), str(chart.note)
        )
        for title, chart in charts
    ]


def _english(rows: Sequence[tuple[object, ...]]) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in rows]


def measures_csv(session: Session, found: SubmissionAccess) -> bytes:
    """One line a stretch of time of each run's last attempt, as `GET .../measures` has them."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    measures = read_measures(session, [run.id for run in runs], policy=found.sight.logs)
    rows = [MeasureOut.model_validate(one).model_dump(mode="json") for one in measures]
    return write(rows, tuple(MeasureOut.model_fields), Form.CSV)


def write_everything(session: Session, services: Services, found: SubmissionAccess) -> tuple[BinaryIO, int]:
    """One zip of all that the viewer may have of a submission, in a temporary file at its start, and its size."""
    submission = found.submission
    runs = read_runs(session, submission, find_version(session, submission))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", _READ_ME)
        detail = views.show_answered(session, services.storage, found)
        archive.writestr("submission.json", detail.model_dump_json(indent=1))
        archive.writestr("provenance.json", json.dumps([_provenance(run) for run in runs], indent=1))
        _copy(services, archive, "submission.zip", submission.digest)
        with archive.open("log.txt", "w") as log:
            for piece in log_text(services, found, [run.id for run in runs]):
                log.write(piece.encode())
        archive.writestr("measures.csv", measures_csv(session, found))
        if points := points_out(session, found.sight, find_version(session, submission)):
            rows = [point.model_dump(mode="json") for point in points]
            archive.writestr("evaluations.json", json.dumps(rows, indent=1))
        for name, make in (
            ("figures.csv", lambda: figures_csv(session, found)),
            ("tasks.csv", lambda: tasks_csv(session, services, found)),
            ("report.html", lambda: report_page(session, services, found)),
            ("receipts.json", lambda: receipts_json(session, found)),
        ):
            with suppress(NotFound, TasksNotShown):  # not scored, or the phase does not show it
                archive.writestr(name, make())
        for number, files in enumerate(kept_files(session, found.sight, runs).values(), 1):
            for artifact in files:
                _copy(services, archive, f"runs/{number}/{artifact.name}", artifact.digest)
    size = file.tell()
    file.seek(0)
    return file, size


def _provenance(run: Run) -> dict[str, object]:
    return {
        "run": run_title(run) or "the run",
        "id": run.id,
        "state": run.state.value,
        "verdict": run.verdict.value if run.verdict else None,
        "attempt": run.attempt,
        **{fact.term: str(fact.value) for fact in provenance_facts(run)},
        "repeat": repeat_command(run),
    }


def _copy(services: Services, archive: zipfile.ZipFile, name: str, digest: str) -> None:
    """Put a stored file into the zip, as it is; one that is no longer kept is left out."""
    try:
        source = open_stored(services, digest)
    except NotFound:
        return
    info = zipfile.ZipInfo(name)  # compressed already
    with source, archive.open(info, "w", force_zip64=True) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def _names(session: Session, found: SubmissionAccess) -> DatasetNames:
    version = find_version(session, found.submission)
    if version is None:
        raise NotFound("There are no results to see.")
    return name_datasets(session, found.sight.phase, version)


def _scores(session: Session, found: SubmissionAccess) -> Iterator[tuple[Run, RunScore]]:
    """The runs that count and have a score; a run in parts has it at its first part."""
    for run in read_runs(session, found.submission, find_version(session, found.submission)):
        score = session.get(RunScore, run.id)
        if score is not None:
            yield run, score


def _results(
    session: Session, services: Services, found: SubmissionAccess
) -> Iterator[tuple[RunScore, TaskTable]]:
    """The scores of the runs that count, with their tables."""
    names = _names(session, found)
    for run, score in _scores(session, found):
        table = read_table(services.storage, find_results(session, run))
        if table is None:
            raise NotFound("The results of each task are no longer kept.")
        yield score, hide_names(table, names)
