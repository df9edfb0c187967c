"""Organizers' reports over JSON: ask for one, read, download, delete."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.wire.reports import REPORTS, ReportParameters, ReportSummary
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.actions.checks import open_protocol
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.judging.reports.actions import service
from anyshot_platform.judging.reports.actions.acts import ACTS
from anyshot_platform.judging.reports.actions.catalogue import find_kind
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.reports.records import FILES
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.leaderboards.api import find_league
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.files import HARMLESS, send_stored
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/reports", tags=["organizing: reports"])
ReportParam = Annotated[str, Path(max_length=32)]
Word = Annotated[str, Query(max_length=64)]


class ReportIn(BaseModel):
    """What to compute; settings that are left out have their defaults."""

    model_config = ConfigDict(extra="forbid")

    analysis: str = Field(max_length=32, description=f"one of {', '.join(REPORTS)}")
    phase: str = Field(max_length=64)
    league: str | None = Field(default=None, max_length=64, description="of a board; the first if left out")
    submissions: list[Annotated[str, Field(max_length=32)]] = Field(
        default=[], max_length=5, description="ids, for a report on submissions"
    )
    settings: dict[str, float] = Field(default={}, max_length=20)


class ReportOut(BaseModel):
    """A report and how far it is."""

    id: str
    analysis: str
    phase: str
    league: str | None
    submissions: list[str] = Field(description="shown names of those that it is about")
    state: RunState
    message: str
    progress: str
    digest: str = Field(description="of everything that it follows from")
    created_at: datetime
    finished_at: datetime | None
    deleted_at: datetime | None


class ReportDetail(ReportOut):
    """A report with its numbers, once there are any."""

    parameters: dict[str, JsonValue]
    result: ReportSummary | None


@router.get("")
def list_reports(access: AsReviewer, session: SessionDep, phase: Word = "") -> list[ReportOut]:
    """The newest reports, of one phase or of all."""
    found = find_phase(session, access.competition, phase) if phase else None
    return [_show(session, report) for report in service.list_reports(session, access.competition, found)]


@router.post("", status_code=202)
def request_report(access: AsOrganizer, session: SessionDep, body: ReportIn) -> ReportDetail:
    """Ask a worker for a report; one of the same inputs that is there already is given at once."""
    kind = find_kind(body.analysis)
    phase = find_phase(session, access.competition, body.phase)
    leagues = list_leagues(session, access.competition)
    league = find_league(session, access.competition, body.league) if leagues else None
    report, _ = service.request_report(
        session,
        access.competition,
        phase,
        kind,
        access.viewer.id,
        league=league,
        submissions=body.submissions,
        settings=body.settings,
    )
    session.flush()
    return _show_detail(session, report)


@router.get("/{report_id}")
def show_report(access: AsReviewer, session: SessionDep, report_id: ReportParam) -> ReportDetail:
    """A report's state, and its figures once it is made."""
    return _show_detail(session, service.find_report(session, access.competition, report_id))


@router.get("/{report_id}/files/{name}", response_class=Response)
def download_file(
    access: AsReviewer,
    session: SessionDep,
    services: ServicesDep,
    report_id: ReportParam,
    name: Annotated[str, Path(max_length=64, description=", ".join(FILES))],
) -> Response:
    """The page, the numbers, the rows or the log of a finished report."""
    report = service.find_report(session, access.competition, report_id)
    file = service.find_file(session, report, name)
    harmless = {"content-security-policy": HARMLESS}
    return send_stored(services, file.digest, None, FILES[name], harmless)


def _find(session: Session, competition: Competition, report_id: ReportParam) -> Report:
    return service.find_report(session, competition, report_id)


def _after(session: Session, access: CompetitionAccess, report: Report, outcome: ActOutcome) -> ReportOut:
    return _show(session, report)


add_acts(router, ACTS, _find, _after, at="/{report_id}")


def _show(session: Session, report: Report) -> ReportOut:
    league = session.get(League, report.league_id) if report.league_id else None
    return ReportOut(
        id=report.id,
        analysis=report.analysis,
        phase=report.phase.slug,
        league=league.slug if league else None,
        submissions=list(report.results.subjects) if report.results else [],
        state=report.run.state,
        message=report.run.message,
        progress=report.run.progress_message,
        digest=report.digest,
        created_at=report.created_at,
        finished_at=report.run.finished_at,
        deleted_at=report.deleted_at,
    )


def _show_detail(session: Session, report: Report) -> ReportDetail:
    return ReportDetail(
        **_show(session, report).model_dump(),
        parameters=_open(report.parameters),
        result=report.answer,
    )


def _open(parameters: ReportParameters) -> dict[str, JsonValue]:
    """Parameters without the secret split of a protocol."""
    shown = parameters.model_dump(mode="json", exclude={"analysis"})
    protocol = shown.get("protocol")
    if isinstance(protocol, dict):
        shown["protocol"] = open_protocol(protocol)
    return shown
