"""Submissions over JSON: uploads, checks, submitting, watching, cancelling."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi import Path as PathParam
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.bundle.conditions import UNKNOWN
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.judging.run_logs.measures import read_measures
from anyshot_platform.judging.submissions import uploads
from anyshot_platform.judging.submissions.actions import submitting, withdrawing
from anyshot_platform.judging.submissions.actions.handing_in import Door, ZipSource, hand_in
from anyshot_platform.judging.submissions.actions.notes import annotate
from anyshot_platform.judging.submissions.arrivals import take_place
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.quota import Quota, read_quota
from anyshot_platform.judging.visibility.access import CompetitionAccess, SubmissionAccess
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.submissions import views
from anyshot_platform.site.submissions.archive import (
    MeanOfTasks,
    read_figures,
    receipts_json,
    write_everything,
)
from anyshot_platform.site.submissions.code_view import changed, compare_code, find_other, read_code
from anyshot_platform.site.submissions.compared import find_compared, read_all_pairs, title_of, versions_of
from anyshot_platform.site.submissions.downloads import (
    find_artifact,
    note_reading,
    send_everything,
)
from anyshot_platform.site.submissions.filters import WantedDep
from anyshot_platform.site.submissions.outlook import OutlookOut, read_outlook
from anyshot_platform.site.submissions.schemas import (
    ChangesOut,
    ChecksOut,
    LogLineOut,
    MeasureOut,
    NoteIn,
    SubmissionCodeOut,
    SubmissionDetail,
    SubmissionPage,
    SubmissionPairOut,
    SubmitIn,
    UploadIn,
    UploadOut,
    show_upload_of,
)
from anyshot_platform.site.submissions.show import find_version, read_runs
from anyshot_platform.site.web.access import (
    competition_role,
    signed_in_as,
    submission_owner,
    submission_reader,
)
from anyshot_platform.site.web.files import send_stored
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.site.web.tickets import ArrivalDep

router = APIRouter(prefix="/api/v1", tags=["submissions"])
Submitter = Annotated[Viewer, Depends(signed_in_as(Scope.SUBMIT))]
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
Owner = Annotated[SubmissionAccess, Depends(submission_owner)]
UploadParam = Annotated[str, PathParam(max_length=32)]
SlugPart = Annotated[str, PathParam(max_length=64)]


@router.post("/uploads", status_code=201)
def begin_upload(body: UploadIn, viewer: Submitter, services: ServicesDep, arrival: ArrivalDep) -> UploadOut:
    """Start an upload in parts, or go on with one of the same digest that was broken off."""
    with services.database.writing() as session:
        place = take_place(session, arrival)
        upload = uploads.begin_or_resume(
            services,
            session,
            viewer.id,
            filename=body.filename,
            size=body.size,
            digest=body.digest,
            begun_at=place if place != arrival.moment else None,
        )
        return show_upload_of(services, upload)


@router.get("/uploads/{upload_id}")
def show_upload(
    upload_id: UploadParam, viewer: Submitter, session: SessionDep, services: ServicesDep
) -> UploadOut:
    """Where an upload stands, to go on with it."""
    return show_upload_of(services, uploads.find_upload(session, viewer.id, upload_id))


@router.put(
    "/uploads/{upload_id}",
    openapi_extra={
        "requestBody": {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        }
    },
)
async def send_part(
    request: Request,
    upload_id: UploadParam,
    offset: Annotated[int, Query(ge=0, lt=2**53)],
    viewer: Submitter,
    services: ServicesDep,
    arrival: ArrivalDep,
) -> UploadOut:
    """Send the bytes from `offset` on, as the raw body."""
    upload = await uploads.receive_part(
        services, viewer.id, upload_id, offset, request.stream(), lambda session: take_place(session, arrival)
    )
    return show_upload_of(services, upload)


@router.post("/uploads/{upload_id}/check")
def check_upload(
    upload_id: UploadParam,
    viewer: Submitter,
    services: ServicesDep,
    arrival: ArrivalDep,
    competition: Annotated[str, Query(max_length=64)] = "",
    phase: Annotated[str, Query(max_length=64)] = "",
    smoke: bool = False,
    forget: bool = False,
) -> ChecksOut:
    """Run the checks on a complete upload, without submitting it.

    With `competition` and `phase` also what depends on that phase; with `smoke` on its smoke test. With `forget`, an
    upload that fails is deleted.
    """
    conditions = UNKNOWN
    if competition and phase:
        with services.database.reading() as session:
            _, found, _ = Door(viewer, competition, phase, arrival, ZipSource(upload_id)).enter(session)
            conditions = submitting.conditions_of(session, found, smoke=smoke)
    with uploads.sealed_upload(services, viewer.id, upload_id) as (upload, path, digest):
        report = submitting.check_upload(services, upload, path, digest, conditions)
    if forget and not report.ok:
        uploads.forget_upload(services, upload_id)
    return ChecksOut(ok=report.ok, digest=digest, checks=report.checks)


@router.post("/competitions/{slug}/phases/{phase_slug}/submissions", status_code=201)
def submit(
    slug: SlugPart,
    phase_slug: SlugPart,
    body: SubmitIn,
    viewer: Submitter,
    services: ServicesDep,
    arrival: ArrivalDep,
) -> SubmissionDetail:
    """Submit a complete upload, which is checked first, or by its digest a zip that was submitted before."""
    wishes = submitting.Wishes(
        comment=body.comment, leagues=tuple(body.leagues), fact_sheet=body.fact_sheet, smoke=body.smoke
    )
    return hand_in(
        services,
        Door(viewer, slug, phase_slug, arrival, ZipSource(body.upload_id or "", body.digest or "")),
        wish=lambda _: wishes,
        show=_show_submitted,
    )


def _show_submitted(session: Session, submission: Submission, access: CompetitionAccess) -> SubmissionDetail:
    return views.show_detail(session, Sight(submission, access.sight_of(submission.phase)))


@router.get("/competitions/{slug}/phases/{phase_slug}/quota")
def show_quota(phase_slug: SlugPart, access: Participant, session: SessionDep) -> Quota:
    """What one's own team may still submit to the phase."""
    membership = require_participant(access.membership)
    team = session.get_one(Team, membership.team_id)
    return read_quota(session, team, find_phase(session, access.competition, phase_slug))


@router.get("/competitions/{slug}/phases/{phase_slug}/outlook")
def show_outlook(phase_slug: SlugPart, access: Participant, session: SessionDep) -> OutlookOut:
    """What counts for one's team now, what runs until when, and what may still be submitted until the phase's end."""
    phase = find_phase(session, access.competition, phase_slug)
    return read_outlook(session, phase, require_participant(access.membership), access.sight_of(phase))


@router.get("/competitions/{slug}/submissions")
def list_submissions(
    access: Participant,
    session: SessionDep,
    phase: Annotated[str | None, Query(max_length=64)] = None,
    everyone: bool = False,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SubmissionPage:
    """One's own team's submissions, newest first; reviewers see everybody's with `everyone`."""
    found = find_phase(session, access.competition, phase) if phase else None
    all_teams = everyone and access.may(Role.REVIEWER)
    return views.list_submissions(
        session,
        competition=access.competition,
        team_id=None if all_teams else access.team_id or "none",
        phase=found,
        offset=offset,
        limit=limit,
        role=access.role,
    )


@router.get("/submissions")
def list_own(
    viewer: Annotated[Viewer, Depends(signed_in_as(Scope.READ))],
    session: SessionDep,
    wanted: WantedDep,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> SubmissionPage:
    """One's own submissions in all competitions, with the filters and orders of the page."""
    return views.list_own(session, viewer, wanted, page=page, limit=limit)


@router.patch("/submissions/{submission_id}")
def change_note(
    found: Owner, session: SessionDep, body: NoteIn, if_match: IfMatch = None
) -> SubmissionDetail:
    """Change the team's note or tags; `etag` of the submission is for `If-Match`."""
    annotate(session, found, body.comment, body.tags, if_match)
    return views.show_detail(session, found.sight)


@router.get("/submissions/{submission_id}/compare/{other_id}")
def compare(
    found: Reader, other_id: UploadParam, session: SessionDep, services: ServicesDep
) -> SubmissionPairOut:
    """The submission against another one of its phase that one may read, or a baseline of its board.

    409 `cannot_compare` where the two did not meet the same tasks, or one has no score.
    """
    other = find_compared(session, found.viewer, other_id)
    versions = versions_of(session, [found, other])
    statement = read_all_pairs(session, services.storage, [found, other], versions[0])[0, 1]
    first, second = title_of(found), title_of(other)
    return SubmissionPairOut(
        first=first,
        first_score=found.sight.score,
        second=second,
        second_score=other.sight.score,
        statement=statement,
        words=statement.words(first, second),
    )


@router.get("/submissions/{submission_id}")
def show_submission(found: Reader, session: SessionDep, services: ServicesDep) -> SubmissionDetail:
    """A submission with its runs, its place in each league and what it changed."""
    return views.show_answered(session, services.storage, found)


@router.post("/submissions/{submission_id}/cancel")
def cancel(
    found: Owner, session: SessionDep, body: Annotated[dict[str, Any] | None, Body()] = None
) -> SubmissionDetail:
    """Cancel all runs that have not ended; 409 `phase_not_open` for an entry whose phase has closed."""
    withdrawing.cancel(session, found.submission, by=found.viewer.id)
    return views.show_detail(session, found.sight)


@router.post("/submissions/{submission_id}/withdraw")
def withdraw(found: Owner, session: SessionDep) -> SubmissionDetail:
    """Take a submission off the boards; for good once its phase has closed, and then nothing takes its place."""
    withdrawing.withdraw(session, found.submission)
    return views.show_detail(session, found.sight)


@router.post("/submissions/{submission_id}/restore")
def restore(found: Owner, session: SessionDep) -> SubmissionDetail:
    """Put a withdrawn submission back; 409 `phase_not_open` once its phase has closed."""
    withdrawing.reinstate(session, found.submission)
    return views.show_detail(session, found.sight)


@router.get("/submissions/{submission_id}/log")
def show_log(
    found: Reader,
    session: SessionDep,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
    q: Annotated[str, Query(max_length=200)] = "",
) -> list[LogLineOut]:
    """The log lines after an id, that the phase's log policy shows; with `q` those that hold this text in any case."""
    lines = views.read_log(session, found, after=after, limit=limit, holding=q)
    return [LogLineOut.model_validate(line) for line in lines]


@router.get("/submissions/{submission_id}/measures")
def show_measures(
    found: Reader, session: SessionDep, after: Annotated[int, Query(ge=0, lt=2**62)] = 0
) -> list[MeasureOut]:
    """How the runs train and what they use, over time: what came after an id, as far as the phase shows output."""
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    measures = read_measures(session, [run.id for run in runs], policy=found.sight.logs, after=after)
    return [MeasureOut.model_validate(one) for one in measures]


@router.get("/submissions/{submission_id}/figures")
def show_figures(found: Reader, session: SessionDep) -> list[MeanOfTasks]:
    """Scores by dataset, domain, number of ways and number of shots, of each run that counts."""
    return read_figures(session, found)


@router.get("/submissions/{submission_id}/code")
def show_code(
    found: Reader, services: ServicesDep, file: Annotated[str, Query(max_length=1024)] = ""
) -> SubmissionCodeOut:
    """The files of the zip, and the text of one of them: `file`, or where there is none of this path the first text."""
    note_reading(services, found, "code")
    return SubmissionCodeOut.model_validate(read_code(services, found.submission, file))


@router.get("/submissions/{submission_id}/code/changes")
def show_changes(
    found: Reader,
    session: SessionDep,
    services: ServicesDep,
    since: Annotated[int | None, Query(ge=1, lt=2**31)] = None,
) -> ChangesOut:
    """What differs from the zip that the team submitted before, or from that of the submission of a number."""
    note_reading(services, found, "code")
    other = find_other(session, found, since)
    files = compare_code(services, found.submission, other) if other else []
    return ChangesOut.model_validate({"since": other.number if other else None, "files": changed(files)})


@router.get("/submissions/{submission_id}/archive", response_class=Response)
def download_archive(found: Reader, services: ServicesDep) -> Response:
    """The zip itself: its team's and the reviewers'."""
    submission = found.submission
    note_reading(services, found, "code")
    return send_stored(services, submission.digest, f"submission-{submission.number}.zip")


@router.get("/submissions/{submission_id}/receipts", response_class=Response)
def download_receipts(found: Reader, session: SessionDep) -> Response:
    """The signed receipts of the runs that count, as a JSON list; 404 while the viewer may not see the score."""
    return Response(receipts_json(session, found), media_type="application/json")


@router.get("/submissions/{submission_id}/everything", response_class=Response)
def download_everything(found: Reader, session: SessionDep, services: ServicesDep) -> Response:
    """One zip of all that one may have of a submission: code, log, results, provenance, files of its runs."""
    note_reading(services, found, "everything")
    return send_everything(found, *write_everything(session, services, found))


@router.get("/submissions/{submission_id}/runs/{run_id}/artifacts/{name}", response_class=Response)
def download_artifact(
    found: Reader,
    run_id: UploadParam,
    name: SlugPart,
    session: SessionDep,
    services: ServicesDep,
) -> Response:
    """A file that a run left."""
    artifact = find_artifact(session, found, run_id, name)
    note_reading(services, found, name)
    return send_stored(services, artifact.digest, f"{run_id}-{name}")
