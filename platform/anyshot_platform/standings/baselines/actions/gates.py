"""Gates: ten seeds of a baseline propose one, an organizer sets it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Annotated, Any

from pydantic import Field, computed_field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import changes_upon
from anyshot_platform.contest.bundles.consistency import is_gate, words_on_gate
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import add_member, find_membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.models import Gate, League
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.kinds import GATE_SEEDS
from anyshot_platform.judging.execution.queueing import queue_runs
from anyshot_platform.judging.execution.service import list_runs, newest_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency, require_evaluable
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.baselines.actions.service import fetch_zip
from anyshot_platform.standings.baselines.models import Baseline
from anyshot_platform.standings.leaderboards.service import rebuild_boards


@dataclass(frozen=True)
class Measurement:
    """Seeded runs of a baseline for a gate; `mean` is the proposal, null until all runs have ended."""

    submission: str
    comment: Annotated[str, Field(exclude=True)]
    baseline: str
    phase: str
    phase_name: Annotated[str, Field(exclude=True)]
    scores: tuple[float, ...]
    runs: int
    ended: int

    @computed_field
    @property
    def mean(self) -> float | None:
        """The gate that they propose, once all have ended."""
        return fmean(self.scores) if self.scores and self.ended == self.runs else None

    @computed_field
    @property
    def spread(self) -> float | None:
        """Standard deviation over the seeds (ddof 1)."""
        return stdev(self.scores) if len(self.scores) > 1 else None


def measure_gate(
    session: Session,
    services: Services,
    phase: Phase,
    baseline: Baseline,
    actor_id: str,
    seeds: int = GATE_SEEDS,
) -> Submission:
    """Run a baseline with `seeds` pairs of fresh seeds; their mean is what a gate would be."""
    version = live_version(session, phase)
    require_evaluable(version)
    archive = fetch_zip(session, services, baseline)
    competition = session.get_one(Competition, phase.competition_id)
    membership = find_membership(session, competition.id, actor_id)
    if membership is None or membership.team_id is None:
        membership = add_member(session, competition, session.get_one(User, actor_id), Role.ORGANIZER)
    submission = Submission(
        competition_id=competition.id,
        phase_id=phase.id,
        team_id=membership.team_id,
        user_id=actor_id,
        kind=SubmissionKind.BASELINE,
        number=0,
        filename=archive.filename,
        comment=f"{baseline.name}: {seeds} seeds for a gate",
        digest=archive.digest,
        size=archive.size,
        checks=archive.checks,
        quota_day=now().date(),
        counts_quota=False,
        gate_of=baseline.slug,
    )
    session.add(submission)
    session.flush()
    queue_runs(session, submission, version, Urgency(priorities.RERUN, bulk=True), seeds)
    return submission


def list_measurements(session: Session, competition: Competition) -> list[Measurement]:
    """The seeded runs for gates, newest first."""
    query = select(Submission).where(
        Submission.competition_id == competition.id,
        Submission.kind == SubmissionKind.BASELINE,
        Submission.gate_of.is_not(None),
        kept(),
    )
    found = []
    for submission in session.scalars(query.order_by(Submission.created_at.desc())):
        runs = newest_runs(list_runs(session, submission), None)
        found.append(
            Measurement(
                submission=submission.id,
                comment=submission.comment,
                baseline=submission.gate_of or "",
                phase=submission.phase.slug,
                phase_name=submission.phase.name,
                scores=tuple(_seed_scores(session, runs)),
                runs=len(runs),
                ended=sum(run.state in ENDED for run in runs),
            )
        )
    return found


def _seed_scores(session: Session, runs: Sequence[Run]) -> list[float]:
    """What each seed would score by the ranking rule that it ran under."""
    rows = session.scalars(select(RunScore).where(RunScore.run_id.in_([run.id for run in runs])))
    return [
        session.get_one(PhaseVersion, row.phase_version_id).rule.result([row.summary.as_run()]).score
        for row in rows
    ]


def gate_fields(gate: Gate | None) -> dict[str, Any]:
    """What organizers set of a gate; of one that is not there too."""
    return {"score": gate.score if gate else None, "note": gate.note if gate else ""}


def find_gate(session: Session, phase: Phase, league: League) -> Gate | None:
    """The gate of a league into a phase, if there is one."""
    query = select(Gate).where(Gate.phase_id == phase.id, Gate.league_id == league.id)
    return session.scalars(query).one_or_none()


def set_gate(
    session: Session,
    phase: Phase,
    league: League,
    score: float | None,
    note: str,
    actor_id: str,
    version: str | None,
) -> None:
    """Set the score that entries of a league must beat to come into a phase; None removes it.

    Raises `Invalid` for what is no gate, and for a phase that takes its entries from no other. `version` and `Stale`
    are as in `changes_upon`.
    """
    if score is not None and not is_gate(score):
        raise Invalid(words_on_gate(score), field="score")
    if score is not None and phase.gate_phase_id is None:
        raise Invalid(f"{phase.name} takes its entries from no other phase: a gate would hold nothing back.")
    gate = find_gate(session, phase, league)
    changes_upon(session, ("phase", phase.id), version, {"score": score, "note": note}, gate_fields(gate))
    before = gate.score if gate else None
    if score is None:
        if gate is not None:
            session.delete(gate)
    elif gate is None:
        session.add(Gate(phase_id=phase.id, league_id=league.id, score=score, note=note))
    else:
        gate.score, gate.note, gate.set_at = score, note, now()
    session.flush()
    follow_gates(session, phase.gate_phase_id)
    audit.record(
        session,
        actor_id=actor_id,
        action="gate.set",
        object_type="phase",
        object_id=phase.id,
        competition_id=phase.competition_id,
        reason=note,
        before={"league": league.slug, "score": before},
        after={"league": league.slug, "score": score, "note": note},
    )


def follow_gates(session: Session, *sources: str | None) -> None:
    """Bring the boards of phases, by id, in line where the last submission above the gate of the next phase counts.

    A gate, the phase that it leads into, or where that one takes its entries from has changed.
    """
    for source in [session.get_one(Phase, one) for one in sources if one]:
        if source.board_shows == BoardShows.LAST_ABOVE_GATE:
            rebuild_boards(session, live_version(session, source))
