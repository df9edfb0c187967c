"""What follows from runs is computed again when a competition arrives: scores of submissions, rows of boards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition
from anyshot_platform.errors import Invalid
from anyshot_platform.judging.parts import list_generation
from anyshot_platform.judging.scores import combine_scores
from anyshot_platform.leaderboards.models import BoardRow
from anyshot_platform.organizers.transfers.travelling import attributes_of
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.runs.models import Run
from anyshot_platform.scores.models import RunScore, SubmissionScore
from anyshot_platform.submissions.models import Submission

_FIGURES = ("value", "half_width", "tasks", "runs", "seconds", "by_dataset")
_OWN = ("id", "updated_at", "submission_score_id")  # of a row itself, not of what it says


class DoesNotFollow(Invalid):
    """A figure of the archive is not what its runs give."""

    code = "bad_transfer"


@dataclass(frozen=True)
class ClaimedRow:
    """A row of a board as the archive says it."""

    version_id: str
    league_id: str
    row_key: str
    figures: dict[str, Any]


def recompute(session: Session, competition: Competition) -> list[ClaimedRow]:
    """Make every score of a submission again of those of its runs; the rows of live boards as the archive has them.

    Raises `DoesNotFollow` for the first score that is another one.
    """
    claimed = list(_board_rows(session, competition))
    scores = session.execute(
        select(SubmissionScore, Submission)
        .join(Submission, Submission.id == SubmissionScore.submission_id)
        .where(Submission.competition_id == competition.id)
        .order_by(SubmissionScore.id)
    ).all()
    for score, submission in scores:
        _recompute_one(session, score, submission)
    for run, score in session.execute(
        select(Run, RunScore)
        .join(RunScore, RunScore.run_id == Run.id)
        .where(Run.competition_id == competition.id)
    ):
        said = (score.summary.mean, score.summary.half_width, score.summary.tasks)
        if (score.value, score.half_width, score.tasks) != said:
            raise DoesNotFollow(f"The score of run {run.seed_index + 1} is not that of its own summary.")
    return claimed


def _recompute_one(session: Session, score: SubmissionScore, submission: Submission) -> None:
    before = _figures(score)
    generations = session.scalars(
        select(Run.generation)
        .where(Run.submission_id == submission.id, Run.phase_version_id == score.phase_version_id)
        .distinct()
        .order_by(Run.generation.desc())
    ).all()
    for generation in generations:
        runs = list_generation(session, submission.id, score.phase_version_id, generation)
        if combine_scores(session, submission, score.phase_version_id, runs):
            break
    if not generations or _figures(score) != before:
        raise DoesNotFollow(
            f"The score of submission {submission.number} of “{submission.team.name}” is "
            f"{before[0]:.6f} in the archive, and its runs give {score.value:.6f}."
        )


def _figures(row: Any) -> tuple[Any, ...]:
    return tuple(dict(value) if isinstance(value := getattr(row, name), dict) else value for name in _FIGURES)


def _board_rows(session: Session, competition: Competition) -> Iterator[ClaimedRow]:
    """The rows of the versions that are live: those of earlier ones are of the settings of their time."""
    rows = session.scalars(
        select(BoardRow)
        .join(PhaseVersion, PhaseVersion.id == BoardRow.phase_version_id)
        .join(Phase, Phase.id == PhaseVersion.phase_id)
        .where(Phase.competition_id == competition.id, PhaseVersion.number == Phase.live_version)
    )
    for row in rows:
        figures = {name: getattr(row, name) for name in attributes_of(BoardRow) if name not in _OWN}
        yield ClaimedRow(row.phase_version_id, row.league_id, row.row_key, figures)


def require_same_boards(session: Session, claimed: list[ClaimedRow]) -> None:
    """Raise `DoesNotFollow` unless the live boards, made again, are those of the archive, to the last digit."""
    if not claimed:
        return
    query = select(Phase.competition_id).join(PhaseVersion, PhaseVersion.phase_id == Phase.id)
    competition_id = session.scalars(query.where(PhaseVersion.id == claimed[0].version_id)).one()
    session.expire_all()
    again = set(map(_key, _board_rows(session, session.get_one(Competition, competition_id))))
    missing = [row for row in claimed if _key(row) not in again]
    if missing or len(again) != len(claimed):
        raise DoesNotFollow(
            f"The boards do not follow from the scores: {len(missing)} of {len(claimed)} rows of "
            "the archive are others when they are made again."
        )


def _key(row: ClaimedRow) -> tuple[str, str, str, str]:
    return row.version_id, row.league_id, row.row_key, repr(sorted(row.figures.items()))
