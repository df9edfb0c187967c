"""A phase of many teams on some workers, played to its end: how long submissions wait, and what it costs."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random

import numpy as np
from sqlalchemy import insert
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import WorkerInfo
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.queueing import queue_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.actions.submitting import urgency_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.quota import QuotaUsedUp, lock_team, read_quota, require_quota
from anyshot_platform.judging.workers.models import WorkerToken
from anyshot_platform.people.teams.models import Team
from anyshot_platform.running.capacity.playing import Play, PlayedWorker, database_in_memory

_START = datetime(2022, 7, 1, tzinfo=UTC)
_TOKEN, _HARDWARE, _DAY = "token", "simulated", 86_400.0


@dataclass(frozen=True)
class Scene:
    """A phase, its teams and its workers.

    `seconds` are lengths of runs, each as likely as the others. On each day a team hands in `uploads` submissions, at
    any time; on the last day within the last `rush` hours. With `uploads` 0 all teams have one, at the start.
    """

    teams: int
    workers: int
    days: int
    seconds: tuple[float, ...]
    runs: int = 1  # of a submission: its seeds, or its parts
    uploads: int = 2
    rush: float = 24.0
    quota_day: int | None = None
    quota_phase: int | None = None
    quota_concurrent: int | None = None
    lost: float = 0.0
    seed: int = 1


@dataclass(frozen=True)
class Outcome:
    """What became of it; waiting is from the moment when a run is queued to that when a worker takes it, in seconds."""

    workers: int
    submissions: int
    refused: int  # uploads beyond a quota
    runs: int
    median: float
    most: float  # nine in ten wait no longer
    worst: float
    use: float  # share of the workers' time
    worker_hours: float  # from the start to the end of the phase, or of its last run
    late_seconds: float  # from the end of the phase to that of its last run


def simulate(scene: Scene, settings: PlatformSettings) -> Outcome:
    """Play a scene with the platform's own quotas, order of the queue, leases and attempts."""
    drawn: dict[str, list[float]] = {}  # lengths of the runs of submissions, in the order in which they start
    lengths: dict[str, float] = {}  # of runs that have started
    refused: list[str] = []  # teams

    def seconds(run: Run) -> float:
        if run.id not in lengths:
            lengths[run.id] = drawn[run.submission_id or ""].pop(0)
        return lengths[run.id]

    with database_in_memory() as session:
        phase = _lay_out(session, scene)
        play = Play(session, settings, seconds, Random(f"{scene.seed} lost"), scene.lost)
        infos = (WorkerInfo(name=f"{one}", hardware_class=_HARDWARE) for one in range(scene.workers))
        play.idle = deque(PlayedWorker(_TOKEN, info) for info in infos)

        def hand_in(team_id: str, runs: list[float]) -> None:
            try:
                require_quota(read_quota(session, lock_team(session, team_id), phase), smoke=False)
            except QuotaUsedUp:
                refused.append(team_id)
                return
            made = Submission(
                competition_id=phase.competition_id,
                phase_id=phase.id,
                team_id=team_id,
                user_id="",
                digest="",
                size=0,
                quota_day=now().date(),
            )
            session.add(made)
            session.flush()
            queue_runs(session, made, phase.live, urgency_of(made.kind, phase))
            drawn[made.id] = runs

        for moment, team_id, runs in _plan_uploads(scene):
            play.at(moment, partial(hand_in, team_id, runs))
        play.play()
        return _sum_up(scene, play, len(drawn), len(refused))


def _lay_out(session: Session, scene: Scene) -> Phase:
    """The rows that the platform's decisions read."""
    competition = Competition(
        id=_TOKEN, slug="simulated", title="", created_by="", state=CompetitionState.PUBLISHED
    )
    phase = Phase(
        competition_id=competition.id,
        slug="simulated",
        name="",
        starts_at=_START,
        ends_at=_START + timedelta(days=scene.days),
        quota_day=scene.quota_day,
        quota_phase=scene.quota_phase,
        quota_concurrent=scene.quota_concurrent,
    )
    phase.versions = [
        PhaseVersion(
            meta_test_pool_version_id="-",
            train_seeds=[*range(scene.runs)],
            run_seconds=max(scene.seconds),
            hardware_class=_HARDWARE,
        )
    ]
    session.add_all([WorkerToken(id=_TOKEN, name="", digest=""), competition, phase])
    session.flush()
    names = [str(number) for number in range(scene.teams)]
    teams = [{"id": one, "competition_id": competition.id, "name": one, "name_key": one} for one in names]
    session.execute(insert(Team), teams)
    return phase


def _plan_uploads(scene: Scene) -> Iterator[tuple[datetime, str, list[float]]]:
    """When each team hands in, and how long its runs take: the same however many workers there are."""
    chance = Random(scene.seed)
    for day in range(scene.days if scene.uploads else 1):
        hours = scene.rush if day == scene.days - 1 else 24.0
        for number in range(scene.teams):
            for _ in range(scene.uploads or 1):
                at_end = timedelta(hours=24 * (day + 1) - chance.random() * hours)
                at_start = timedelta(milliseconds=number)
                seconds = chance.choices(scene.seconds, k=scene.runs)
                yield _START + (at_end if scene.uploads else at_start), str(number), seconds


def _sum_up(scene: Scene, play: Play, submissions: int, refused: int) -> Outcome:
    waits = np.array(play.waits)
    span = max((play.moment - _START).total_seconds(), _DAY * scene.days)
    return Outcome(
        workers=scene.workers,
        submissions=submissions,
        refused=refused,
        runs=len(waits),
        median=float(np.median(waits)),
        most=float(np.quantile(waits, 0.9)),
        worst=float(waits.max()),
        use=play.busy_seconds / (scene.workers * span),
        worker_hours=scene.workers * span / 3600,
        late_seconds=span - _DAY * scene.days,
    )
