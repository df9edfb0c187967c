"""On which boards a baseline stands: those of its leagues, as long as they are there."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.standings.baselines.models import Baseline


def boards_of(session: Session, baseline: Baseline) -> list[str]:
    """The leagues that a baseline names, without deleted ones."""
    there = set(
        session.scalars(
            select(League.slug).where(
                League.competition_id == baseline.competition_id, League.deleted_at.is_(None)
            )
        )
    )
    return [slug for slug in baseline.leagues if slug in there]


def why_on_no_board(session: Session, baseline: Baseline) -> str:
    """Why a baseline has no board to stand on, in words for organizers; empty where it has one."""
    if not baseline.leagues or boards_of(session, baseline):
        return ""
    return (
        f"“{baseline.name}” is not run: it names the leagues {', '.join(baseline.leagues)}, and "
        "none of them is there. Restore one of them, or remove the baseline and add it again."
    )
