"""Acts on a baseline: running it in a phase, measuring a gate with it, removing it and bringing it back."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.actions.hiding import delete_and_restore
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.kinds import GATE_SEEDS
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.standings.baselines.actions import gates, service
from anyshot_platform.standings.baselines.boards import why_on_no_board
from anyshot_platform.standings.baselines.models import Baseline


@dataclass(frozen=True)
class Playable:
    """A baseline with what it takes to run it: its zip lies in the site's storage, or ships with the site."""

    baseline: Baseline
    services: Services


class Where(ActOptions):
    """`phase` is where it is run: the short name of a phase."""

    phase: Annotated[str, Field(max_length=64)]


def _target(session: Session, row: Baseline) -> Target:
    return Target("baseline", row.id, row.slug, f"“{row.name}”", (row.competition_id,))


def _target_of_playable(session: Session, playable: Playable) -> Target:
    return _target(session, playable.baseline)


def _phase(session: Session, baseline: Baseline, request: ActRequest[Where]) -> Phase:
    return find_phase(session, session.get_one(Competition, baseline.competition_id), request.options.phase)


def _under_way(session: Session, baseline: Baseline, phase: Phase, *, gate: bool) -> bool:
    """Whether a baseline has runs in a phase that have not ended: those of its row, or the seeds for a gate."""
    mine = Submission.gate_of == baseline.slug if gate else Submission.gate_of.is_(None)
    query = (
        select(Run.id)
        .join(Submission, Submission.id == Run.submission_id)
        .where(
            Submission.phase_id == phase.id,
            Submission.kind == SubmissionKind.BASELINE,
            Submission.digest == baseline.digest,
            mine,
            kept(),
            Run.state.not_in(ENDED),
        )
    )
    return session.scalar(query.limit(1)) is not None


def _look(session: Session, playable: Playable, request: ActRequest[Where], *, gate: bool) -> Findings:
    baseline = playable.baseline
    phase = _phase(session, baseline, request)
    if baseline.deleted_at is not None:
        return Findings(refused=["It was removed. Restore it first."])
    reason = service.why_not_run(playable.services, baseline)
    if not reason and not gate:
        reason = why_on_no_board(session, baseline)
    if reason:
        return Findings(refused=[reason])
    if _under_way(session, baseline, phase, gate=gate):
        return Findings(done=f"It is being run in {phase.name} already.")
    if gate:
        return Findings(
            does=[
                (f"It is run {GATE_SEEDS} times in {phase.name}, with fresh seeds; their mean is proposed.")
            ]
        )
    return Findings(
        does=[f"It is run in {phase.name}: a marked row on the boards of its leagues, out of the ranking."]
    )


def _look_run(session: Session, playable: Playable, request: ActRequest[Where]) -> Findings:
    return _look(session, playable, request, gate=False)


def _look_measure(session: Session, playable: Playable, request: ActRequest[Where]) -> Findings:
    return _look(session, playable, request, gate=True)


def _run(session: Session, playable: Playable, request: ActRequest[Where]) -> ActDone:
    baseline = playable.baseline
    phase = _phase(session, baseline, request)
    made = service.run_baseline(session, playable.services, phase, baseline, request.actor_id)
    return ActDone(
        f"{baseline.name} is queued in {phase.name}.",
        after={"phase": phase.slug},
        result=made,
    )


def _measure(session: Session, playable: Playable, request: ActRequest[Where]) -> ActDone:
    baseline = playable.baseline
    phase = _phase(session, baseline, request)
    made = gates.measure_gate(session, playable.services, phase, baseline, request.actor_id)
    message = f"{GATE_SEEDS} seeds of {baseline.name} are queued in {phase.name}."
    return ActDone(message, after={"phase": phase.slug}, result=made)


_CANCEL = "Cancel or delete its submission under Submissions."
RUN = Act(
    key="baseline.run",
    title="Run {}",
    target=_target_of_playable,
    look=_look_run,
    do=_run,
    undo=_CANCEL,
    options=Where,
    danger=Danger.NONE,
)
MEASURE = Act(
    key="baseline.measure",
    title="Measure a gate with {}",
    target=_target_of_playable,
    look=_look_measure,
    do=_measure,
    undo=_CANCEL,
    options=Where,
    danger=Danger.NONE,
)
REMOVE, RESTORE = delete_and_restore(
    "baseline",
    _target,
    lambda session, row: ["It cannot be run any more; rows that it has on boards stay."],
    "It can be run again.",
    name="remove",
    verbs=("Remove {}", "Restore {}"),
)
RUNS = by_name(RUN, MEASURE)
ACTS = by_name(REMOVE, RESTORE)
