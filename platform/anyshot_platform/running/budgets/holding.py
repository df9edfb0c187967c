"""Totals hold at the moment of writing, however many requests of one person come at once.

`site.budgets.routes` refuses early, before anything is read. Between that look and the row another request of the same
person may write one, so whoever writes a counted row takes a lock on its owner first and counts again afterwards.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.pools.models import PackKeeper, Pool
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.models import Upload
from anyshot_platform.people.users.models import ApiToken, User
from anyshot_platform.running.budgets.totals import TOTALS, refuse_beyond

# What is counted, the column that says whose it is, and the budgets that it uses.
COUNTED: dict[type[Any], tuple[str, tuple[str, ...]]] = {
    Upload: ("user_id", ("upload_bytes",)),
    Competition: ("created_by", ("drafts", "competitions")),
    Pool: ("owner_id", ("pools",)),
    PackKeeper: ("user_id", ("pack_bytes",)),
    ApiToken: ("user_id", ("tokens",)),
}


def hold_totals(services: Services) -> None:
    """Let no transaction of these services write a row beyond its owner's budget: it raises `OverBudget`."""

    def count_again(session: Session, context: object) -> None:
        for user_id, name in sorted(set(_used(session))):
            _require(services, session, name, user_id)

    services.database.after_flush(count_again)


def _used(session: Session) -> Iterator[tuple[str, str]]:
    for row in session.new:
        column, names = COUNTED.get(type(row), ("", ()))
        owner = getattr(row, column, None) if column else None
        if owner is not None:
            yield from ((owner, name) for name in names)


def _require(services: Services, session: Session, name: str, user_id: str) -> None:
    budget = services.settings.budgets[name]
    if budget.limit == 0:
        return
    # Others who refer to the account are not held up by this lock (FOR NO KEY UPDATE); SQLite has one writer anyway.
    locked = select(User.is_site_admin).where(User.id == user_id).with_for_update(key_share=True)
    if not session.scalar(locked):
        refuse_beyond(budget, TOTALS[name](session, user_id), 0)
