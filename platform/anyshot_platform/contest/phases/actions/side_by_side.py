"""A version beside the live one: how far its re-scoring is, and every submission's score under both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.judging.execution.kinds import counting_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.scores.ranked import entry_of
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.teams.models import Team
from anyshot_scoring.rankings import rank


@dataclass(frozen=True)
class Compared:
    """A submission under the live version and under this one; ranks are among those that have both scores."""

    submission: str
    number: Annotated[int, Field(exclude=True)]
    team: str
    old: float | None
    new: float | None
    old_rank: int | None
    new_rank: int | None


@dataclass(frozen=True)
class RescoringProgress:
    """How far the re-scoring of a version is."""

    total: int
    ended: int
    failed: int


def progress_of(session: Session, version: PhaseVersion) -> RescoringProgress:
    """How far re-scoring is."""
    states = session.execute(
        select(Run.state, func.count(Run.id))
        .where(Run.phase_version_id == version.id, counting_runs())
        .group_by(Run.state)
    ).all()
    counts: dict[RunState, int] = dict(states)  # pyright: ignore[reportArgumentType]
    ended = sum(number for state, number in counts.items() if state in ENDED)
    return RescoringProgress(sum(counts.values()), ended, ended - counts.get(RunState.FINISHED, 0))


def why_without_score(session: Session, version: PhaseVersion) -> list[tuple[str, int]]:
    """The messages of the runs that ended without a score, with how many say so, most frequent first."""
    number = func.count(Run.id)
    rows = session.execute(
        select(Run.message, number)
        .where(
            Run.phase_version_id == version.id,
            counting_runs(),
            Run.state.in_([state for state in ENDED if state != RunState.FINISHED]),
        )
        .group_by(Run.message)
        .order_by(number.desc())
        .limit(10)
    )
    return [(message, found) for message, found in rows]


def compare(session: Session, phase: Phase, old: PhaseVersion, new: PhaseVersion) -> list[Compared]:
    """Every scored submission under both versions, in the order of the new ranking; ranks are of those with both."""
    scores: dict[str, dict[str, SubmissionScore]] = {}
    query = select(SubmissionScore).where(SubmissionScore.phase_version_id.in_([old.id, new.id]))
    for row in session.scalars(query):
        scores.setdefault(row.submission_id, {})[row.phase_version_id] = row
    both = [pair for pair in scores.values() if len(pair) == 2]
    old_ranks, new_ranks = _ranks(old, both), _ranks(new, both)
    rows = session.execute(
        select(Submission, Team.name)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.id.in_(scores), Submission.phase_id == phase.id)
    )
    found = []
    for submission, team in rows:
        pair = scores[submission.id]
        one, two = pair.get(old.id), pair.get(new.id)
        found.append(
            Compared(
                submission.id,
                submission.number,
                team,
                one.value if one else None,
                two.value if two else None,
                old_ranks.get(submission.id),
                new_ranks.get(submission.id),
            )
        )
    return sorted(found, key=lambda row: (row.new is None, row.new_rank or len(found), -(row.new or 0.0)))


def _ranks(version: PhaseVersion, pairs: Sequence[Mapping[str, SubmissionScore]]) -> dict[str, int]:
    entries = [entry_of(pair[version.id].submission_id, pair[version.id]) for pair in pairs]
    return {standing.key: standing.rank for standing in rank(entries, version.rule)}
