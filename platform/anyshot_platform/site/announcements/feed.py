"""What organizers announced, as an Atom feed (RFC 4287)."""

from collections.abc import Sequence
from datetime import datetime
from xml.etree.ElementTree import Element, SubElement, tostring

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.texts import for_xml
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.site.web.markdown import markdown

MEDIA_TYPE = "application/atom+xml"


def as_atom(competition: Competition, notes: Sequence[Announcement], site: str) -> bytes:
    """The feed of these announcements, newest first; `site` is the address of the site, without a slash."""
    page = f"{site}/competitions/{competition.slug}/announcements"
    feed = Element("feed", xmlns="http://www.w3.org/2005/Atom")
    newest = max(map(_changed, notes), default=competition.created_at)
    _head(feed, page, f"{competition.title}: announcements", newest.isoformat(), page)
    SubElement(feed, "link", rel="self", href=f"{page}.atom")
    SubElement(SubElement(feed, "author"), "name").text = for_xml(f"Organizers of {competition.title}")
    for note in notes:
        entry, link = SubElement(feed, "entry"), f"{page}#announcement-{note.id}"
        _head(entry, link, note.title, _changed(note).isoformat(), link)
        SubElement(entry, "content", type="html").text = for_xml(str(markdown(note.body)))
    return tostring(feed, encoding="utf-8", xml_declaration=True)


def _changed(note: Announcement) -> datetime:
    return note.edited_at or note.created_at


def _head(element: Element, key: str, title: str, updated: str, link: str) -> None:
    SubElement(element, "id").text = key
    SubElement(element, "title").text = for_xml(title)
    SubElement(element, "updated").text = updated
    SubElement(element, "link", href=link)
