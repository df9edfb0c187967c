"""What a competition will need, from what its rehearsal took: machine hours, waiting times, disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from pydantic import Field, computed_field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Rehearsal
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases, live_version
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.filters import decimal
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.workers.images import count_workers

_DAY = 86_400.0
_ASSUMED_DAYS = 30.0  # of a phase without an end
_ASSUMED_A_DAY = 1  # uploads of a team, in a phase without a quota
_BY_TASK = "predictions.parquet"  # the file whose size grows with the tasks


@dataclass(frozen=True)
class Cost:
    """What one submission would take with all tasks: seconds of a machine, bytes that are kept."""

    team: str
    seconds: float
    bytes: int


@dataclass(frozen=True)
class PhaseForecast:
    """What a phase would take, if every team uses its whole quota."""

    phase: str
    key: str
    tasks: int
    measured: Annotated[int, Field(description="submissions of the rehearsal that it is calculated from")]
    cheapest: Annotated[float, Field(description="seconds of a machine for one submission with all tasks")]
    typical: float
    dearest: float
    submissions: int
    hours: Annotated[float, Field(description="machine hours, if all submissions are like the typical one")]
    most_hours: Annotated[float, Field(description="if all are like the dearest one")]
    hardware: str
    workers: int
    # None without workers, and where all is launched at once.
    busy: Annotated[
        float | None, Field(description="share of the workers' time that the uploads of a day take")
    ]
    wait_hours: float | None  # until the last of what comes in a day, or of a launch, has ended
    bytes: int

    @computed_field
    @property
    def words(self) -> str:
        """What it means for the workers that there are."""
        if self.workers == 0:
            return f"No worker has the hardware class {self.hardware}: nothing would be scored."
        if self.busy is not None and self.busy > 1:
            days = decimal(self.busy, 1)
            return f"Too few workers: they would need {days} days for the uploads of one day."
        if self.wait_hours is None:
            return ""
        what = "entries" if self.busy is None else "uploads of one day"
        hours = decimal(self.wait_hours, 1)
        return f"{self.workers} × {self.hardware}: all {what} are scored within {hours} h."


def forecast(session: Session, rehearsal: Rehearsal) -> list[PhaseForecast]:
    """The forecast of each phase in which the rehearsal scored something; workers as they are now."""
    original = session.get_one(Competition, rehearsal.competition_id)
    played = {
        phase.slug: phase for phase in list_phases(session, session.get_one(Competition, rehearsal.copy_id))
    }
    found = []
    for phase in list_phases(session, original):
        costs = (
            _costs(session, played[phase.slug], live_version(session, phase).tasks)
            if phase.slug in played
            else []
        )
        if costs:
            found.append(_of_phase(session, phase, costs, rehearsal.teams))
    return found


def _costs(session: Session, played: Phase, tasks: int) -> list[Cost]:
    rows = session.scalars(
        select(Submission).where(
            Submission.phase_id == played.id, Submission.status == SubmissionStatus.FINISHED
        )
    )
    return [_cost(session, row, tasks / live_version(session, played).tasks) for row in rows]


def _cost(session: Session, submission: Submission, scale: float) -> Cost:
    """What a submission took, with `scale` times as many tasks: training and start-up do not grow with them."""
    runs = session.scalars(
        select(Run).where(Run.submission_id == submission.id, Run.state == RunState.FINISHED)
    ).all()
    seconds = 0.0
    for run in runs:
        whole = _wall(run)
        testing = min(run.used.meta_test_seconds or max(whole - run.used.meta_train_seconds, 0.0), whole)
        seconds += whole - testing + testing * scale
    files = session.execute(
        select(Artifact.name, Artifact.size).where(
            Artifact.run_id.in_([run.id for run in runs]), Artifact.final
        )
    )
    kept = sum(size * scale if name == _BY_TASK else size for name, size in files)
    return Cost(submission.team.name, seconds, submission.size + round(kept))


def _wall(run: Run) -> float:
    if run.claimed_at is None or run.finished_at is None:
        return run.seconds_used
    return (run.finished_at - run.claimed_at).total_seconds()


def _of_phase(session: Session, phase: Phase, costs: Sequence[Cost], teams: int) -> PhaseForecast:
    version = live_version(session, phase)
    seconds = [cost.seconds for cost in costs]
    a_team, a_day = _uploads(phase)
    submissions, typical = teams * a_team, median(seconds)
    workers = count_workers(session, version.hardware_class)
    at_once = teams * a_day * typical if phase.accepts_uploads else submissions * typical
    return PhaseForecast(
        phase=phase.name,
        key=phase.slug,
        tasks=version.tasks,
        measured=len(costs),
        cheapest=min(seconds),
        typical=typical,
        dearest=max(seconds),
        submissions=submissions,
        hours=submissions * typical / 3600,
        most_hours=submissions * max(seconds) / 3600,
        hardware=version.hardware_class,
        workers=workers,
        busy=at_once / (workers * _DAY) if workers and phase.accepts_uploads else None,
        wait_hours=at_once / workers / 3600 if workers else None,
        bytes=round(submissions * median(cost.bytes for cost in costs)),
    )


def _uploads(phase: Phase) -> tuple[int, int]:
    """How many submissions a team makes in a phase, and in a day, if it uses its quota."""
    if not phase.accepts_uploads:
        return 1, 1
    length = (phase.ends_at - phase.starts_at).total_seconds() / _DAY if phase.ends_at else _ASSUMED_DAYS
    a_day = _ASSUMED_A_DAY if phase.quota_day is None else phase.quota_day
    over_all = max(round(length * a_day), a_day)
    return (over_all if phase.quota_phase is None else min(over_all, phase.quota_phase)), a_day
