"""Cross-site request forgery: every unsafe request that a cookie authenticates must carry a token.

The token is bound to the session cookie where there is one and else to a cookie of its own, so that log-in and
sign-up forms are protected too. Each page has another one: pages are compressed, and the length of a compressed page
would tell a constant secret digit by digit to somebody who can put words into it (BREACH). Requests with an
Authorization header need none: a browser never sends one by itself. JSON requests without any cookie need none
either: they cannot come from another site's form.
"""

import secrets

from fastapi import Request
from starlette.responses import Response

from anyshot_platform.foundation.database import is_storable
from anyshot_platform.foundation.errors import Forbidden, Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import new_secret
from anyshot_platform.people.notifications.unsubscribing import PATH as UNSUBSCRIBE
from anyshot_platform.site.web.services import SAFE_METHODS, ServicesDep
from anyshot_platform.site.web.viewer import SESSION_COOKIE

CSRF_COOKIE = "anyshot_csrf"
CSRF_FIELD = "csrf_token"
CSRF_HEADER = "x-csrf-token"
_FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", "")
_LONGEST_TOKEN = 128
_SALT_DIGITS = 32


class CsrfFailed(Forbidden):
    """The form's token is missing or belongs to another session."""

    code = "csrf_failed"


def csrf_token(request: Request, services: Services) -> str:
    """The token for forms on the page that answers `request`: a salt, and the signature with it."""
    salt = secrets.token_hex(_SALT_DIGITS // 2)
    return salt + services.signer.sign("csrf", salt + _binding(request))


async def guard_csrf(request: Request, services: ServicesDep) -> None:
    """Refuse unsafe requests without a valid token; a dependency of the whole application."""
    content_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    await refuse_bad_text(request, content_type)
    if request.method in SAFE_METHODS or "authorization" in request.headers:
        return
    if request.scope["route"].path == UNSUBSCRIBE:
        return  # a mail program sends it (RFC 8058); its address is signed, and a cookie changes nothing
    has_cookie = SESSION_COOKIE in request.cookies
    if not has_cookie and content_type not in _FORM_TYPES:
        return
    token = request.headers.get(CSRF_HEADER, "")
    if not token and content_type in _FORM_TYPES[:2]:
        sent = (await request.form()).get(CSRF_FIELD)
        token = sent if isinstance(sent, str) else ""
    salt, signature = token[:_SALT_DIGITS], token[_SALT_DIGITS:]
    if len(token) > _LONGEST_TOKEN or not services.signer.verify("csrf", salt + _binding(request), signature):
        raise CsrfFailed("This form is out of date. Please load the page again and repeat what you did.")


async def refuse_bad_text(request: Request, content_type: str) -> None:
    """Refuse addresses, forms and JSON with characters that no database holds.

    Raises:
        Invalid: a NUL, or half of a character.
    """
    texts = [request.url.path, *(text for pair in request.query_params.multi_items() for text in pair)]
    if request.method not in SAFE_METHODS and content_type in _FORM_TYPES[:2]:
        texts += [
            text for pair in (await request.form()).multi_items() for text in pair if isinstance(text, str)
        ]
    if not all(map(is_storable, texts)):
        raise Invalid(
            "The request holds a character that no text can hold: NUL, or half of a surrogate pair."
        )


def set_csrf_cookie(request: Request, response: Response, services: Services) -> None:
    """Give the browser the cookie that the token of a signed-out visitor is bound to, if one was made."""
    fresh = getattr(request.state, "csrf_secret", None)
    if fresh is not None:
        response.set_cookie(
            CSRF_COOKIE,
            fresh,
            httponly=True,
            samesite="lax",
            secure=services.settings.cookies_over_https_only,
            path="/",
        )


def _binding(request: Request) -> str:
    session = request.cookies.get(SESSION_COOKIE)
    if session:
        return f"session:{session}"
    known = request.cookies.get(CSRF_COOKIE) or getattr(request.state, "csrf_secret", None)
    if known is None:
        known = request.state.csrf_secret = new_secret()
    return f"visitor:{known}"
