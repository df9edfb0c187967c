"""Which competitions a list shows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, Exists, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import CompetitionState, MemberStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.judging.visibility.access import listed_for
from anyshot_platform.people.users.viewer import Viewer

Filter = Literal["", "open", "upcoming", "past", "mine"]


def _visible(viewer: Viewer) -> Select[Competition]:
    return select(Competition).where(Competition.deleted_at.is_(None), listed_for(viewer))


def _has_phase(*conditions: ColumnElement[bool]) -> Exists:
    return exists().where(Phase.competition_id == Competition.id, Phase.deleted_at.is_(None), *conditions)


def _running(moment: datetime) -> Exists:
    return _has_phase(
        Phase.starts_at <= moment,
        or_(Phase.ends_at.is_(None), Phase.ends_at > moment),
        Phase.closed_at.is_(None),
    )


def _narrow(
    query: Select[Competition], which: Filter, viewer: Viewer, moment: datetime
) -> Select[Competition]:
    running = _running(moment)
    coming = _has_phase(Phase.starts_at > moment, Phase.closed_at.is_(None))
    alive = Competition.state == CompetitionState.PUBLISHED
    if which == "open":
        return query.where(alive, running)
    if which == "upcoming":
        return query.where(alive, ~running, coming)
    if which == "past":
        return query.where(or_(~alive, and_(~running, ~coming)))
    if which == "mine":
        joined = exists().where(
            Membership.competition_id == Competition.id,
            Membership.user_id == (viewer.user_id or ""),
            Membership.status == MemberStatus.APPROVED,
        )
        return query.where(joined)
    return query


def find_competitions(
    session: Session, viewer: Viewer, *, which: Filter = "", text: str = "", number: int = 1, size: int = 12
) -> tuple[Sequence[Competition], Page]:
    """A page of the competitions that the viewer may know of, open ones first, then the newest.

    Every word of `text` must occur.
    """
    moment = now()
    query = _narrow(_visible(viewer), which, viewer, moment)
    for word in text.split()[:10]:
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        like = f"%{escaped}%"
        query = query.where(
            or_(Competition.title.ilike(like, escape="\\"), Competition.summary.ilike(like, escape="\\"))
        )
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    page = page_of(number, size, total)
    order = (
        Competition.state == CompetitionState.ARCHIVED,
        ~_running(moment),
        Competition.created_at.desc(),
    )
    rows = session.scalars(query.order_by(*order).offset(page.offset).limit(size)).all()
    return rows, page
