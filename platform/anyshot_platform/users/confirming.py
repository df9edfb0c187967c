"""Confirmation of e-mail addresses: a link that is sent there. Until it is used, nothing else is sent there."""

from __future__ import annotations

from sqlalchemy.orm import Session

from anyshot_platform.budgets.service import spend
from anyshot_platform.database import now
from anyshot_platform.errors import Conflict, NotFound
from anyshot_platform.notifications.service import send_email
from anyshot_platform.users import service
from anyshot_platform.users.models import User
from anyshot_platform.web.services import Services

PURPOSE = "email_confirm"
HOURS = 48.0


def ask_to_confirm(services: Services, session: Session, user: User) -> None:
    """Send the link; does nothing where the address is confirmed."""
    if user.email is None or user.email_verified_at is not None:
        return
    secret = service.issue_one_time_token(session, user, PURPOSE, hours=HOURS, subject=user.email)
    send_email(
        session,
        to=user.email,
        subject=f"Confirm your address on {services.settings.site_name}",
        body=f"Somebody, probably you, made the account {user.username} with this address.\n\n"
        f"{services.settings.base_url}/confirm/{secret}\n\n"
        "The link works once, for two days. If it was not you, ignore it: nothing more is sent here.\n",
    )


def send_again(services: Services, user_id: str) -> None:
    """Send the link once more; raises `TooMany`, or `Conflict` where there is nothing to confirm."""
    spend(services, "links_sent", user_id)
    with services.database.writing() as session:
        user = session.get_one(User, user_id)
        if user.email is None or user.email_verified_at is not None:
            raise Conflict("There is no address to confirm.")
        ask_to_confirm(services, session, user)


def confirm(session: Session, secret: str) -> User:
    """Mark the address as its owner's; raises `NotFound` for a link that does not work any more."""
    user, address = service.redeem_one_time_token(session, secret, PURPOSE)
    if address != user.email:
        raise NotFound("This link is for an address that the account has no longer.")
    user.email_verified_at = user.email_verified_at or now()
    return user
