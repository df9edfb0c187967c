"""Another e-mail address for an account: a link goes to it, and the account has it once the link is opened."""

from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.accounts import service
from anyshot_platform.people.accounts.confirming import may_mail, send_link
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.people.rate_limits.service import spend
from anyshot_platform.people.users.models import User

PURPOSE = "email_change"


def ask_for_address(services: Services, user_id: str, address: str) -> bool:
    """Send a link to the new address; whether one is needed. A site without mail takes the address as it is written.

    Raises `Invalid`, `TooMany`, or where no link is needed `NameTaken`: a site that sends mail tells nobody but its
    owner that an address has an account.
    """
    spend(services, "links_sent", user_id)
    address = service.check_email(address)
    with services.database.reading() as session:
        if session.get_one(User, user_id).email == address:
            raise Invalid("This is the address of your account already.", field="email")
    asks = services.settings.asks_to_confirm
    welcome = asks and may_mail(services, address)
    with services.database.writing() as session:
        user = session.get_one(User, user_id)
        if not asks:
            _take(session, user, address)
        elif welcome:
            words = (
                "The account {name} is to have this address. Open the link to confirm "
                "it:\n\n{link}\n\nThe link works once, for two days. If it was not you, "
                "ignore it: nothing more is sent here.\n"
            )
            send_link(services, session, user, address, PURPOSE, words)
    return asks


def take_address(services: Services, session: Session, secret: str) -> User:
    """Give the account the address that the link went to, and tell the old one; raises `NotFound` or `NameTaken`."""
    user, address = service.redeem_one_time_token(session, secret, PURPOSE)
    before = user.email if user.email_verified_at is not None else None
    _take(session, user, address)
    if before is not None:
        send_email(
            session,
            to=before,
            subject=f"Your account on {services.settings.site_name} has another address",
            body=(
                f"Your account {user.username} has a new e-mail address: mails and links to log in "
                "go there from now on, and this address can no longer be used to log in.\n\nIf it "
                "was not you, somebody has your password: tell the operators of the site at "
                f"once.\n\n{services.settings.base_url}\n"
            ),
        )
    return user


def _take(session: Session, user: User, address: str) -> None:
    user.email, user.email_verified_at = address, None
    service.own_address(session, user)
    service.void_links(session, user.id)  # those of before went to an address that the account has no longer
    note_event(session, user.id, "account.new_address")
