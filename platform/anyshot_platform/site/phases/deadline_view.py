"""The end of a phase as its organizers see it: what is under way, the queue against the end, outages before it."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words, moment_words
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.phases.models import Phase, PhaseExtension
from anyshot_platform.contest.phases.service import live_version, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import QUEUE_ORDER, Run
from anyshot_platform.judging.runs.states import RUNNING, RunState
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.states import SubmissionKind, UploadPurpose
from anyshot_platform.judging.submissions.uploads import upload_path
from anyshot_platform.judging.workers.places import EndWindow, expect_end
from anyshot_platform.people.teams.models import Team
from anyshot_platform.running.deadlines.outages import Outage, find_hit, find_outages, minutes_lost

_NOT_ENDED = (*RUNNING, RunState.QUEUED, RunState.WAITING)


class UploadingOut(BaseModel):
    """An upload of a member that is announced and not handed in: to which phase it goes is known then."""

    team: str
    size: int
    received: int
    begun_at: datetime | None = Field(description="when its first byte came, which is what counts at the end")


class EvaluatingOut(BaseModel):
    """A submission of the phase with a run that waits or runs."""

    submission: str
    team: str
    number: int
    state: RunState
    arrived_at: datetime


class ExtensionOut(BaseModel):
    """More time of one team."""

    team: str
    until: datetime


class DeadlineOut(BaseModel):
    """The end of a phase: what is under way, when the queue is done, outages before it and the teams that they hit."""

    phase: str
    name: str
    status: PhaseStatus
    ends_at: datetime | None
    time_zone: str
    uploading: list[UploadingOut]
    waiting: list[EvaluatingOut]
    running: list[EvaluatingOut]
    done_earliest: datetime | None = Field(
        description="of all runs; null without any, or where it cannot be told"
    )
    done_latest: datetime | None
    queue_words: str
    outages: list[Outage]
    minutes_lost: int = Field(description="how long the outages lasted together")
    hit: list[str] = Field(description="names of the teams with a run that waited or ran during an outage")
    others: list[str] = Field(
        description="names of the other teams with a submission in the phase, or an upload"
    )
    proposed_end: datetime | None = Field(
        description="the end, or now if that is past, and the minutes lost; null where none are"
    )
    extensions: list[ExtensionOut]


def read_deadline(services: Services, session: Session, phase: Phase) -> DeadlineOut:
    """What organizers have to know at the end of a phase."""
    runs = _find_runs(session, phase)
    window = _expect_all(session, [run for run, _, _ in runs])
    uploading, outages = _find_uploading(services, session, phase), find_outages(session, phase)
    hit = [team.name for team in find_hit(session, phase, outages)]
    lost = minutes_lost(outages)
    base = None if phase.ends_at is None else max(phase.ends_at, now()).replace(second=0, microsecond=0)
    return DeadlineOut(
        phase=phase.slug,
        name=phase.name,
        status=status_of(phase),
        ends_at=phase.ends_at,
        time_zone=phase.time_zone,
        uploading=uploading,
        waiting=[_show(*row) for row in runs if row[0].state not in RUNNING],
        running=[_show(*row) for row in runs if row[0].state in RUNNING],
        done_earliest=window.earliest if window else None,
        done_latest=window.latest if window else None,
        queue_words=_queue_words(phase, len(runs), window),
        outages=outages,
        minutes_lost=lost,
        hit=hit,
        others=sorted({*_names_of_submitters(session, phase), *(one.team for one in uploading)} - set(hit)),
        proposed_end=base + timedelta(minutes=lost) if base and lost else None,
        extensions=_find_extensions(session, phase),
    )


def _names_of_submitters(session: Session, phase: Phase) -> Sequence[str]:
    query = select(Team.name).join(Submission, Submission.team_id == Team.id)
    mine = (
        Submission.phase_id == phase.id,
        Submission.kind == SubmissionKind.ENTRY,
        Team.deleted_at.is_(None),
    )
    return session.scalars(query.where(*mine).distinct()).all()


def _find_extensions(session: Session, phase: Phase) -> list[ExtensionOut]:
    query = (
        select(Team.name, PhaseExtension.until)
        .join(PhaseExtension, PhaseExtension.team_id == Team.id)
        .where(PhaseExtension.phase_id == phase.id)
        .order_by(Team.name)
    )
    return [ExtensionOut(team=name, until=until) for name, until in session.execute(query)]


def _find_uploading(services: Services, session: Session, phase: Phase) -> list[UploadingOut]:
    query = (
        select(Upload, Team.name)
        .join(Membership, Membership.user_id == Upload.user_id)
        .join(Team, Team.id == Membership.team_id)
        .where(
            Upload.purpose == UploadPurpose.SUBMISSION,
            Upload.used_at.is_(None),
            Membership.competition_id == phase.competition_id,
            Membership.status == MemberStatus.APPROVED,
        )
        .order_by(Upload.created_at)
    )
    return [
        UploadingOut(
            team=team, size=upload.size, received=_received(services, upload), begun_at=upload.begun_at
        )
        for upload, team in session.execute(query)
    ]


def _received(services: Services, upload: Upload) -> int:
    """The bytes that are here, also of a part that still comes."""
    path = upload_path(services, upload)
    return path.stat().st_size if path.exists() else upload.received or 0


def _find_runs(session: Session, phase: Phase) -> list[tuple[Run, Submission, str]]:
    """What waits or runs of the members' submissions, in the order of the queue."""
    query = (
        select(Run, Submission, Team.name)
        .join(Submission, Submission.id == Run.submission_id)
        .join(Team, Team.id == Submission.team_id)
        .where(
            Run.phase_version_id == live_version(session, phase).id,
            Run.state.in_(_NOT_ENDED),
            Submission.kind.in_([SubmissionKind.ENTRY, SubmissionKind.FINAL]),
        )
        .order_by(*QUEUE_ORDER)
    )
    return [(run, submission, team) for run, submission, team in session.execute(query)]


def _expect_all(session: Session, runs: Sequence[Run]) -> EndWindow | None:
    """When the last of them should end: those that run, the last of the queue, and one that waits for another."""
    by_state = [
        [run for run in runs if run.state in RUNNING],
        [run for run in runs if run.state == RunState.QUEUED][-1:],
        [run for run in runs if run.state == RunState.WAITING][-1:],
    ]
    return expect_end(session, [run for found in by_state for run in found])


def _queue_words(phase: Phase, number: int, window: EndWindow | None) -> str:
    if not number:
        return "Nothing waits or runs."
    if window is None:
        return "When the queue is done cannot be told: no worker takes its runs, or none has ended yet."
    words = (
        f"The queue should be done between {moment_words(window.earliest)} and {moment_words(window.latest)}"
    )
    if phase.ends_at is None:
        return f"{words}."
    end = deadline_words(phase.ends_at, phase.time_zone)
    if window.latest <= phase.ends_at:
        return f"{words}, before the end of the phase ({end})."
    late = "perhaps after" if window.earliest <= phase.ends_at else "after"
    return f"{words}, {late} the end of the phase ({end})."


def _show(run: Run, submission: Submission, team: str) -> EvaluatingOut:
    return EvaluatingOut(
        submission=submission.id,
        team=team,
        number=submission.number,
        state=run.state,
        arrived_at=submission.arrived_at or submission.created_at,
    )
