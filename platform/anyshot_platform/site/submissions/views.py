"""Submissions and runs as the API shows them, without what the phase hides."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.service import list_runs
from anyshot_platform.judging.run_logs.models import RunEvent
from anyshot_platform.judging.run_logs.service import count_missing_lines, read_events
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.actions.notes import note_fields
from anyshot_platform.judging.submissions.actions.submitting import read_checks
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.phases import look_at_phase
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.judging.workers.places import find_place
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.submissions.answer import read_answer
from anyshot_platform.site.submissions.downloads import kept_files
from anyshot_platform.site.submissions.filters import SearchedSubmissions, narrow
from anyshot_platform.site.submissions.progress import read_facts
from anyshot_platform.site.submissions.rows import find_page, look_at_all, own_submissions, show_submissions
from anyshot_platform.site.submissions.schemas import (
    RunOut,
    SubmissionDetail,
    SubmissionPage,
)
from anyshot_platform.site.submissions.show import find_version, read_runs
from anyshot_platform.site.submissions.smoke_answer import read_smoke_answer


def show_answered(session: Session, storage: Storage, found: SubmissionAccess) -> SubmissionDetail:
    """A submission with its runs, and with what its score comes to."""
    version = find_version(session, found.submission)
    answer = read_answer(session, storage, found, version) if version is not None else None
    shown = show_detail(session, found.sight)
    return shown.model_copy(update={"answer": answer})


def show_detail(session: Session, sight: Sight) -> SubmissionDetail:
    """A submission with its runs."""
    submission = sight.submission
    [shown] = show_submissions(session, [sight])
    version = find_version(session, submission)
    visible = [
        run
        for run in list_runs(session, submission)
        if sight.everything or run.phase_version.number == submission.phase.live_version
    ]
    places = [place for run in visible if (place := find_place(session, run)) is not None]
    first = min(places, key=lambda place: place.ahead, default=None)
    leagues = session.scalars(
        select(League.slug)
        .join(LeagueEntry, LeagueEntry.league_id == League.id)
        .where(LeagueEntry.submission_id == submission.id)
        .order_by(League.position)
    ).all()
    return SubmissionDetail(
        **dict(shown),
        checks=read_checks(submission.checks),
        leagues=list(leagues),
        queue_place=first.ahead if first else None,
        expected_start=first.expected if first else None,
        runs=show_runs(session, sight, visible),
        answer=None,
        smoke=read_smoke_answer(session, submission, read_runs(session, submission, version), version),
        etag=tag_of(note_fields(submission, shown.tags)),
    )


def show_runs(session: Session, sight: Sight, runs: Sequence[Run]) -> list[RunOut]:
    """Runs with their scores and the names of the artifacts that the viewer may fetch."""
    ids = [run.id for run in runs]
    scores = {row.run_id: row for row in session.scalars(select(RunScore).where(RunScore.run_id.in_(ids)))}
    kept = kept_files(session, sight, runs)
    missing = count_missing_lines(session, ids)
    shown: list[RunOut] = []
    for run in runs:
        score = scores.get(run.id) if sight.phase.scores else None
        shown.append(
            RunOut(
                **dict(read_facts(sight, run)),
                score=score.value if score else None,
                half_width=score.half_width if score else None,
                artifacts=[one.name for one in kept[run.id]],
                log_lines_missing=missing.get(run.id, 0),
            )
        )
    return shown


def list_submissions(
    session: Session,
    *,
    competition: Competition,
    team_id: str | None,
    phase: Phase | None,
    offset: int,
    limit: int,
    role: Role | None,
) -> SubmissionPage:
    """A page of a competition's submissions, newest first, for somebody with `role`; `team_id` None is everybody's."""
    conditions = [Submission.competition_id == competition.id, kept()]
    if team_id is not None:
        conditions.append(Submission.team_id == team_id)
    if phase is not None:
        conditions.append(Submission.phase_id == phase.id)
    total = session.scalar(select(func.count(Submission.id)).where(*conditions)) or 0
    rows = session.scalars(
        select(Submission)
        .where(*conditions)
        .order_by(Submission.created_at.desc(), Submission.id.desc())
        .offset(offset)
        .limit(limit)
        .options(joinedload(Submission.team), joinedload(Submission.phase))
    ).all()
    sights = [Sight(row, look_at_phase(row.phase, role)) for row in rows]
    return SubmissionPage(items=show_submissions(session, sights), total=total, offset=offset)


def list_own(
    session: Session, viewer: Viewer, wanted: SearchedSubmissions, *, page: int, limit: int
) -> SubmissionPage:
    """A page of the viewer's submissions in all competitions, narrowed and in the order that was asked for."""
    query = narrow(own_submissions(viewer.id), wanted)
    rows, place = find_page(session, viewer, query, page, limit, wanted.sort)
    shown = show_submissions(session, look_at_all(session, viewer, rows))
    return SubmissionPage(items=shown, total=place.total, offset=place.offset)


def read_log(
    session: Session, found: SubmissionAccess, *, after: int, limit: int, holding: str = ""
) -> list[RunEvent]:
    """The log lines of a submission's live runs after an id, that hold a text, as far as the viewer may see them."""
    submission = found.submission
    runs = [
        run.id
        for run in list_runs(session, submission)
        if run.phase_version.number == submission.phase.live_version
    ]
    return read_events(session, runs, policy=found.sight.logs, after=after, limit=limit, holding=holding)
