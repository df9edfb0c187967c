"""The dates of a competition as a calendar file (RFC 5545), which calendar programs follow by its address."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from icalendar import Calendar, Event

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import closing
from anyshot_platform.foundation.database import now

MEDIA_TYPE = "text/calendar"


def as_calendar(competition: Competition, phases: Sequence[Phase], site: str) -> bytes:
    """An event for the opening and for the close of each phase; `site` is the site's address, without a slash."""
    made = Calendar()
    made.add("prodid", "-//Anyshot//competitions//EN")
    made.add("version", "2.0")
    made.add("x-wr-calname", competition.title)
    for phase in phases:
        for what, moment in _moments(phase):
            event = Event()
            event.add("uid", f"{phase.id}-{what}@{site.partition('://')[2]}")
            event.add("dtstamp", now())
            event.add("dtstart", moment)
            event.add("summary", f"{competition.title}: {phase.name} {what}")
            event.add("url", f"{site}/competitions/{competition.slug}/phases/{phase.slug}")
            made.add_component(event)
    return made.to_ical()


def _moments(phase: Phase) -> Iterator[tuple[str, datetime]]:
    end = closing(phase)
    if end is None or phase.starts_at < end:  # else it was closed before it began
        yield "opens", phase.starts_at
    if end is not None:
        yield "closes", end
