"""What one can take home from the submission page: the log, the results of each task, the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.competitions.states import Role
from anyshot_platform.errors import NotFound
from anyshot_platform.events.service import read_events
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.scores.tables import (
    DatasetNames,
    dataset_names,
    find_results,
    hide_names,
    hide_summary,
    read_table,
)
from anyshot_platform.submissions.downloads import find_artifact, open_stored
from anyshot_platform.submissions.rows import submission_title
from anyshot_platform.submissions.show import find_version, read_runs
from anyshot_platform.submissions.views import log_policy_for
from anyshot_platform.web.access import SubmissionAccess, submission_reader
from anyshot_platform.web.services import Services, ServicesDep, SessionDep
from anyshot_scoring.summary import RunSummary
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.report import report_html

router = APIRouter(prefix="/submissions/{submission_id}", include_in_schema=False)
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
_BATCH = 5000


@router.get("/log.txt")
def download_log(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """All lines that the viewer may see."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    policy = log_policy_for(found)
    run_ids = [run.id for run in runs]

    def lines() -> Iterator[str]:
        after = 0
        while True:
            with services.database.reading() as reading:
                events = read_events(reading, run_ids, policy=policy, after=after, limit=_BATCH)
            yield "".join(
                f"{event.at:%Y-%m-%d %H:%M:%S} {event.stage.value} {event.stream}: {event.text}\n"
                for event in events
            )
            if len(events) < _BATCH:
                return
            after = events[-1].id

    return StreamingResponse(
        lines(), media_type="text/plain; charset=utf-8", headers=_attach(found, "log.txt")
    )


@router.get("/logger.zip")
def download_logger(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """The tables that the participant's own logger wrote, of the first run."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    if not runs:
        raise NotFound("There is no such file.")
    file = open_stored(services, find_artifact(session, found, runs[0].id, "logger.zip").digest)
    chunks = iter(lambda: file.read(1 << 20), b"")
    return StreamingResponse(chunks, media_type="application/zip", headers=_attach(found, "logger.zip"))


@router.get("/tasks.csv")
def download_tasks(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """One line a run and task; dataset names as the phase shows them, and nothing that tells hidden classes."""
    sheet = io.StringIO()
    writer = csv.writer(sheet, lineterminator="\n")
    header_written = False
    for number, (_, table) in enumerate(_results(session, services, found), 1):
        columns = table.columns()
        if not header_written:
            writer.writerow(["run", *columns])
            header_written = True
        for row in zip(*(values.tolist() for values in columns.values()), strict=True):
            writer.writerow([number, *row])
    return PlainTextResponse(
        sheet.getvalue(), media_type="text/csv; charset=utf-8", headers=_attach(found, "tasks.csv")
    )


@router.get("/report.html")
def download_report(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """The same report as a dry run's, of the run that counts, as one file."""
    names = _names(session, found)
    best: tuple[float, str] | None = None
    for run, table in _results(session, services, found):
        score = session.get_one(RunScore, run.id)
        distance = abs(score.value - (found.submission.score or 0.0))
        if best is None or distance < best[0]:
            summary = hide_summary(RunSummary.from_dict(score.summary), names)
            facts = {"title": submission_title(found.submission), "phase": found.submission.phase.name}
            best = (distance, report_html(summary, table, facts))
    if best is None:
        raise NotFound("There are no results.")
    return HTMLResponse(best[1], headers=_attach(found, "report.html"))


def _names(session: Session, found: SubmissionAccess) -> DatasetNames:
    submission = found.submission
    version = find_version(session, submission)
    sees_all = found.access.may(Role.REVIEWER)
    if version is None or submission.score is None or not (submission.phase.scores_visible or sees_all):
        raise NotFound("There are no results to see.")
    return dataset_names(session, submission.phase, version, sees_all=sees_all)


def _results(
    session: Session, services: Services, found: SubmissionAccess
) -> Iterator[tuple[Run, TaskTable]]:
    """The finished runs that count, with their tables."""
    names = _names(session, found)
    for run in read_runs(session, found.submission, find_version(session, found.submission)):
        if run.state != RunState.FINISHED:
            continue
        table = read_table(services.storage, find_results(session, run))
        if table is None:
            raise NotFound("The results of each task are no longer kept.")
        yield run, hide_names(table, names)


def _attach(found: SubmissionAccess, name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="submission-{found.submission.number}-{name}"'}
