"""What members are told of a phase's dates, by the clock: that it is open, and a day before it closes."""

from datetime import timedelta

import pytest

from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.foundation.database import now
from anyshot_platform.server.sweeper import sweep
from tests.platform.site import SLUG, Person, Site

HOUR = timedelta(hours=1)
OPEN, CLOSES = "A small competition: Feedback is open", "A small competition: Feedback closes within a day"


@pytest.fixture
def alice(site: Site) -> Person:
    """A member of a competition whose phase opened an hour ago and closes in twenty days."""
    site.set_phase(starts_at=now() - HOUR, ends_at=now() + 480 * HOUR)
    return site.member("alice")


def _told(site: Site, person: Person) -> list[str]:
    """The titles of a member's messages after two sweeps, the oldest first."""
    for _ in range(2):
        sweep(site.services)
    return [row["title"] for row in reversed(person.call("GET", "/api/v1/notifications").json())]


def test_a_member_is_told_once_that_a_phase_is_open(site: Site, alice: Person) -> None:
    site.set_phase(starts_at=now() + HOUR)
    assert _told(site, alice) == []
    site.set_phase(starts_at=now() - HOUR)
    assert _told(site, alice) == [OPEN]
    site.set_phase(starts_at=now() - 2 * HOUR)  # its organizers move the date, which is no second opening
    assert _told(site, alice) == [OPEN]
    (message,) = alice.call("GET", "/api/v1/notifications").json()
    assert "It takes submissions until " in message["body"]
    assert message["url"] == f"/competitions/{SLUG}/phases/feedback/submit"
    assert alice.call("GET", message["url"]).status_code == 200


def test_a_member_is_told_a_day_before_the_end_and_again_where_it_is_moved(site: Site, alice: Person) -> None:
    site.set_phase(starts_at=now() - 240 * HOUR, ends_at=now() + 25 * HOUR)
    assert _told(site, alice) == []
    site.set_phase(ends_at=now() + 23 * HOUR)
    assert _told(site, alice) == [CLOSES]
    site.set_phase(ends_at=now() + 47 * HOUR)
    assert _told(site, alice) == [CLOSES]
    site.set_phase(ends_at=now() + 20 * HOUR)
    assert _told(site, alice) == [CLOSES, CLOSES]


@pytest.mark.parametrize(
    "phase",
    [
        {"starts_at": -240, "ends_at": 480},  # nothing is new
        {"starts_at": -240, "ends_at": -1},  # over
        {"starts_at": -1, "ends_at": 480, "paused_at": -1},
        {"starts_at": -240, "ends_at": 12, "closed_at": -1},
    ],
)
def test_nothing_is_told_of_a_phase_without_news(site: Site, alice: Person, phase: dict[str, int]) -> None:
    site.set_phase(**{name: now() + hours * HOUR for name, hours in phase.items()})
    assert _told(site, alice) == []


def test_a_phase_of_a_day_says_its_end_when_it_opens(site: Site, alice: Person) -> None:
    site.set_phase(ends_at=now() + 20 * HOUR)
    assert _told(site, alice) == [OPEN]


def test_nobody_hears_of_a_competition_that_is_not_seen_or_that_they_muted(site: Site, alice: Person) -> None:
    for hidden in (
        {"state": CompetitionState.DRAFT},
        {"opens_at": now() + HOUR},
        {"state": CompetitionState.ARCHIVED},
    ):
        with site.services.database.writing() as session:
            competition = site.competition(session)
            competition.state, competition.opens_at = CompetitionState.PUBLISHED, None
            for name, value in hidden.items():
                setattr(competition, name, value)
        assert _told(site, alice) == [], hidden
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.PUBLISHED
    assert alice.call("PUT", f"/api/v1/competitions/{SLUG}/mute").status_code in (200, 204)
    bob = site.member("bob")
    assert _told(site, bob) == [OPEN]
    assert _told(site, alice) == []
