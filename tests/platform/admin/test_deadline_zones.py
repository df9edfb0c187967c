"""Moments and zones as organizers of this field write them: AoE, UTC-12, UTC+2, +02:00."""

import re
from datetime import UTC, datetime

import pytest

from anyshot_platform.contest.bundles.reading import read_bundle
from anyshot_platform.contest.phases.models import Phase
from tests.platform.admin.test_bundle_reading import FILES, GOOD
from tests.platform.admin.test_manage import BASE, page, phase_form, post
from tests.platform.admin.test_organizer_api import ask
from tests.platform.admin.zips import zipped
from tests.platform.site import SLUG, Site, in_one_line

AOE = "2 Dec 2090, 11:59 UTC (1 Dec 2090, 23:59 AoE)"


@pytest.mark.parametrize(
    ("written", "utc", "kept"),
    [
        ("end: 2022-08-31 23:59 AoE", "2022-09-01T11:59", "AoE"),
        ("end: 2022-08-31 23:59 aoe", "2022-09-01T11:59", "AoE"),
        ("end: 2022-08-31 23:59 UTC-12", "2022-09-01T11:59", "UTC-12"),
        ("end: 2022-08-31T23:59:00 +05:30", "2022-08-31T18:29", "UTC+05:30"),
        ("end: 2022-08-31 23:59:00-12:00", "2022-09-01T11:59", "UTC-12:00"),
        ("end: 2022-08-31 23:59:00+02:00", "2022-08-31T21:59", None),  # as clocks in Paris
        ("end: 2022-08-31 23:59 UTC", "2022-08-31T23:59", None),
        ("end: 2022-08-31 23:59\n    timezone: AoE", "2022-09-01T11:59", "AoE"),
        ("end: 2022-08-31 23:59\n    timezone: UTC+2", "2022-08-31T21:59", "UTC+2"),
        ("end: 2022-08-31 23:59\n    timezone: +05:30", "2022-08-31T18:29", "+05:30"),
    ],
)
def test_a_bundle_says_moments_and_zones_in_the_words_of_the_field(
    written: str, utc: str, kept: str | None
) -> None:
    (phase,) = read_bundle(
        zipped({"competition.yaml": GOOD.replace("end: 2022-08-31 12:00", written), **FILES})
    ).spec.phases
    assert phase.end == datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert phase.timezone == kept


@pytest.mark.parametrize("zone", ["UTC+15", "UTC+", "AoE+1", "+2:99"])
def test_what_is_no_zone_is_refused_with_examples(zone: str) -> None:
    with pytest.raises(Exception, match=r"write one like Europe/Paris, AoE or UTC-12\."):
        read_bundle(
            zipped({"competition.yaml": GOOD.replace("timezone: Europe/Paris", f"timezone: {zone}"), **FILES})
        )


def test_the_end_stands_in_utc_and_in_the_zone_that_the_organizer_wrote(site: Site) -> None:
    """In the editor, on pages for everybody, in an act's preview; an end in UTC leaves the zone as it was."""
    owner = site.owner()
    form = phase_form(timezone="AoE", end="2090-12-01T23:59")
    assert post(owner, f"{BASE}/phases/feedback", **form).is_redirect
    edited = page(owner, f"{BASE}/phases/feedback").text
    assert 'value="2090-12-01T23:59"' in edited and 'value="AoE"' in edited
    for path in (f"/competitions/{SLUG}", f"/competitions/{SLUG}/phases/feedback", f"{BASE}/phases"):
        shown = in_one_line(page(owner, path).text)
        assert f'data-there="1 Dec 2090, 23:59 AoE" title="{AOE}">{AOE}</time>' in shown, path
    kept = ask(owner, "POST", "/phases/feedback/acts/extend", {"end": "2091-01-01T00:00:00Z"})
    assert kept["settings"]["timezone"] == "AoE"
    moved = ask(owner, "POST", "/phases/feedback/acts/extend", {"end": "2091-01-01 01:00 UTC+2"})
    assert (moved["settings"]["end"], moved["settings"]["timezone"]) == ("2090-12-31T23:00:00+00:00", "UTC+2")


def test_a_form_that_extends_takes_a_zone_too(site: Site) -> None:
    owner = site.owner()
    assert post(owner, f"{BASE}/phases/feedback/extend", end="2090-12-01 23:59 AoE", zone="UTC").is_redirect
    with site.services.database.reading() as session:
        phase = session.get_one(Phase, site.phase_id)
        assert (phase.ends_at, phase.time_zone) == (datetime(2090, 12, 2, 11, 59, tzinfo=UTC), "AoE")
    (audit,) = re.findall(r"phase\.extend", page(owner, f"{BASE}/audit").text)[:1]
    assert audit
