"""What site administrators do to accounts."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from anyshot_platform.accounts.proving import require_proof
from anyshot_platform.accounts.second_factor import turn_off
from anyshot_platform.audit import service as audit
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict, Invalid, NotFound
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.paging import Page, page_of
from anyshot_platform.users.models import ApiToken, LoginSession, User

_DONE: dict[str, Callable[[User], bool]] = {
    # what another administrator has done already is not done, nor noted, once more
    "block": lambda user: user.blocked_at is not None,
    "unblock": lambda user: user.blocked_at is None,
    "promote": lambda user: user.is_site_admin,
    "demote": lambda user: not user.is_site_admin,
    "let-organize": lambda user: user.may_organize,
    "stop-organizing": lambda user: not user.may_organize,
    "reset-second-factor": lambda user: user.second_factor_since is None,
}
GRANTING = ("promote", "let-organize", "reset-second-factor")  # acts that ask for password or code again


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


def change_user(session: Session, user_id: str, act: str, actor_id: str) -> User:
    """Block, make administrator, let organize, and back; take the second factor off; end all sessions and tokens."""
    user = session.get(User, user_id)
    if user is None or user.deleted_at is not None:
        raise NotFound(say("There is no such user."))
    if act in GRANTING:
        require_proof(session)
    if user.id == actor_id and act in ("block", "demote"):
        raise Conflict(say("You cannot do this to yourself."))
    if act in _DONE and _DONE[act](user):
        return user
    if act == "block":
        user.blocked_at = now()
        _end_everything(session, user)
    elif act == "unblock":
        user.blocked_at = None
    elif act in ("promote", "demote"):
        user.is_site_admin = act == "promote"
    elif act in ("let-organize", "stop-organizing"):
        user.may_organize = act == "let-organize"
    elif act == "reset-second-factor":
        turn_off(session, user)
        _end_everything(session, user)
    elif act == "sign-out":
        _end_everything(session, user)
    else:
        raise Invalid(say("There is no such act."))
    audit.record(session, actor_id=actor_id, action=f"user.{act}", object_type="user", object_id=user.id)
    return user


def _end_everything(session: Session, user: User) -> None:
    for table in (LoginSession, ApiToken):
        session.execute(
            update(table).where(table.user_id == user.id, table.revoked_at.is_(None)).values(revoked_at=now())
        )
