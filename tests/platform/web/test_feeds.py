"""Announcements for feed readers, dates for calendars."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from icalendar import Calendar

from anyshot_platform.contest.competitions.states import Visibility
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.running.announcements.models import Announcement
from tests.platform.admin.test_manage import page
from tests.platform.site import Site

BASE = "/competitions/small"
ATOM = {"a": "http://www.w3.org/2005/Atom"}


def test_announcements_are_a_feed_of_what_the_page_says(site: Site) -> None:
    vera = site.person("vera")
    assert ET.fromstring(page(vera, f"{BASE}/announcements.atom").content).findall("a:entry", ATOM) == []
    with site.services.database.writing() as session:
        competition = site.competition(session)
        for title, body in (("First & <b>", "Some *text* & <script>alert(1)</script>"), ("Second", "")):
            note = Announcement(
                competition_id=competition.id, title=title, body=body, created_by=site.owner_id
            )
            session.add(note)
            session.flush()
        note.deleted_at = note.created_at
    assert f'href="{BASE}/announcements.atom"' in page(vera, f"{BASE}/announcements").text
    answer = page(vera, f"{BASE}/announcements.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ET.fromstring(answer.content)
    (entry,) = feed.findall("a:entry", ATOM)  # the second was taken back
    assert entry.findtext("a:title", "", ATOM) == "First & <b>"
    content = entry.findtext("a:content", "", ATOM)
    assert "<em>text</em>" in content and "<script" not in content
    (told,) = vera.call(
        "GET", f"/api/v1{BASE}/announcements"
    ).json()  # there was no JSON of them but for organizers
    assert (told["title"], told["body"]) == ("First & <b>", "Some *text* & <script>alert(1)</script>")
    assert told["edited_at"] is None and "deleted_at" not in told
    link = entry.find("a:link", ATOM)
    assert link is not None and link.attrib["href"].startswith(f"http://testserver{BASE}/announcements#")


def test_dates_are_a_calendar_that_follows_the_phases(site: Site) -> None:
    vera = site.person("vera")
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        phase.name = "Feedback; first, of two"
        phase.starts_at, phase.ends_at = (
            datetime(2030, 1, 2, tzinfo=UTC),
            datetime(2030, 2, 3, 4, 5, tzinfo=UTC),
        )
    assert f'href="{BASE}/calendar.ics"' in page(vera, BASE).text
    answer = page(vera, f"{BASE}/calendar.ics")
    assert answer.headers["content-type"].startswith("text/calendar")
    events = [
        (str(one["summary"]), one.decoded("dtstart"))
        for one in Calendar.from_ical(answer.text).walk("VEVENT")
    ]
    assert events == [
        ("A small competition: Feedback; first, of two opens", datetime(2030, 1, 2, tzinfo=UTC)),
        ("A small competition: Feedback; first, of two closes", datetime(2030, 2, 3, 4, 5, tzinfo=UTC)),
    ]
    with site.services.database.writing() as session:
        session.get_one(Phase, site.phase_id).closed_at = datetime(2030, 1, 9, tzinfo=UTC)  # by hand
    (_, closes) = Calendar.from_ical(page(vera, f"{BASE}/calendar.ics").text).walk("VEVENT")
    assert closes.decoded("dtstart") == datetime(2030, 1, 9, tzinfo=UTC)


def test_a_private_competition_has_neither_for_strangers(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).visibility = Visibility.PRIVATE
    vera = site.person("vera")
    for path in (f"/api/v1{BASE}/announcements", f"{BASE}/announcements.atom", f"{BASE}/calendar.ics"):
        assert page(vera, path).status_code == 404
