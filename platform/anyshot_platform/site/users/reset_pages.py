"""Password reset by a link sent by e-mail."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form, Path, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts import service
from anyshot_platform.people.accounts.limiting import limit_links, limit_links_of_account
from anyshot_platform.people.accounts.security_log import note_event
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(include_in_schema=False)
PURPOSE = "password_reset"
HOURS = 1.0
Secret = Annotated[str, Path(max_length=100)]


@router.get("/reset", dependencies=[Depends(public)])
def show_request(request: Request) -> Response:
    """Asks for the e-mail address."""
    return render(request, "users/reset_request.html")


@router.post("/reset", dependencies=[Depends(public)])
def send_link(
    request: Request, services: ServicesDep, email: Annotated[str, Form(max_length=320)]
) -> Response:
    """Send a link, if the address has an account; the answer does not tell whether it has."""
    try:
        limit_links(request, services)
        limit_links_of_account(services, email)
    except PlatformError as error:
        return render(
            request,
            "users/reset_request.html",
            status_code=error.status,
            errors={"email": error.message},
            values={"email": email},
        )
    with services.database.writing() as session:
        user = service.find_for_reset(session, email)
        if user is not None and user.email and user.blocked_at is None:
            secret = service.issue_one_time_token(session, user, PURPOSE, hours=HOURS)
            note_event(session, user.id, "account.reset_link")
            send_email(
                session,
                to=user.email,
                subject=f"Reset your password on {services.settings.site_name}",
                body=(
                    "Somebody, probably you, asked to reset the password of "
                    f"{user.username}.\n\n{services.settings.base_url}/reset/{secret}\n\nThe link "
                    "works once, for an hour. If it was not you, nothing has changed.\n"
                ),
            )
    return render(
        request,
        "message.html",
        title="Check your inbox",
        text="If the address has an account here, a link to set a new password is on its way.",
        icon_name="mail",
        href="/login",
        link_text="Back to log in",
    )


@router.get("/reset/{secret}", dependencies=[Depends(public)])
def show_form(request: Request, secret: Secret) -> Response:
    """Asks for the new password."""
    del secret  # it is looked at when the form is sent: mail programs open links too
    return render(request, "users/reset_confirm.html")


@router.post("/reset/{secret}", dependencies=[Depends(public)])
def set_password(
    request: Request, services: ServicesDep, secret: Secret, password: Annotated[str, Form(max_length=320)]
) -> Response:
    """Set it; all sessions of the account end."""
    try:
        service.reset_password(services.database, secret, PURPOSE, password)
    except PlatformError as error:
        return render(
            request,
            "users/reset_confirm.html",
            status_code=error.status,
            errors={"password" if error.details.get("field") == "password" else "": error.message},
        )
    return redirect("/login", flash="Your new password is set. Log in with it.")
