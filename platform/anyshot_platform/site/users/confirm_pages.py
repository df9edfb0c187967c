"""The link that confirms an address. It asks for a click: mail programs open links by themselves."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts.confirming import confirm, send_again
from anyshot_platform.people.accounts.new_address import PURPOSE as NEW_ADDRESS
from anyshot_platform.people.accounts.new_address import ask_for_address, take_address
from anyshot_platform.people.accounts.service import is_link_for
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.users.account_pages import security_page
from anyshot_platform.site.web.access import browser_session, proved, public
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
Secret = Annotated[str, Path(max_length=100)]


@router.get("/confirm/{secret}", dependencies=[Depends(public)])
def show_confirm(request: Request, secret: Secret) -> Response:
    """Asks for the click."""
    del secret  # looked at when the form is sent
    return render(request, "users/confirm.html", problem="")


@router.post("/confirm/{secret}", dependencies=[Depends(public)])
def confirm_address(request: Request, services: ServicesDep, secret: Secret) -> Response:
    """Confirm the address."""
    try:
        with services.database.writing() as session:
            if is_link_for(session, secret, NEW_ADDRESS):
                take_address(services, session, secret)
            else:
                confirm(session, secret)
    except PlatformError as error:
        return render(request, "users/confirm.html", status_code=error.status, problem=error.message)
    return redirect("/", flash="Your e-mail address is confirmed.")


@router.post("/account/confirm")
def ask_again(viewer: Annotated[Viewer, Depends(browser_session)], services: ServicesDep) -> Response:
    """Send the link again."""
    try:
        send_again(services, viewer.id)
    except PlatformError as error:
        return redirect("/account/security", flash=error.message, tone="bad")
    return redirect("/account/security", flash="The link is on its way.")


@router.post("/account/security/address")
def change_address(
    request: Request,
    viewer: Annotated[Viewer, Depends(proved(browser_session))],
    services: ServicesDep,
    session: SessionDep,
    form: FormDep,
) -> Response:
    """Ask the new address for a click, or take it where the site sends no mail."""
    address = form.text("email", 320)
    try:
        sent = ask_for_address(services, viewer.id, address)
    except PlatformError as error:
        error.details.setdefault("field", "email")
        return security_page(request, viewer, services, session, error, {"email": address})
    words = "Open the link that was sent to the new address." if sent else "Your address is changed."
    return redirect("/account/security", flash=words)
