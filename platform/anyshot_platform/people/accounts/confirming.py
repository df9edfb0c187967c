"""Confirmation of e-mail addresses: a link that is sent there. Until it is used, nothing else is sent there."""

from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import Conflict, NotFound, TooMany
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts import service
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.users.models import User

PURPOSE = "email_confirm"
HOURS = 48.0


def may_mail(services: Services, address: str) -> bool:
    """Whether one more mail may go to an address that somebody typed: no mailbox is flooded, and no answer tells."""
    try:
        spend(services, "links_sent", f"address {address.strip().casefold()}")
    except TooMany:
        return False
    return True


def ask_to_confirm(services: Services, session: Session, user: User) -> None:
    """Send the link, or to the owner of a known address a notice; does nothing where the address is confirmed."""
    if user.email is None or user.email_verified_at is not None:
        return
    words = (
        "Somebody, probably you, created the account {name} with this "
        "address.\n\n{link}\n\nThe link works once, for two days. If it was not you, ignore "
        "it: nothing more is sent here.\n"
    )
    send_link(services, session, user, user.email, PURPOSE, words)


def send_link(
    services: Services, session: Session, user: User, address: str, purpose: str, words: str
) -> None:
    """Send the link that confirms an address, or to its owner a notice; `words` hold `name` and `link`."""
    owner = service.find_by_address(session, address)
    if owner is not None and owner is not user:
        _tell_owner(services, session, owner)
        return
    secret = service.issue_one_time_token(session, user, purpose, hours=HOURS, subject=address)
    link = f"{services.settings.base_url}/confirm/{secret}"
    send_email(
        session,
        to=address,
        subject=f"Confirm your address on {services.settings.site_name}",
        body=words.format(name=user.username, link=link),
    )


def _tell_owner(services: Services, session: Session, owner: User) -> None:
    """Tell the owner of an address that somebody wanted it for another account."""
    assert owner.email is not None
    send_email(
        session,
        to=owner.email,
        subject=f"You have an account on {services.settings.site_name} already",
        body=(
            "Somebody, perhaps you, wanted this address for another account. It belongs to your "
            f"account {owner.username}; the other one cannot use it.\n\nLog in as "
            f"{owner.username}: {services.settings.base_url}/login\nIf you forgot the password: "
            f"{services.settings.base_url}/reset\n\nIf it was not you, nothing has changed, and "
            "there is nothing to do.\n"
        ),
    )


def send_again(services: Services, user_id: str) -> None:
    """Send the link once more; raises `TooMany`, or `Conflict` where there is nothing to confirm."""
    spend(services, "links_sent", user_id)
    with services.database.reading() as session:
        address = session.get_one(User, user_id).email
    welcome = may_mail(services, address or "")
    with services.database.writing() as session:
        user = session.get_one(User, user_id)
        if user.email is None or user.email_verified_at is not None:
            raise Conflict("There is no address to confirm.")
        if welcome:
            ask_to_confirm(services, session, user)


def confirm(session: Session, secret: str) -> User:
    """Mark the address as its owner's; raises `NotFound` for a link that does not work any more, or `NameTaken`."""
    user, address = service.redeem_one_time_token(session, secret, PURPOSE)
    if address != user.email:
        raise NotFound("This link is for an e-mail address that your account no longer uses.")
    service.own_address(session, user)
    return user
