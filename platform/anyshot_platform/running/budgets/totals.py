"""How much of something a person has at this moment."""

from collections.abc import Callable

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus
from anyshot_platform.contest.pools.models import Pack, PackKeeper, Pool
from anyshot_platform.foundation.budgets import UsageBudget
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.models import Upload
from anyshot_platform.people.users.models import ApiToken


def _drafts(session: Session, user_id: str) -> int:
    query = select(func.count(Competition.id)).where(
        Competition.created_by == user_id,
        Competition.deleted_at.is_(None),
        Competition.state == CompetitionState.DRAFT,
    )
    return session.scalar(query) or 0


def _competitions(session: Session, user_id: str) -> int:
    query = select(func.count(Competition.id)).where(
        Competition.created_by == user_id, Competition.deleted_at.is_(None)
    )
    return session.scalar(query) or 0


def _pools(session: Session, user_id: str) -> int:
    query = select(func.count(Pool.id)).where(Pool.owner_id == user_id, Pool.deleted_at.is_(None))
    return session.scalar(query) or 0


def _pack_bytes(session: Session, user_id: str) -> int:
    query = (
        select(func.coalesce(func.sum(Pack.size), 0))
        .join(PackKeeper, PackKeeper.pack_id == Pack.id)
        .where(PackKeeper.user_id == user_id)
    )
    return int(session.scalar(query) or 0)


def _upload_bytes(session: Session, user_id: str) -> int:
    query = select(func.coalesce(func.sum(Upload.size), 0)).where(
        Upload.user_id == user_id, Upload.used_at.is_(None)
    )
    return int(session.scalar(query) or 0)


def _tokens(session: Session, user_id: str) -> int:
    query = select(func.count(ApiToken.id)).where(
        ApiToken.user_id == user_id,
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > now()),
    )
    return session.scalar(query) or 0


def receivers(session: Session, slug: str) -> int:
    """How many people an announcement of a competition goes to."""
    query = (
        select(func.count(Membership.id))
        .join(Competition, Competition.id == Membership.competition_id)
        .where(Competition.slug == slug, Membership.status == MemberStatus.APPROVED)
    )
    return session.scalar(query) or 0


TOTALS: dict[str, Callable[[Session, str], int]] = {
    "drafts": _drafts,
    "competitions": _competitions,
    "pools": _pools,
    "pack_bytes": _pack_bytes,
    "upload_bytes": _upload_bytes,
    "tokens": _tokens,
}


class OverBudget(Conflict):
    """All that one may have of something at a time."""

    code = "over_budget"


def require_total(services: Services, name: str, user_id: str, more: int = 1) -> None:
    """Raise `OverBudget` if a person would have more of something than the table allows."""
    budget = services.settings.budgets[name]
    if budget.limit == 0:
        return
    with services.database.glancing() as session:
        used = TOTALS[name](session, user_id)
    refuse_beyond(budget, used, more)


def refuse_beyond(budget: UsageBudget, used: int, more: int) -> None:
    """Raise `OverBudget` if what is used and what is wanted are more than the budget."""
    if used + more > budget.limit:
        raise OverBudget(_over(budget, used))


def _over(budget: UsageBudget, used: int) -> str:
    return (
        f"This site allows {budget.amount} {budget.what} for each {budget.actor}; you have {budget.words(used)}. "
        "Delete what you do not need, or ask the site's administrators for more."
    )
