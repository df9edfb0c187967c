"""The organizers' texts: the pages of a competition, each with its preview, and the images and files in them."""

import re
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse, Response

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.bundles.page_values import fill, has_values, unknown_in
from anyshot_platform.contest.competitions.actions import file_acts, organizing, page_acts
from anyshot_platform.contest.competitions.actions.texts import values_now
from anyshot_platform.contest.competitions.files import MOST_BYTES, find_file, is_image, list_files
from anyshot_platform.contest.competitions.models import CompetitionPage
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import perform_named, save_typed
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsReviewer,
    carry_out_change,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.markdown import markdown
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage", include_in_schema=False)


@router.get("/pages")
def show_pages(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """The list of pages, and the files that they show."""
    return render_manage(
        request,
        session,
        access,
        "pages.html",
        "pages",
        heading="Pages and files",
        pages=access.competition.pages,
        files=list_files(session, access.competition),
        is_image=is_image,
        most_bytes=MOST_BYTES,
        file_acts=file_acts.ACTS,
    )


@router.get("/pages/new")
def show_new_page(request: Request, access: AsOrganizer, session: SessionDep) -> Response:
    """The form of a page that is not there yet."""
    return _show_form(request, access, session, None)


@router.get("/pages/{page_id}")
def show_page_form(request: Request, access: AsReviewer, session: SessionDep, page_id: str) -> Response:
    """The form of a page, with what it shows."""
    return _show_form(request, access, session, organizing.find_page(access.competition, page_id))


def _show_form(
    request: Request,
    access: CompetitionAccess,
    session: Session,
    page: CompetitionPage | None,
    seen: str = "",
    **refused: Any,
) -> Response:
    known = tag_of(organizing.page_fields(page)) if page else ""
    return render_manage(
        request,
        session,
        access,
        "page.html",
        "pages",
        heading=page.title if page else "A new page",
        page=page,
        page_acts=page_acts.ACTS,
        page_values=values_now(session, access.competition),
        seen=seen or known,
        **refused,
    )


@router.post("/files")
def put_file(access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep) -> Response:
    """Keep a file for the pages, under its own name or another."""

    def change() -> str:
        sent = form.file("file")
        if sent is None:
            raise Invalid("Choose a file first.", field="file")
        name = form.text("name") or sent[0].rpartition("/")[2].replace(" ", "-")
        organizing.put_file(session, services.storage, access.competition, name, sent[1], access.viewer.id)
        return f"Write files/{name} where a page shall show it."

    return carry_out_change(session, manage_path(access, "/pages#files"), "", change)


@router.post("/files/{name}/remove")
def remove_file(
    request: Request, access: AsOrganizer, session: SessionDep, name: str, form: FormDep
) -> Response:
    """Take a file away."""
    file, back = find_file(session, access.competition, name), manage_path(access, "/pages#files")
    return perform_named(request, session, form, file_acts.ACTS, "remove", file, access, back)


@router.post("/pages")
def save_page(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Add or change a page of text; where somebody changed it meanwhile, show both."""
    competition, page_id = access.competition, form.text("page_id") or None

    def change() -> None:
        sent = {"title": form.text("title"), "body": form.text("body")}
        organizing.save_page(session, competition, sent, access.viewer.id, page_id, form.text("seen"))

    def show_again(refused: dict[str, Any]) -> Response:
        page = organizing.find_page(competition, page_id) if page_id else None
        return _show_form(request, access, session, page, form.text("seen"), **refused)

    back, done = manage_path(access, "/pages"), "The page is saved."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/pages/preview")
def preview_text(access: AsOrganizer, session: SessionDep, form: FormDep, values: str = "") -> JSONResponse:
    """A text as a page would show it, and what is wrong with the values in it; nothing is saved.

    With `values=no` it is a text that holds none: terms, an announcement.
    """
    text, known = form.text("body"), values_now(session, access.competition)
    files = f"/competitions/{access.competition.slug}/files/"
    if values == "no":
        problems = ["Values in braces stay as they are written here."] if has_values(text) else []
        return JSONResponse({"html": str(markdown(text, files)), "problems": problems})
    html = str(markdown(fill(text, known), files))
    there = {file.name for file in list_files(session, access.competition)}
    absent = sorted(set(re.findall(f'"{re.escape(files)}([^"]+)"', html)) - there)
    problems = [f"There is no file “{name}”: add it on the page “Pages and files”." for name in absent]
    return JSONResponse({"html": html, "problems": [*unknown_in(text, known), *problems]})


@router.post("/pages/{page_id}/{act}")
def act_on_page(
    request: Request, access: AsOrganizer, session: SessionDep, page_id: str, act: str, form: FormDep
) -> Response:
    """Move a page, or remove it: its text stays in the audit log."""
    page, back = organizing.find_page(access.competition, page_id), manage_path(access, "/pages")
    return perform_named(request, session, form, page_acts.ACTS, act, page, access, back)
