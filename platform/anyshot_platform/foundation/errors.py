"""The base of all errors that a user of the platform may meet."""

from typing import Any


class PlatformError(Exception):
    """Something that the user has to know; subclasses set status and code and live beside what raises them."""

    status = 400
    code = "error"

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class NotFound(PlatformError):
    """The thing does not exist, or the viewer may not know that it does."""

    status = 404
    code = "not_found"


class Forbidden(PlatformError):
    """The viewer is known, and may not do this."""

    status = 403
    code = "forbidden"


class NotSignedIn(PlatformError):
    """Only those who are signed in may do this."""

    status = 401
    code = "not_signed_in"


class Conflict(PlatformError):
    """The thing is in a state that does not allow this."""

    status = 409
    code = "conflict"


class Invalid(PlatformError):
    """What was sent breaks a rule; `details` may name the field."""

    status = 422
    code = "invalid"


class TooMany(PlatformError):
    """A limit on how often somebody may do this is reached (429)."""

    status = 429
    code = "rate_limited"
