"""How a machine becomes a worker of a site: the device flow of RFC 8628, its messages in JSON.

The machine gets a device code, which it alone knows, and a user code, which it shows. An administrator enters the user
code on the site; meanwhile the machine asks for its token every `interval` seconds. Until there is one it is answered
400 with a `JoinProblem` as `error`.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from anyshot_core.wire.message import Message
from anyshot_core.wire.worker_api import WorkerInfo

JOIN_PATH = "/api/v1/worker-requests"
SLOWER_SECONDS = 5  # that `slow_down` adds to the interval


class JoinProblem(StrEnum):
    """Why a machine has no token yet, or gets none."""

    PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"


class JoinRequest(Message):
    """A machine asks to become a worker: what it would announce with a claim, without the packages of its images."""

    worker: WorkerInfo


class JoinCodes(Message):
    """The codes of a request; times in seconds."""

    device_code: str
    user_code: str = Field(description="as people read it: BCDF-GHJK")
    verification_uri: str = Field(description="the page on which the user code is entered")
    verification_uri_complete: str = Field(description="the page of this very request")
    expires_in: int
    interval: int


class TokenRequest(Message):
    """Ask for the token of a request."""

    device_code: Annotated[str, Field(max_length=100)]


class JoinToken(Message):
    """The worker's token, which is given out once."""

    access_token: str
    token_type: Literal["bearer"] = "bearer"
