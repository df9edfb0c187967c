"""What all messages between worker and platform have in common."""

import re

from pydantic import BaseModel, ConfigDict, model_validator

API_VERSION = 1  # of the messages: raise when one changes
OLDEST_WORKER = 1  # the oldest version of workers that the platform still gives work to
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Message(BaseModel):
    """Base of all messages. Values never change.

    A reader takes the fields that it knows and leaves the others, so that a site and its workers may be one release
    apart; what a sender may say is what the model has, which the type checker holds.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, told: object) -> object:
        """Texts are of participants' code too: what JSON or PostgreSQL refuses would cost the whole message."""
        return storable(told)


def storable(told: object) -> object:
    """Plain data with the replacement character for each NUL and each half of a character."""
    if isinstance(told, str):
        return _UNSTORABLE.sub("\ufffd", told)
    if isinstance(told, list):
        return [storable(one) for one in told]
    if isinstance(told, dict):
        return {storable(key): storable(value) for key, value in told.items()}
    return told
