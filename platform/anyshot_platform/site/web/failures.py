"""One handler for every error: JSON for programs, a page for people."""

import logging
import re
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, TimeoutError
from sqlalchemy.orm.exc import StaleDataError
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from anyshot_platform.foundation.errors import NotSignedIn, PlatformError
from anyshot_platform.foundation.schema.problems import in_words
from anyshot_platform.people.accounts.proving import NeedsProof
from anyshot_platform.site.web.rendering import redirect, render, wants_html

log = logging.getLogger(__name__)
_TITLES = {
    401: "Please log in",
    403: "Not allowed",
    404: "Not found",
    409: "Not possible now",
    422: "Something is wrong with this request",
    429: "Too many attempts",
}
_COMPETITION = re.compile(r"/competitions/[^/]+(?=/)")


class FailureOut(BaseModel):
    """Every error: a word for programs, a sentence for people, and what some errors add, such as `retry_after`."""

    model_config = ConfigDict(extra="allow")

    error: str
    message: str


_BUSY = "The site or its database has no time just now; `Retry-After` says when to ask again."
DECLARED: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": FailureOut, "description": "The request is refused: `error` and `message` say why."},
    503: {"model": FailureOut, "description": _BUSY},
}


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error in one form."""
    app.add_exception_handler(PlatformError, _answer_platform_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid_request)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(IntegrityError, _answer_collision)
    app.add_exception_handler(StaleDataError, _answer_collision)
    app.add_exception_handler(DataError, _answer_unstorable)
    app.add_exception_handler(OverflowError, _answer_unstorable)
    app.add_exception_handler(TimeoutError, _answer_without_database)
    app.add_exception_handler(OperationalError, _answer_without_database)
    app.add_exception_handler(Exception, _answer_bug)


def answer(request: Request, status: int, code: str, message: str, /, **details: object) -> Response:
    """An error as JSON or as a page."""
    if wants_html(request):
        title = _TITLES.get(status, "Something went wrong" if status >= 500 else "This is not possible")
        around = _COMPETITION.match(request.url.path)
        return render(
            request,
            "error.html",
            status_code=status,
            status=status,
            title=title,
            message=message,
            competition_href=around[0] if around else "",
            details=details,
        )
    said = {"message": message, **details}
    return JSONResponse({"error": code, **said}, status_code=status)


def _answer_platform_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, PlatformError)
    if isinstance(error, NotSignedIn) and wants_html(request) and request.method == "GET":
        return redirect(f"/login?next={quote(_where(request))}")
    if isinstance(error, NeedsProof) and wants_html(request):
        return _ask_for_proof(request)
    response = answer(request, error.status, error.code, error.message, **error.details)
    if "retry_after" in error.details:
        response.headers["retry-after"] = str(error.details["retry_after"])
    return response


def _ask_for_proof(request: Request) -> Response:
    """Go to the page that asks for password or code; a form goes along, and is sent on from there."""
    asked = {"next": _where(request)}
    if request.method == "GET":
        return redirect(f"/account/prove?{urlencode(asked)}")
    asked["again"] = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/account/prove?{urlencode(asked)}", status_code=307)


def _where(request: Request) -> str:
    """The page that was asked for, or the one of ours that a form was sent from."""
    if request.method == "GET":
        return request.url.path + (f"?{request.url.query}" if request.url.query else "")
    sent_from = urlsplit(request.headers.get("referer", ""))
    return sent_from.path if sent_from.netloc == request.url.netloc else "/"


def _answer_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [
        {"where": ".".join(str(part) for part in problem["loc"]), "problem": _problem_words(request, problem)}
        for problem in error.errors()
    ]
    return answer(
        request,
        422,
        "invalid",
        "A part of the address or form has a value that is not allowed.",
        problems=problems,
    )


def _problem_words(request: Request, problem: Any) -> str:
    """What is wrong with a field; people are not shown regular expressions."""
    if problem["type"] == "string_pattern_mismatch" and wants_html(request):
        return f"This page does not know the value “{problem['input']}”"
    return in_words(problem)


def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = str(error.detail)
    code = message.lower().replace(" ", "_")
    if error.status_code == 404 and message == "Not Found":
        message = "There is no page at this address. It may have moved, or the address may be mistyped."
    response = answer(request, error.status_code, code, message)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response


def _answer_collision(request: Request, error: Exception) -> Response:
    """Somebody else was quicker: a name that is there once was taken, or a row changed since it was read."""
    log.warning("two acts collided", extra={"path": request.url.path, "error": str(error)[:500]})
    message = "Somebody else changed the same thing at this moment. Please look, and try again."
    return answer(request, 409, "conflict", message)


def _answer_unstorable(request: Request, error: Exception) -> Response:
    log.warning("a value fits no column", extra={"path": request.url.path, "error": str(error)[:500]})
    return answer(request, 422, "invalid", "A number or a text of this request is too large.")


def _answer_without_database(request: Request, error: Exception) -> Response:
    log.warning("the database does not answer", extra={"path": request.url.path, "error": str(error)[:200]})
    message = "The site's database does not answer just now. Please try again in a moment."
    if wants_html(request):  # the page's frame would ask the database too
        response: Response = PlainTextResponse(message, status_code=503)
    else:
        response = JSONResponse({"error": "unavailable", "message": message}, status_code=503)
    response.headers["retry-after"] = "5"
    return response


def _answer_bug(request: Request, error: Exception) -> Response:
    log.error("request failed", exc_info=error, extra={"path": request.url.path, "method": request.method})
    return answer(request, 500, "internal", "This is our fault, and it has been logged.")
