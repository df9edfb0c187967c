"""Security events of accounts, in the audit log: log-ins, new passwords, tokens."""

from sqlalchemy.orm import Session

from anyshot_platform.people.audit import service as audit


def note_event(session: Session, user_id: str | None, action: str, what: str = "") -> None:
    """Note what happened to an account, done by itself (None: to none); `what` names the thing, never a secret."""
    audit.record(
        session,
        actor_id=user_id,
        action=action,
        object_type="user",
        object_id=user_id or "",
        after={"what": what} if what else None,
    )
