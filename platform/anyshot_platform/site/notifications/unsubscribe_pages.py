"""Ending e-mails from an e-mail, without a log-in: a page with a button, and one click in a mail program (RFC 8058)."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.people.notifications.unsubscribing import PATH, end_emails, is_signed
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)


def signed_user(
    services: ServicesDep,
    session: SessionDep,
    user_id: Annotated[str, Path(max_length=32)],
    signature: Annotated[str, Path(max_length=64)],
) -> User:
    """The account that the address is signed for."""
    user = session.get(User, user_id) if is_signed(services.signer, user_id, signature) else None
    if user is None:
        raise NotFound("There is no such message.")
    return user


Signed = Annotated[User, Depends(signed_user)]


@router.get(PATH, dependencies=[Depends(public)])
def ask(request: Request, user: Signed) -> Response:
    """Ask first: programs that look for viruses open every address of an e-mail."""
    return render(request, "notifications/unsubscribe.html", address=request.url.path, ended=False)


@router.post(PATH, dependencies=[Depends(public)])
def end(request: Request, session: SessionDep, user: Signed) -> Response:
    """End the e-mails, for the button and for mail programs, which follow no redirect."""
    end_emails(session, user.id)
    return render(request, "notifications/unsubscribe.html", address=request.url.path, ended=True)
