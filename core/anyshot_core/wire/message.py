"""What all messages between worker and platform have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

API_VERSION = 8  # of the messages: raise when one changes
OLDEST_WORKER = 1  # the oldest version of workers that the platform still gives work to


class Message(BaseModel):
    """Base of all messages. Values never change.

    A reader takes the fields that it knows and leaves the others, so that a site and its workers may be one release
    apart; what a sender may say is what the model has, which the type checker holds.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
