"""Submissions and runs as the API shows them, without what the phase hides."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.states import Role
from anyshot_platform.events.models import RunEvent
from anyshot_platform.events.service import read_events
from anyshot_platform.leagues.models import League, LeagueEntry
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.smoke import shown_logs, smoke_logs
from anyshot_platform.queue.places import find_place
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.parts import run_budget
from anyshot_platform.runs.service import list_runs
from anyshot_platform.runs.states import RunState
from anyshot_platform.scores.models import RunScore
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.provenance import repeat_command, shown_provenance, train_seed_of
from anyshot_platform.submissions.schemas import (
    CheckOut,
    RunOut,
    SubmissionDetail,
    SubmissionOut,
    SubmissionPage,
)
from anyshot_platform.submissions.states import SubmissionKind
from anyshot_platform.web.access import SubmissionAccess
from anyshot_starting_kit.wire.worker_api import LogPolicy

# What a participant may download of a run; predictions and per-task results of hidden tasks are the organizers'.
OWN_ARTIFACTS = frozenset({"log.txt", "logger.zip"})


def scores_shown(submission: Submission, *, reviewer: bool) -> bool:
    """Whether the viewer may see the scores: the team where the phase shows them, reviewers always."""
    phase = submission.phase
    published = not phase.needs_publishing or phase.published_at is not None
    return reviewer or (phase.scores_visible and published)


def show_submission(submission: Submission, *, reviewer: bool) -> SubmissionOut:
    """A submission for a list."""
    shown = scores_shown(submission, reviewer=reviewer)
    return SubmissionOut(
        id=submission.id,
        competition=submission.competition.slug,
        phase=submission.phase.slug,
        team=submission.team.name,
        kind=submission.kind,
        number=submission.number,
        filename=submission.filename,
        comment=submission.comment,
        size=submission.size,
        digest=submission.digest,
        status=submission.status,
        verdict=submission.verdict,
        cause=submission.cause,
        score=submission.score if shown else None,
        half_width=submission.half_width if shown else None,
        counts_quota=submission.counts_quota,
        quota_reason=submission.quota_reason,
        created_at=submission.created_at,
        finished_at=submission.finished_at,
        disqualified=submission.disqualified_at is not None,
        withdrawn=submission.withdrawn_at is not None,
    )


def show_detail(session: Session, submission: Submission, *, reviewer: bool) -> SubmissionDetail:
    """A submission with its runs."""
    runs = list_runs(session, submission)
    visible = [run for run in runs if reviewer or run.phase_version.number == submission.phase.live_version]
    places = [find_place(session, run) for run in visible if run.state == RunState.QUEUED]
    leagues = session.scalars(
        select(League.slug)
        .join(LeagueEntry, LeagueEntry.league_id == League.id)
        .where(LeagueEntry.submission_id == submission.id)
        .order_by(League.position)
    ).all()
    return SubmissionDetail(
        **show_submission(submission, reviewer=reviewer).model_dump(),
        checks=[CheckOut.model_validate(check) for check in submission.checks],
        leagues=list(leagues),
        queue_place=min((place.ahead for place in places if place), default=None),
        runs=show_runs(session, submission, visible, reviewer=reviewer),
    )


def show_runs(
    session: Session, submission: Submission, runs: Sequence[Run], *, reviewer: bool
) -> list[RunOut]:
    """Runs with their scores and the names of the artifacts that the viewer may fetch."""
    ids = [run.id for run in runs]
    scores = {row.run_id: row for row in session.scalars(select(RunScore).where(RunScore.run_id.in_(ids)))}
    names: dict[str, list[str]] = {run_id: [] for run_id in ids}
    for artifact in session.scalars(
        select(Artifact).where(Artifact.run_id.in_(ids), Artifact.final, Artifact.expired_at.is_(None))
    ):
        if reviewer or artifact.name in OWN_ARTIFACTS:
            names[artifact.run_id].append(artifact.name)
    shown = scores_shown(submission, reviewer=reviewer)
    return [_show_run(run, scores.get(run.id) if shown else None, sorted(names[run.id])) for run in runs]


def _show_run(run: Run, score: RunScore | None, artifacts: list[str]) -> RunOut:
    return RunOut(
        id=run.id,
        kind=run.kind.value,
        seed_index=run.seed_index,
        shard_index=run.shard_index,
        shard_count=run.shard_count,
        generation=run.generation,
        phase_version=run.phase_version.number,
        state=run.state,
        attempt=run.attempt,
        queued_at=run.queued_at,
        claimed_at=run.claimed_at,
        finished_at=run.finished_at,
        tasks_done=run.tasks_done,
        tasks_total=run.tasks_total,
        seconds_used=run.seconds_used,
        budget_seconds=None if run.submission is None else run_budget(run),
        message=run.message or run.progress_message,
        verdict=run.verdict,
        cause=run.cause,
        detail=run.detail,
        task_index=run.task_index,
        task_ways=run.task_ways,
        task_shots=run.task_shots,
        train_seed=train_seed_of(run),
        reproduce=repeat_command(run),
        score=score.value if score else None,
        half_width=score.half_width if score else None,
        usage=run.usage,
        provenance=shown_provenance(run),
        artifacts=artifacts,
    )


def list_submissions(
    session: Session,
    *,
    competition: Competition,
    team_id: str | None,
    phase: Phase | None,
    offset: int,
    limit: int,
    reviewer: bool,
) -> SubmissionPage:
    """A page of a competition's submissions, newest first; `team_id` None is everybody's."""
    conditions = [Submission.competition_id == competition.id, Submission.deleted_at.is_(None)]
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
    return SubmissionPage(
        items=[show_submission(row, reviewer=reviewer) for row in rows], total=total, offset=offset
    )


def read_log(session: Session, found: SubmissionAccess, *, after: int, limit: int) -> list[RunEvent]:
    """The log lines of a submission's live runs after an id, as far as the viewer may see them."""
    submission = found.submission
    runs = [
        run.id
        for run in list_runs(session, submission)
        if run.phase_version.number == submission.phase.live_version
    ]
    return read_events(session, runs, policy=log_policy_for(found), after=after, limit=limit)


def log_policy_for(found: SubmissionAccess) -> LogPolicy:
    """The phase's policy for the team; everything for reviewers, and for smoke tests of public tasks."""
    if found.access.may(Role.REVIEWER):
        return LogPolicy.EVERYTHING
    phase = found.submission.phase
    return smoke_logs(phase) if found.submission.kind == SubmissionKind.SMOKE else shown_logs(phase)
