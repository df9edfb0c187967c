"""Pages of competitions that move between sites: taking one away, taking one in, and people's places."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.acts.declaration import ActRequest
from anyshot_platform.acts.service import NeedsConsent, preview
from anyshot_platform.errors import PlatformError
from anyshot_platform.kernel.filters import join_texts
from anyshot_platform.organizers.transfers.acts import TRANSFER
from anyshot_platform.site.bundles.pages import show_organize_page
from anyshot_platform.site.shell.act_frame import ask, consent_of, show_preview
from anyshot_platform.site.shell.manage_frame import AsOwner, manage_path
from anyshot_platform.site.transfers.api import claim_as, send_archive, show_places
from anyshot_platform.site.transfers.receiving import take_in
from anyshot_platform.site.users.account_pages import account_page
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import browser_session, may_organize
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.rendering import redirect
from anyshot_platform.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(browser_session)]
Beginner = Annotated[Viewer, Depends(may_organize)]


@router.get("/competitions/{slug}/manage/transfer")
def ask_to_take_away(
    request: Request, access: AsOwner, session: SessionDep, emails: bool = False
) -> Response:
    """What it means to take the competition to another site, and the field for its name."""
    wish = ActRequest(access.viewer.id, options={"emails": emails})
    shown = preview(session, TRANSFER, access.competition, wish)
    kept = [("emails", "1")] if emails else []
    return show_preview(request, shown, manage_path(access, "/exports"), kept=kept)


@router.post("/competitions/{slug}/manage/transfer")
def take_away(
    request: Request, access: AsOwner, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """The archive, for owners who type the competition's name."""
    back = manage_path(access, "/exports")
    try:
        return send_archive(
            session, services, access, consent_of(form), form.text("reason"), emails=form.flag("emails")
        )
    except NeedsConsent as error:
        session.rollback()
        return ask(request, form, error, back)
    except PlatformError as error:
        if error.status != 409:
            raise
        session.rollback()
        return redirect(back, flash=error.message, tone="bad")


@router.post("/organize/transfer")
def take_in_archive(request: Request, services: ServicesDep, viewer: Beginner, form: FormDep) -> Response:
    """Create a competition of an uploaded archive, or say what is wrong with it."""
    uploads = form.uploads("archive")
    if not uploads:
        return _refused(request, services, viewer, 422, "Choose the archive first.")

    def write(target: Path) -> None:
        with target.open("wb") as sink:
            while chunk := uploads[0].file.read(1 << 20):
                sink.write(chunk)

    try:
        slug, notices = take_in(services, viewer, write, form.text("slug"))
    except PlatformError as error:
        return _refused(request, services, viewer, error.status, error.message)
    flash = join_texts(("The competition is here, as a draft.", *notices[-1:]))
    return redirect(f"/competitions/{slug}/manage/import", flash=flash)


def _refused(request: Request, services: ServicesDep, viewer: Viewer, status: int, words: str) -> Response:
    with services.database.reading() as session:
        return show_organize_page(request, session, viewer, status=status, problems=[words])


@router.get("/account/places")
def show_own_places(
    request: Request, session: SessionDep, services: ServicesDep, viewer: InBrowser
) -> Response:
    """The viewer's codes for other sites, and the field for a code of another site."""
    found = show_places(session, services, viewer)
    return account_page(request, "places", places=found)


@router.post("/account/places")
def claim_place(session: SessionDep, viewer: InBrowser, form: FormDep) -> Response:
    """Claim a place, and go to its competition."""
    try:
        made = claim_as(session, viewer, form.text("code"), form.text("competition"))
        session.flush()
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        session.rollback()
        return redirect("/account/places", flash=error.message, tone="bad")
    return redirect(
        f"/competitions/{made.competition}", flash="The place is yours, with all that was done from it."
    )
