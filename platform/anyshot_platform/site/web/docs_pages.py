"""The documentation on the platform itself, from the Markdown files that it ships with."""

import posixpath
import re
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse
from markupsafe import Markup
from starlette.responses import Response

from anyshot_core.report.documentation import (
    DATA,
    SECTION,
    SECTIONS,
    draw_page,
    drawn_below,
    page_files,
    reading_order,
    reproductions,
)
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.docs_outline import outlined_page
from anyshot_platform.site.web.docs_search import search_docs
from anyshot_platform.site.web.markdown import markdown
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import site_address

router = APIRouter(include_in_schema=False)
DOCS = Path(__file__).parents[2] / "_docs"  # package data: in a checkout a link to its folder docs/
# In commands that are to be copied: the site's address, and the version of the kit that it serves.
_THIS_SITE = re.compile(r"ADDRESS(?=/kit/)|(?<=--server )ADDRESS|(?<===)VERSION\b")
_LINK = re.compile(r"\]\((?!https?:|mailto:|/|#)([^)\s#]+)\.md(#[^)\s]*)?\)")
_IMAGE = re.compile(r"\]\((?:\.\./)?images/([a-z0-9-]+\.png)\)")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


@router.get("/docs", dependencies=[Depends(public)])
def show_start(request: Request) -> Response:
    """The first page."""
    return _show(request, "", "index")


@router.get("/docs/search", dependencies=[Depends(public)])
def show_search(request: Request, q: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The sections of all pages that hold the words of a question."""
    found = search_docs(DOCS, q)
    return render(
        request,
        "docs_search.html",
        section="docs",
        question=q,
        found=found,
        entries=_navigation(""),
        current="",
    )


@router.get("/docs/images/{name}.png", dependencies=[Depends(public)])
def show_image(name: str) -> Response:
    """A picture of the pages."""
    file = DOCS / "images" / f"{name}.png"
    if not _NAME.fullmatch(name) or not file.is_file():
        raise NotFound("The documentation has no such picture.")
    return FileResponse(file, media_type="image/png", headers={"cache-control": "public, max-age=3600"})


@router.get("/docs/{path:path}", dependencies=[Depends(public)])
def show_docs(request: Request, path: str) -> Response:
    """`/docs/SECTION/` and `/docs/SECTION/PAGE/`, as on the built site, and the data of a page beside it."""
    parts = [part for part in path.split("/") if part]
    if not parts:
        return redirect("/docs")
    if parts[0] == SECTION and parts[-1] in DATA:
        return _send_data(parts[1:])
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in parts):
        raise NotFound("The documentation has no such page.")
    return _show(request, parts[0], parts[1] if len(parts) == 2 else "index")


def _send_data(parts: list[str]) -> Response:
    file = DOCS.joinpath(SECTION, *parts)
    if len(parts) > 2 or not all(_NAME.fullmatch(part) for part in parts[:-1]) or not file.is_file():
        raise NotFound("The documentation has no such file.")
    return FileResponse(file, filename=f"{'-'.join(parts)}")


def _show(request: Request, section: str, name: str) -> Response:
    file = page_files(DOCS, section).get(name)
    if file is None and section == SECTION and name in reproductions(DOCS):
        page = draw_page(DOCS, name)
        return _render(request, section, name, page.title, page.body)
    if file is None:
        raise NotFound("The documentation has no such page. It lies in the folder docs/ of the project.")
    text = _of_this_site(file.read_text(), site_address(request))
    title = text.partition("\n")[0].removeprefix("#").strip()
    body = _LINK.sub(
        lambda found: f"]({_address(section, found[1])}{found[2] or ''})", text.partition("\n")[2]
    )
    written = markdown(_IMAGE.sub(r"](/docs/images/\1)", body))
    return _render(request, section, name, title, written + drawn_below(DOCS, section, name))


def _of_this_site(text: str, address: str) -> str:
    """The text with this site's address and version where its commands have ADDRESS and VERSION."""
    put = {"ADDRESS": address, "VERSION": kit_version()}
    return _THIS_SITE.sub(lambda found: put[found[0]], text)


def _render(request: Request, section: str, name: str, title: str, body: Markup) -> Response:
    current = f"{section}/{name}"
    pages = [entry for entry in _entries() if "key" in entry]
    place = next((at for at, entry in enumerate(pages) if entry["key"] == current), None)
    outlined = outlined_page(body)
    return render(
        request,
        "docs.html",
        section="docs",
        title=title,
        body=outlined.body,
        headings=[one for one in outlined.headings if one.level == 2],
        entries=_navigation(section),
        current=current,
        question="",
        before=pages[place - 1] if place else None,
        after=pages[place + 1] if place is not None and place + 1 < len(pages) else None,
    )


def _address(section: str, target: str) -> str:
    """The address of a relative link to another page."""
    path = posixpath.normpath(posixpath.join("/docs", section, target))
    return (path.removesuffix("index") if path.endswith("/index") else f"{path}/").replace(
        "/docs//", "/docs/"
    )


def _navigation(section: str) -> list[dict[str, str]]:
    """The side navigation of a reader of this section: its pages, and the first page of each other section."""
    entries = _entries()
    return [
        entry
        for before, entry in pairwise([{}, *entries])
        if "heading" in entry or "heading" in before or entry["key"].startswith(f"{section}/")
    ]


def _entries() -> list[dict[str, str]]:
    """The pages of the documentation: each section's pages in the order in which they are learned, its index first."""
    entries: list[dict[str, str]] = []
    drawn = reproductions(DOCS)
    for folder, heading in SECTIONS:
        names = reading_order(DOCS, folder)
        if names:
            entries.append({"heading": heading})
        for name in names:
            page = "" if name == "index" else f"{name}/"
            label = "Overview" if name == "index" else _title(folder, name, drawn)
            entries.append({"key": f"{folder}/{name}", "label": label, "href": f"/docs/{folder}/{page}"})
    return entries


def _title(folder: str, name: str, drawn: dict[str, str]) -> str:
    file = page_files(DOCS, folder).get(name)
    if file is None:
        return drawn[name]
    with file.open(encoding="utf-8") as opened:
        return opened.readline().removeprefix("#").strip()
