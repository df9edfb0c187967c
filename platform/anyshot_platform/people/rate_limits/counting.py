"""Rate limits, counted in the database so that they hold over all web processes."""

import time

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.database import insert_into
from anyshot_platform.foundation.signing import digest_secret
from anyshot_platform.people.users.models import RateHit


def seconds_now() -> int:
    """Whole seconds since 1970; windows are cut by them."""
    return int(time.time())


def count_hit(session: Session, what: str, who: str, *, limit: int, seconds: int, times: int = 1) -> int:
    """Count uses of `what` by `who`; the seconds to wait if they are beyond `limit` in a window, else 0."""
    moment = seconds_now()
    window = moment // seconds * seconds
    key = f"{what}:{digest_secret(who)[:40]}"  # addresses of people are not kept
    statement = insert_into(session, RateHit).values(key=key, window_start=window, count=times)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=[RateHit.key, RateHit.window_start], set_={"count": RateHit.count + times}
        )
    )
    count = session.scalar(select(RateHit.count).where(RateHit.key == key, RateHit.window_start == window))
    if (count or 0) <= limit:
        return 0
    return window + seconds - moment


def forget_old_hits(session: Session) -> None:
    """Remove the counts of windows that are long over."""
    session.execute(delete(RateHit).where(RateHit.window_start < seconds_now() - 86_400))
