"""The upload page: choose a zip, see its checks, see the quota, send it."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from anyshot_platform.actions.concurrency import seal, unseal
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Due, Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import (
    deadline_rule,
    end_for,
    find_phase,
    late_rule,
    require_taking,
    takes_late,
)
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, NotFound, PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.actions.handing_in import Door, ZipSource, hand_in, look_in
from anyshot_platform.judging.submissions.actions.resubmitting import find_uses
from anyshot_platform.judging.submissions.actions.submitting import Wishes
from anyshot_platform.judging.submissions.arrivals import Arrival, take_place
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.states import UploadPurpose
from anyshot_platform.judging.submissions.uploads import begin_upload, find_upload, forget_upload, upload_path
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.smoke import smoke_pool
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.entries.view import EntryOut, show_entries
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.submissions.quota_view import quota_view
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.web.access import browser_session, competition_role
from anyshot_platform.site.web.forms import SentForm
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.site.web.tickets import ArrivalDep
from anyshot_platform.standings.baselines.actions.shipped import list_shipped
from anyshot_platform.standings.entries.entering import default_leagues, refusal_of
from anyshot_platform.standings.fact_sheets.models import FactSheet
from anyshot_platform.standings.fact_sheets.service import sheet_of

router = APIRouter(include_in_schema=False)
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
InBrowser = Annotated[Viewer, Depends(browser_session)]
_LEAGUE_HINTS = {
    Admission.ALL: "Open to all: a submission that names no league enters this one.",
    Admission.DECLARED: "Tick if this submission belongs here.",
    Admission.APPROVAL: "The organizers look at it before it appears.",
    Admission.FROM_SCRATCH: "No pretrained weights of any kind. The run is checked for them.",
}


@router.get("/competitions/{slug}/phases/{phase_slug}/submit")
def show_upload(
    request: Request,
    access: Participant,
    session: SessionDep,
    services: ServicesDep,
    arrival: ArrivalDep,
    phase_slug: str,
    again: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """The form; `again` is the digest of a zip that was submitted before."""
    phase = find_phase(session, access.competition, phase_slug)
    door = Door(access.viewer, access.competition.slug, phase.slug, arrival, ZipSource(digest=again))
    return _show_form(request, access, session, services, phase, door)


def _show_form(
    request: Request,
    access: CompetitionAccess,
    session: SessionDep,
    services: Services,
    phase: Phase,
    door: Door,
    *,
    problem: PlatformError | None = None,
    sent: FormData | None = None,
) -> Response:
    competition, source = access.competition, door.source
    user_id, moment = access.viewer.id, door.moment(session, phase, access.team_id)
    known = _known(session, access, source.digest)
    team = _team(session, access)
    quota = quota_view(session, phase, team.id if team else None)
    sheet = sheet_of(session, competition, team).sheet if team else None
    chosen = {str(value) for value in sent.getlist("league")} if sent is not None else None
    return render(
        request,
        "submissions/upload.html",
        status_code=problem.status if problem else 200,
        section="competitions",
        head=read_header(session, access),
        tab="submissions",
        phase={
            "slug": phase.slug,
            "name": phase.name,
            "address": f"{competition.slug}/{phase.slug}",
            "cost_words": "Costs one submission of the quota once it is queued.",
            "ends_at": end_for(phase, access.team_id),
            "time_zone": phase.time_zone,
            "rule": deadline_rule(phase, access.team_id),
        },
        refusal=_refusal(phase, access, moment),
        late=late_rule(phase) if takes_late(phase, moment, access.team_id) else "",
        frozen=access.sight_of(phase).board_note if publication_of(phase).frozen else "",
        problem=problem.message if problem else "",
        checks=problem.details.get("checks", []) if problem else [],
        quota=quota,
        smoke=_smoke(session, phase, quota.left.smoke_day.left if quota else None),
        leagues=_league_choices(session, phase, team, chosen, _standing(session, phase, access)),
        questions=_questions(_asked(competition), sheet, sent),
        answers_seen=str(sent.get("seen", "")) if sent is not None else seal(_handed_in(sheet)),
        values={
            "comment": str(sent.get("comment", "")) if sent is not None else known.comment if known else ""
        },
        known=known,
        known_title=submission_title(known) if known else "",
        waiting=_find_waiting(services, session, user_id, source.upload_id),
        submitted=_is_submitted(session, user_id, source.upload_id),
        upload_api="/api/v1/uploads",
        check_api=f"/api/v1/uploads/{{id}}/check?competition={competition.slug}&phase={phase.slug}&forget=true",
        max_bytes=services.settings.upload_max_bytes,
        chunk_bytes=services.settings.upload_chunk_bytes,
        baselines=[one.name for one in list_shipped()],
    )


def _known(session: SessionDep, access: CompetitionAccess, digest: str) -> Submission | None:
    """The newest submission of the team with this zip."""
    team_id = access.team_id
    return next(iter(find_uses(session, team_id, digest)), None) if team_id and digest else None


def _refusal(phase: Phase, access: CompetitionAccess, moment: datetime) -> str:
    try:
        require_participant(access.membership)
        require_taking(phase, moment, access.team_id)
    except PlatformError as error:
        return error.message
    return ""


def _smoke(session: SessionDep, phase: Phase, left: int | None) -> dict[str, Any] | None:
    if left == 0 or smoke_pool(session, phase) is None:
        return None
    return {"tasks": phase.smoke_tasks, "seconds": phase.smoke_seconds, "left": left}


def _team(session: SessionDep, access: CompetitionAccess) -> Team | None:
    team_id = access.team_id
    return session.get(Team, team_id) if team_id else None


def _league_choices(
    session: SessionDep,
    phase: Phase,
    team: Team | None,
    chosen: set[str] | None,
    standing: dict[str, EntryOut],
) -> list[dict[str, Any]]:
    if chosen is None:
        chosen = {league.slug for league in default_leagues(session, team, phase)} if team else set()
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == phase.competition_id, League.deleted_at.is_(None))
        .order_by(League.position)
    )
    return [
        {
            "slug": league.slug,
            "name": league.name,
            "fixed": False,
            "checked": league.slug in chosen,
            "hint": join_texts((league.description, _league_hint(session, league, team, phase))),
            "now": standing[league.slug].words if league.slug in standing else "",
        }
        for league in leagues
    ]


def _league_hint(session: SessionDep, league: League, team: Team | None, phase: Phase) -> str:
    """Why the team cannot enter the league now, else how it comes in."""
    refusal = refusal_of(session, league, team, phase.id) if team else None
    return refusal.message if refusal else _LEAGUE_HINTS[league.admission]


def _standing(session: SessionDep, phase: Phase, access: CompetitionAccess) -> dict[str, EntryOut]:
    """What the team has in each league now, by league: what a new submission may replace."""
    if access.membership is None or access.team_id is None:
        return {}
    return {
        row.league: row for row in show_entries(session, phase, access.membership, access.sight_of(phase))
    }


def _asked(competition: Competition) -> list[Any]:
    """The questions of the fact sheet, where each upload needs them."""
    return competition.fact_sheet if competition.fact_sheet_from == Due.UPLOAD else []


def _handed_in(sheet: FactSheet | None) -> dict[str, str]:
    """The answers that are handed in: a form that leaves them as they are does not say them again."""
    return _answers(sheet) if sheet is not None and sheet.handed_in_at is not None else {}


def _answers(sheet: FactSheet | None) -> dict[str, str]:
    """What the team's sheet says, with ends of lines as `SentForm` has them."""
    answers = sheet.answers if sheet is not None else {}
    return {key: str(text).replace("\r\n", "\n") for key, text in answers.items()}


def _questions(questions: list[Any], sheet: FactSheet | None, sent: FormData | None) -> list[dict[str, Any]]:
    known = _answers(sheet)
    return [
        {
            "key": str(question["key"]),
            "label": str(question["label"]),
            "required": bool(question.get("required")),
            "value": str(sent.get(f"fact_{question['key']}", ""))
            if sent is not None
            else known.get(str(question["key"]), ""),
        }
        for question in questions
    ]


async def read_sent_form(request: Request) -> FormData:
    """The form with all its fields, those of the fact sheet included."""
    return await request.form()


@router.post("/competitions/{slug}/phases/{phase_slug}/submit")
def send_submission(
    request: Request,
    slug: str,
    phase_slug: str,
    viewer: InBrowser,
    services: ServicesDep,
    arrival: ArrivalDep,
    sent: Annotated[FormData, Depends(read_sent_form)],
    kind: Annotated[str, Form(max_length=16)] = "entry",
) -> Response:
    """Take the zip (uploaded in parts before, with this form, or for an earlier submission), check it and queue it."""
    source = ZipSource()
    try:
        source = read_source(services, viewer.id, sent, arrival)
        target = hand_in(
            services,
            Door(viewer, slug, phase_slug, arrival, source),
            wish=lambda access: _wishes(sent, smoke=kind == "smoke", questions=_asked(access.competition)),
            show=lambda _, submission, __: f"/submissions/{submission.id}",
        )
    except PlatformError as error:
        if "checks" in error.details and source.upload_id:
            forget_upload(services, source.upload_id)
        with services.database.reading() as session:
            access = look_in(session, viewer, slug)
            return _show_form(
                request,
                access,
                session,
                services,
                find_phase(session, access.competition, phase_slug),
                Door(viewer, slug, phase_slug, arrival, source),
                problem=error,
                sent=sent,
            )
    return redirect(target)


def _wishes(sent: FormData, *, smoke: bool, questions: list[Any]) -> Wishes:
    """What comes with the zip; raises `Invalid` where leagues were offered and none is ticked.

    Of the fact sheet that are the answers which differ from those that the form was filled in upon.
    """
    form = SentForm(sent)
    answers = {str(q["key"]): form.text(f"fact_{q['key']}", 10_000) for q in questions}
    seen = unseal(form.text("seen")) or {}
    leagues = tuple(str(value)[:64] for value in sent.getlist("league")[:50])
    if sent.get("leagues_shown") and not leagues and not smoke:
        raise Invalid("Tick at least one league that this submission enters.", field="leagues")
    return Wishes(
        comment=str(sent.get("comment", "")).strip()[:500],
        leagues=leagues,
        fact_sheet={key: text for key, text in answers.items() if text != seen.get(key, "")},
        smoke=smoke,
    )


def read_source(services: Services, user_id: str, sent: FormData, arrival: Arrival) -> ZipSource:
    """What a form hands in; a file that was chosen takes the place of the upload that the form named.

    Raises `Invalid` where there is no zip, `TooMany`, and what `begin_upload` raises.
    """
    if digest := str(sent.get("again", ""))[:64]:
        return ZipSource(digest=digest)
    earlier, file = str(sent.get("upload_id", ""))[:32], sent.get("file")
    if isinstance(file, UploadFile) and file.filename:
        _forget_own(services, user_id, earlier)
        return ZipSource(upload_id=_keep_file(services, user_id, file, file.filename, arrival))
    if not earlier:
        raise Invalid("Please choose a zip.", field="file")
    return ZipSource(upload_id=earlier)


def _forget_own(services: Services, user_id: str, upload_id: str) -> None:
    """Make room before the new file comes, unless the upload is used or somebody else's."""
    try:
        with services.database.reading() as session:
            upload = find_upload(session, user_id, upload_id)
    except NotFound:
        return
    if upload.purpose == UploadPurpose.SUBMISSION:
        forget_upload(services, upload.id)


def _keep_file(services: Services, user_id: str, file: UploadFile, filename: str, arrival: Arrival) -> str:
    """The file of a plain form, which came in one piece, as a complete upload."""
    spend(services, "uploads", user_id)
    with services.database.writing() as session:
        begun_at, size = take_place(session, arrival), file.size or 0
        upload = begin_upload(services, session, user_id, filename=filename, size=size, begun_at=begun_at)
        upload.completed_at = now()
    with upload_path(services, upload).open("wb") as target:
        while part := file.file.read(1 << 20):
            target.write(part)
    return upload.id


def _find_waiting(services: Services, session: Session, user_id: str, upload_id: str) -> Upload | None:
    """The user's upload, if all its bytes are here and it was used for nothing: it can be sent once more."""
    upload = _find_own(session, user_id, upload_id)
    if upload is None or upload.used_at is not None:
        return None
    path = upload_path(services, upload)
    return upload if path.exists() and path.stat().st_size == upload.size else None


def _is_submitted(session: Session, user_id: str, upload_id: str) -> bool:
    """Whether the user's upload became a submission: another request with it was quicker."""
    upload = _find_own(session, user_id, upload_id)
    return upload is not None and upload.used_at is not None


def _find_own(session: Session, user_id: str, upload_id: str) -> Upload | None:
    upload = session.get(Upload, upload_id) if upload_id else None
    own = upload is not None and upload.user_id == user_id and upload.purpose == UploadPurpose.SUBMISSION
    return upload if own else None
