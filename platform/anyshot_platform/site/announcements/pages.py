"""All announcements of a competition, as a page and as a feed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.texts import for_xml
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.notifications.service import is_muted
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.announcements.organizing import list_announcements
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.markdown import markdown
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
MOST = 200
_ATOM = "application/atom+xml"


@router.get("/competitions/{slug}/announcements")
def show_announcements(
    request: Request, access: Annotated[CompetitionAccess, Depends(visible_competition)], session: SessionDep
) -> Response:
    """Newest first."""
    return render(
        request,
        "competitions/announcements.html",
        section="competitions",
        head=read_header(session, access),
        tab="announcements",
        notes=list_announcements(session, access.competition, most=MOST),
        muted=is_muted(session, access.viewer.id, access.competition.id) if access.membership else None,
    )


@router.get("/competitions/{slug}/announcements.atom")
def send_feed(
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
) -> Response:
    """The same for feed readers."""
    notes = list_announcements(session, access.competition, most=MOST)
    return Response(_as_atom(access.competition, notes, services.settings.base_url), media_type=_ATOM)


def _as_atom(competition: Competition, notes: Sequence[Announcement], site: str) -> bytes:
    """These announcements as an Atom feed (RFC 4287), newest first; `site` is the site's address, without a slash."""
    page = f"{site}/competitions/{competition.slug}/announcements"
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    newest = max(map(_last_changed, notes), default=competition.created_at)
    _head(feed, page, f"{competition.title}: announcements", newest.isoformat(), page)
    SubElement(feed, "link", rel="self", href=f"{page}.atom")
    SubElement(SubElement(feed, "author"), "name").text = for_xml(f"Organizers of {competition.title}")
    for note in notes:
        entry, link = SubElement(feed, "entry"), f"{page}#announcement-{note.id}"
        _head(entry, link, note.title, _last_changed(note).isoformat(), link)
        SubElement(entry, "content", type="html").text = for_xml(str(markdown(note.body)))
    return tostring(feed, encoding="utf-8", xml_declaration=True)


def _last_changed(note: Announcement) -> datetime:
    return note.edited_at or note.created_at


def _head(element: Element, key: str, title: str, updated: str, link: str) -> None:
    SubElement(element, "id").text = key
    SubElement(element, "title").text = for_xml(title)
    SubElement(element, "updated").text = updated
    SubElement(element, "link", href=link)
