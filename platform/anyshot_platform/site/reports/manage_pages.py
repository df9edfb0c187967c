"""The organizers' pages of reports: what can be asked for and what ran, the form of each, and one report."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.wire.reports import REPORTS, ReportDescription, Subject
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, list_phases, status_of
from anyshot_platform.contest.phases.states import PhaseKind, PhaseStatus
from anyshot_platform.foundation.errors import NotFound, PlatformError
from anyshot_platform.foundation.isolated_parsing.service import TooCostly, run_confined
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import as_file
from anyshot_platform.judging.reports.actions import service
from anyshot_platform.judging.reports.actions.acts import ACTS
from anyshot_platform.judging.reports.actions.catalogue import find_kind
from anyshot_platform.judging.reports.actions.sources import Need, find_needs
from anyshot_platform.judging.reports.actions.submissions import list_choices
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.reports.records import FILES
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.workers.places import find_place
from anyshot_platform.site.leaderboards.api import find_league
from anyshot_platform.site.shell.act_frame import perform_named
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage/reports", include_in_schema=False)
Word = Annotated[str, Query(max_length=64)]
_LARGEST_PAGE = 16 << 20  # bytes
_SHOWN = 5  # of the reports that ran; the others are folded


@router.get("")
def show_reports(
    request: Request, access: AsReviewer, session: SessionDep, phase: Word = "", league: Word = ""
) -> Response:
    """The reports that can be asked for, whether what they need is there, and those that ran."""
    about = _choose(session, access, phase, league)
    rows = [_row(session, report) for report in service.list_reports(session, access.competition)]
    return render_manage(
        request,
        session,
        access,
        "reports.html",
        "reports",
        heading="Reports",
        acts=ACTS,
        newest=rows[:_SHOWN],
        older=rows[_SHOWN:],
        deleted=[
            _row(session, report)
            for report in service.list_reports(session, access.competition, deleted=True)
        ],
        kinds=list(REPORTS.values()),
        about=about,
        query=urlencode({"phase": about.phase.slug, "league": about.league_slug}) if about.phase else "",
    )


@router.get("/new/{analysis}")
def show_form(
    request: Request,
    access: AsOrganizer,
    session: SessionDep,
    analysis: str,
    phase: Word = "",
    league: Word = "",
) -> Response:
    """The form that asks for one report."""
    kind = find_kind(analysis)
    about = _choose(session, access, phase, league)
    return render_manage(
        request,
        session,
        access,
        "report_form.html",
        "reports",
        heading=kind.title,
        kind=kind,
        about=about,
        choices=[(row.name, list_choices(session, row)) for row in about.phases]
        if kind.subject == Subject.SUBMISSIONS
        else [],
    )


@dataclass(frozen=True)
class _About:
    """What reports can be about, what of it is chosen, and what each report finds there, by its name."""

    phases: list[Phase]
    leagues: list[League]
    phase: Phase | None
    league: League | None
    needs: dict[str, Need]

    @property
    def league_slug(self) -> str:
        return self.league.slug if self.league else ""

    @property
    def options(self) -> dict[str, list[tuple[str, str]]]:
        """The phases and leagues for a form."""
        return {
            "phase": [(row.slug, row.name) for row in self.phases],
            "league": [(row.slug, row.name) for row in self.leagues],
        }


def _choose(session: Session, access: CompetitionAccess, phase: str, league: str) -> _About:
    phases = [row for row in list_phases(session, access.competition) if row.kind != PhaseKind.PUBLIC]
    begun = [row for row in phases if status_of(row) != PhaseStatus.UPCOMING]
    chosen = next((row for row in phases if row.slug == phase), (begun or phases or [None])[-1])
    leagues = list_leagues(session, access.competition)
    board = next((row for row in leagues if row.slug == league), leagues[0] if leagues else None)
    needs = find_needs(session, chosen, board) if chosen else {}
    return _About(phases, leagues, chosen, board, needs)


@router.post("")
def request_report(access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Ask for a report; one that was made from the same inputs is shown again."""
    back = manage_path(access, "/reports")
    try:
        kind = find_kind(form.text("analysis"))
        back += f"/new/{kind.name}?" + urlencode({name: form.text(name) for name in ("phase", "league")})
        submissions = [own for own in (form.text("submission"), form.text("other")) if own]
        phase = _phase_of(session, access, kind, form.text("phase"), submissions)
        league = (
            find_league(session, access.competition, form.text("league") or None)
            if list_leagues(session, access.competition)
            else None
        )
        settings = {setting.name: form.decimal(setting.name) for setting in kind.asked()}
        report, queued = service.request_report(
            session,
            access.competition,
            phase,
            kind,
            access.viewer.id,
            league=league,
            submissions=submissions,
            settings=settings,
        )
        session.flush()
    except PlatformError as error:
        if error.status not in (404, 409, 422):
            raise
        session.rollback()
        return redirect(back, flash=error.message, tone="bad")
    words = "A worker computes it now." if queued else "Nothing has changed since this report was created."
    return redirect(manage_path(access, f"/reports/{report.id}"), flash=words)


def _phase_of(
    session: Session, access: AsOrganizer, kind: type[ReportDescription], slug: str, submissions: list[str]
) -> Phase:
    """The phase that was chosen; of a report on submissions, that of the first one."""
    first = session.get(Submission, submissions[0]) if submissions else None
    if (
        kind.subject == Subject.SUBMISSIONS
        and first is not None
        and first.competition_id == access.competition.id
    ):
        return first.phase
    return find_phase(session, access.competition, slug)


@router.get("/{report_id}")
def show_report(
    request: Request, access: AsReviewer, session: SessionDep, services: ServicesDep, report_id: str
) -> Response:
    """A report, or how far its computation is."""
    report = service.find_report(session, access.competition, report_id)
    return render_manage(
        request,
        session,
        access,
        "report.html",
        "reports",
        heading=find_kind(report.analysis).title,
        row=_row(session, report),
        place=find_place(session, report.run),
        ended=report.run.state in ENDED,
        acts=ACTS,
        section_html=_section(session, services, report),
    )


def _row(session: Session, report: Report) -> dict[str, object]:
    league = session.get(League, report.league_id) if report.league_id else None
    subjects = report.results.subjects if report.results else ()
    kind = find_kind(report.analysis)
    return {"report": report, "kind": kind, "league": league, "run": report.run, "subjects": subjects}


def _section(session: Session, services: Services, report: Report) -> Markup | None:
    """The report's own sections, made inert; None while there are none."""
    if report.run.state != RunState.FINISHED:
        return None
    file = service.find_file(session, report, "page.html")
    if file.size > _LARGEST_PAGE:
        return Markup("<p>This report is too large to be shown here.</p>")
    try:
        with as_file(services.storage, file.digest) as path:
            return Markup(run_confined("report", path=str(path))["section"])
    except FileNotFoundError as error:
        raise NotFound("This file is no longer kept.") from error
    except TooCostly as problem:
        return Markup("<p>{}</p>").format(problem.message)


@router.get("/{report_id}/files/{name}")
def download_file(
    access: AsReviewer, session: SessionDep, services: ServicesDep, report_id: str, name: str
) -> Response:
    """The page as one file, the numbers, the rows."""
    report = service.find_report(session, access.competition, report_id)
    if name not in FILES:
        raise NotFound("There is no such file.")
    file = service.find_file(session, report, name)
    target = f"{access.competition.slug}-{report.phase.slug}-{report.analysis}-{name}"
    return send_stored(services, file.digest, target, FILES[name])


@router.post("/{report_id}/{act}")
def act_on_report(
    request: Request, access: AsOrganizer, session: SessionDep, report_id: str, act: str, form: FormDep
) -> Response:
    """Cancel, delete, restore."""
    report = service.find_report(session, access.competition, report_id)
    back = manage_path(access, "/reports" if act == "delete" else f"/reports/{report.id}")
    return perform_named(request, session, form, ACTS, act, report, access, back)
