"""The address in an e-mail that ends e-mails like it: signed for one account, so that it works without a log-in."""

from sqlalchemy import delete
from sqlalchemy.orm import Session

from anyshot_platform.foundation.signing import Signer
from anyshot_platform.people.notifications.models import Email, NotificationChoice
from anyshot_platform.people.notifications.service import KINDS, choose

PATH = "/unsubscribe/{user_id}/{signature}"
_PURPOSE = "unsubscribe"


def address_of(signer: Signer, user_id: str) -> str:
    """Where the account's e-mails are ended."""
    return PATH.format(user_id=user_id, signature=signer.sign(_PURPOSE, user_id))


def is_signed(signer: Signer, user_id: str, signature: str) -> bool:
    """Whether the address is one that we sent."""
    return signer.verify(_PURPOSE, user_id, signature)


def end_emails(session: Session, user_id: str) -> None:
    """Send no e-mails of any kind that can be chosen, the digest that waits included; the page goes on."""
    for kind in KINDS:
        choice = session.get(NotificationChoice, (user_id, kind))
        choose(session, user_id, kind, page=choice is None or choice.page, email=False)
    session.execute(delete(Email).where(Email.digest_of == user_id, Email.ended_at.is_(None)))
