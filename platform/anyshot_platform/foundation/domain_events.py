"""What has happened, told in its own transaction to those that the composition root lists for it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

SUBSCRIBERS_KEY = "anyshot.subscribers"  # in `session.info`, put there by the database's own sessions
Subscriber = Callable[[Session, Any], None]
Subscribers = Mapping[type, Sequence[Subscriber]]


def publish(session: Session, event: object) -> None:
    """Tell all subscribers of the event's type, in the order in which the root lists them; what one raises goes on.

    Raises:
        LookupError: the session knows no subscribers of that type, so what follows from the event would be lost.
    """
    subscribers: Subscribers = session.info.get(SUBSCRIBERS_KEY, {})
    if type(event) not in subscribers:
        raise LookupError(f"nobody subscribes to {type(event).__name__}: subscribers.py lists who does")
    for subscriber in subscribers[type(event)]:
        subscriber(session, event)
