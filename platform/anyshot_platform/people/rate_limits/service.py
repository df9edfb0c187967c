"""Counts what actors use and refuses what is beyond their budgets, with words and the time to come back."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.budgets import UsageBudget
from anyshot_platform.foundation.errors import TooMany
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.rate_limits.counting import count_hit, seconds_now
from anyshot_platform.people.users.models import RateHit


def spend(services: Services, name: str, who: str, *, times: int = 1, share: int = 1) -> None:
    """Count `times` uses by `who`, in a transaction of its own; raises `TooMany` beyond `times` the limit x `share`.

    A refused or failed act counts as well.
    """
    budget = services.settings.budgets[name]
    if budget.limit == 0 or budget.seconds is None:
        return
    with services.database.writing() as session:
        what, limit = _counted_as(name, share), budget.limit * share
        wait = count_hit(session, what, who, limit=limit, seconds=budget.seconds, times=times)
    if wait:
        raise TooMany(_too_many(budget, wait), retry_after=wait)


def _counted_as(name: str, share: int) -> str:
    """What a use is counted as, so that its limit can be told from its row: the budget's name, with its share."""
    return name if share == 1 else f"{name}*{share}"


def _limit_of(budgets: dict[str, UsageBudget], counted_as: str) -> tuple[str, int]:
    """The budget that a use was counted for, and the limit that held for it."""
    name, _, share = counted_as.partition("*")
    limit = budgets[name].limit if name in budgets else 0
    return name, limit * int(share or 1)


def count_refused(session: Session, budgets: dict[str, UsageBudget]) -> dict[str, int]:
    """How many actors went beyond each budget that is counted over time, in the last day."""
    since = seconds_now() - 86_400
    counted = {name: budget for name, budget in budgets.items() if budget.seconds and budget.limit}
    rows = session.execute(
        select(RateHit.key, func.max(RateHit.count))
        .where(RateHit.window_start >= since)
        .group_by(RateHit.key)
    ).all()
    found = dict.fromkeys(counted, 0)
    for key, count in rows:
        name, limit = _limit_of(counted, key.partition(":")[0])
        if limit and count > limit:
            found[name] += 1
    return found


def _too_many(budget: UsageBudget, wait: int) -> str:
    return (
        f"Too many {budget.what}: this site allows {budget.amount} {budget.period} for each {budget.actor}. "
        f"Please try again in {in_words(wait)}."
    )


def in_words(seconds: int) -> str:
    """A time to wait."""
    if seconds < 120:
        return f"{seconds} seconds"
    return f"{-(-seconds // 60)} minutes" if seconds < 7200 else f"{-(-seconds // 3600)} hours"
