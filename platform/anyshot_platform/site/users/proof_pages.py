"""Where a browser is asked again for password or code, before something dangerous."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.people.accounts.oauth import offered
from anyshot_platform.people.accounts.proving import prove
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.users.pages import safe_next
from anyshot_platform.site.web.access import browser_session
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep

router = APIRouter(prefix="/account/prove", include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(browser_session)]
Address = Annotated[str, Query(max_length=2000)]
_OWN = ("csrf_token", "proof")


@dataclass(frozen=True)
class AskedAt:
    """The page to go to after the proof, or the address to which the form that needs it is sent on, with its fields."""

    next: str
    again: str = ""
    fields: Sequence[tuple[str, str]] = ()


@router.get("")
def show_prove(request: Request, viewer: InBrowser, services: ServicesDep, next: Address = "/") -> Response:
    """The form for password or code."""
    return _page(request, viewer, services, AskedAt(safe_next(next)))


@router.post("")
def send_proof(
    request: Request,
    viewer: InBrowser,
    services: ServicesDep,
    form: FormDep,
    next: Address = "/",
    again: Address = "",
) -> Response:
    """Take the proof, and send the form that needed it on. That form comes here first, without a proof."""
    asked = _read_asked(form, next, again)
    proof = form.text("proof", 320)
    if not proof:
        return _page(request, viewer, services, asked)
    try:
        prove(services, viewer, proof)
    except PlatformError as error:
        return _page(request, viewer, services, asked, error)
    if asked.again:
        return RedirectResponse(asked.again, status_code=307)
    return redirect(asked.next, flash="Thank you. Now do it once more.")


def _read_asked(form: SentForm, next: str, again: str) -> AskedAt:
    """What comes after the proof. A form with files is not kept: a browser sends no file that was not chosen."""
    sent = [pair for pair in form.data.multi_items() if pair[0] not in _OWN]
    fields = [(name, value) for name, value in sent if isinstance(value, str)]
    if not again or len(fields) < len(sent):
        return AskedAt(safe_next(next))
    return AskedAt(safe_next(next), safe_next(again), fields)


def _page(
    request: Request,
    viewer: Viewer,
    services: ServicesDep,
    asked: AskedAt,
    problem: PlatformError | None = None,
) -> Response:
    with services.database.reading() as session:
        user = session.get_one(User, viewer.id)
    query = {"next": asked.next, **({"again": asked.again} if asked.again else {})}
    return render(
        request,
        "users/prove.html",
        status_code=problem.status if problem else 200,
        asked=asked,
        here=f"/account/prove?{urlencode(query)}",
        problem=problem.message if problem else "",
        by_code=user.second_factor_since is not None,
        has_password=user.password_hash is not None,
        providers=offered(services.settings),
    )
