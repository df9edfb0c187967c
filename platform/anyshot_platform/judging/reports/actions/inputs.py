"""What reports are computed from: results of those on a board, files that runs have left, packs of pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session, aliased

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.models import Pack, PoolPack
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.judging.execution.tables import PREDICTIONS
from anyshot_platform.judging.reports.records import RunTable
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.scores.generations import newest_scored
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.tables import RESULTS
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.leaderboards.models import BoardRow
from anyshot_platform.standings.leaderboards.reading import BOARD_ORDER


class NothingToReport(Conflict):
    """The board or the pools lack what the report needs."""

    code = "nothing_to_report"


@dataclass(frozen=True)
class Stander:
    """A submission that stands on a board."""

    submission: str
    name: str
    baseline: bool
    ranked: bool  # baselines and teams out of the ranking have rows without a rank
    feedback: float | None  # the score of the submission that it was entered with
    submissions: int  # how many its team had scored where it was chosen


@dataclass(frozen=True)
class BoardInputs:
    """Those on a board, best first, and the tables of their runs."""

    standers: tuple[Stander, ...]
    results: tuple[RunTable, ...]

    def of(self, standers: Sequence[Stander]) -> BoardInputs:
        """The inputs of some of the board's entries, without the others' runs."""
        wanted = {stander.submission for stander in standers}
        return BoardInputs(tuple(standers), tuple(row for row in self.results if row.submission in wanted))

    @property
    def ranked(self) -> list[Stander]:
        """Those that the board ranks: a row out of the ranking moves nobody."""
        return [stander for stander in self.standers if stander.ranked]

    @property
    def names(self) -> dict[str, str]:
        """Names to show, by submission."""
        return {stander.submission: stander.name for stander in self.standers}

    @property
    def feedback(self) -> dict[str, float]:
        """Scores of the feedback phase, by submission."""
        return {s.submission: s.feedback for s in self.standers if s.feedback is not None}

    @property
    def submissions(self) -> dict[str, int]:
        """How many submissions each one's team had scored in the phase where this one was chosen."""
        return {stander.submission: stander.submissions for stander in self.standers}


def gather_board(session: Session, version: PhaseVersion, league: League) -> BoardInputs:
    """All who stand on the board with their results, best first, those out of the ranking last.

    Raises `NothingToReport` where the results of one of them are no longer kept.
    """
    rows = session.execute(
        select(Submission, Team.name, BoardRow.ranked)
        .join(BoardRow, BoardRow.submission_id == Submission.id)
        .join(Team, Team.id == BoardRow.team_id)
        .where(BoardRow.phase_version_id == version.id, BoardRow.league_id == league.id)
        .order_by(~BoardRow.ranked, *BOARD_ORDER)
    ).all()
    wanted = [submission.origin_id for submission, *_ in rows if submission.origin_id]
    origins = {row.id: row for row in session.scalars(select(Submission).where(Submission.id.in_(wanted)))}
    chosen = [origins.get(submission.origin_id or "", submission) for submission, *_ in rows]
    scored = _count_scored(session, {row.phase_id for row in chosen})
    standers = [
        Stander(
            submission=submission.id,
            name=(submission.comment or team) if submission.kind == SubmissionKind.BASELINE else team,
            baseline=submission.kind == SubmissionKind.BASELINE,
            ranked=ranked,
            feedback=None if origin is submission else origin.score,
            submissions=max(1, scored.get((origin.phase_id, origin.team_id), 0)),
        )
        for (submission, team, ranked), origin in zip(rows, chosen, strict=True)
    ]
    results = results_of(session, version, [stander.submission for stander in standers])
    kept = {row.submission for row in results}
    lost = [stander.name for stander in standers if stander.submission not in kept]
    if lost:
        raise NothingToReport(f"The results of each task are no longer kept of {', '.join(lost[:5])}.")
    return BoardInputs(tuple(standers), tuple(results))


def _count_scored(session: Session, phases: set[str]) -> dict[tuple[str, str], int]:
    """How many of a team's entries were scored, by phase and team."""
    counted = session.execute(
        select(Submission.phase_id, Submission.team_id, func.count())
        .where(
            Submission.phase_id.in_(phases),
            Submission.kind == SubmissionKind.ENTRY,
            Submission.score.is_not(None),
        )
        .group_by(Submission.phase_id, Submission.team_id)
    )
    return {(phase, team): count for phase, team, count in counted}


def files_of(
    session: Session, version: PhaseVersion, submissions: Sequence[str], name: str
) -> list[tuple[str, int, str, int]]:
    """Submission, seeded run, digest and size of a file that the runs that count have left, where it is kept."""
    newest = newest_scored(version, submissions)
    rows = session.execute(
        select(Run.submission_id, Run.seed_index, Artifact.digest, Artifact.size)
        .join(newest, (newest.c.submission_id == Run.submission_id) & (newest.c.generation == Run.generation))
        .join(Artifact, Artifact.run_id == Run.id)
        .where(
            Run.phase_version_id == version.id,
            Run.state == RunState.FINISHED,
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
        .order_by(Run.submission_id, Run.seed_index)
    )
    return [(submission or "", seed, digest, size) for submission, seed, digest, size in rows]


def results_of(session: Session, version: PhaseVersion, submissions: Sequence[str]) -> list[RunTable]:
    """The tables of the runs that count, their predictions where kept: of each submission's newest generation."""
    newest = newest_scored(version, submissions)
    predictions = aliased(Artifact)
    rows = session.execute(
        select(
            Run.submission_id,
            Run.seed_index,
            Artifact.digest,
            Artifact.size,
            predictions.digest,
            predictions.size,
        )
        .join(RunScore, RunScore.run_id == Run.id)
        .join(
            newest,
            (newest.c.submission_id == Run.submission_id) & (newest.c.generation == Run.generation),
        )
        .join(Artifact, Artifact.run_id == Run.id)
        .outerjoin(
            predictions,
            (predictions.run_id == Run.id)
            & (predictions.name == PREDICTIONS)
            & predictions.final
            & predictions.expired_at.is_(None)
            & (Run.shard_count == 1),  # a shard has those of its own tasks only
        )
        .where(
            Run.phase_version_id == version.id,
            Run.state == RunState.FINISHED,
            Artifact.name == RESULTS,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
        .order_by(Run.submission_id, Run.seed_index)
    )
    return [
        RunTable(
            submission=submission or "",
            run=seed,
            digest=digest,
            size=size,
            predictions=(kept, kept_size) if kept else None,
        )
        for submission, seed, digest, size, kept, kept_size in rows
    ]


def pack_digests(session: Session, pool_version_id: str | None) -> list[str]:
    """Digests of a pool's packs, in order."""
    return list(
        session.scalars(
            select(Pack.digest)
            .join(PoolPack, PoolPack.pack_id == Pack.id)
            .where(PoolPack.pool_version_id == (pool_version_id or ""))
            .order_by(PoolPack.position)
        )
    )
