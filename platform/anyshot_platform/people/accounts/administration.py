"""The accounts of a site, for its administrators."""

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.people.users.models import User


def list_users(session: Session, text: str = "", number: int = 1) -> tuple[list[User], Page]:
    """Accounts by name or e-mail, newest first."""
    query = select(User)
    if text.strip():
        pattern = f"%{text.strip().casefold()}%"
        query = query.where(or_(User.username_key.like(pattern), func.lower(User.email).like(pattern)))
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    page = page_of(number, 50, total)
    found = query.order_by(User.created_at.desc(), User.id).offset(page.offset).limit(page.size)
    return list(session.scalars(found)), page


def find_user(session: Session, word: str) -> User:
    """An account that is not deleted, by its id or name; raises `NotFound`."""
    by_name = select(User).where(User.username_key == word.strip().casefold())
    user = session.get(User, word) or session.scalars(by_name).one_or_none()
    if user is None or user.deleted_at is not None:
        raise NotFound("There is no such user.")
    return user
