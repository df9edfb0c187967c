"""What one can take home from the submission page: the log, the results of each task, the report, everything."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.responses import Response

from anyshot_platform.foundation.tables import MEDIA, Form
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions import archive
from anyshot_platform.site.submissions.downloads import (
    attached,
    note_reading,
    send_everything,
)
from anyshot_platform.site.submissions.show import find_version, read_runs
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/submissions/{submission_id}", include_in_schema=False)
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]


@router.get("/log.txt")
def download_log(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """All lines that the viewer may see."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    lines = archive.log_text(services, found, [run.id for run in runs])
    return StreamingResponse(
        lines, media_type="text/plain; charset=utf-8", headers=attached(found, "log.txt")
    )


@router.get("/tasks.csv")
def download_tasks(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """One line a run and task."""
    sheet = archive.tasks_csv(session, services, found)
    return PlainTextResponse(sheet, media_type=MEDIA[Form.CSV], headers=attached(found, "tasks.csv"))


@router.get("/figures.csv")
def download_figures(found: Reader, session: SessionDep) -> Response:
    """One line a run and dataset, number of ways, number of shots."""
    sheet = archive.figures_csv(session, found)
    return PlainTextResponse(sheet, media_type=MEDIA[Form.CSV], headers=attached(found, "figures.csv"))


@router.get("/receipts.json")
def download_receipts(found: Reader, session: SessionDep) -> Response:
    """The signed receipts of the runs that count."""
    signed = archive.receipts_json(session, found)
    return Response(signed, media_type=MEDIA[Form.JSON], headers=attached(found, "receipts.json"))


@router.get("/report.html")
def download_report(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """The same report as a dry run's, as one file."""
    page = archive.report_page(session, services, found)
    return HTMLResponse(page, headers=attached(found, "report.html"))


@router.get("/everything.zip")
def download_everything(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """Code, log, results, provenance and all other files, in one zip."""
    note_reading(services, found, "everything")
    return send_everything(found, *archive.write_everything(session, services, found))
