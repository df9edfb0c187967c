"""After joining, a list of first steps ticks itself off, and goes with the first score."""

from __future__ import annotations

import re

from tests.platform.site import SLUG, Person, Site

_HTML = {"accept": "text/html"}


def _steps(site: Site, person: Person | None) -> dict[str, bool]:
    """Title of each step, and whether it is ticked."""
    headers = {**(person.headers if person else {}), **_HTML}
    page = site.client.get(f"/competitions/{SLUG}", headers=headers).text
    found = re.findall(r'aria-label="(done|to do)".*?<p>(?:<span[^>]*>|<a[^>]*>)\s*([^<]+?)\s*</', page, re.S)
    return {" ".join(title.split()): state == "done" for state, title in found}


def test_the_steps_tick_themselves_off_until_the_first_score(site: Site) -> None:
    site.offer_smoke_tests()
    site.set_phase(smoke_tasks=2)
    alice, worker = site.member("alice"), site.worker()
    joined = "Join the competition"
    kit, template = "Install the starting kit and log in", "Start from the template and try it at home"
    smoke, entry = "Pass a smoke test", "Submit for scoring"
    assert _steps(site, alice) == {joined: True, kit: True, template: False, smoke: False, entry: False}
    page = site.client.get(f"/competitions/{SLUG}", headers={**alice.headers, **_HTML}).text
    assert "anyshot init my-method --notebook" in page  # the tutorial, cell by cell
    alice.submit(smoke=True)
    assert _steps(site, alice) == {joined: True, kit: True, template: True, smoke: False, entry: False}
    assert worker.complete(worker.claim() or {}, 0.3).status_code == 204
    assert _steps(site, alice)[smoke] and not _steps(site, alice)[entry]
    alice.submit()
    assert _steps(site, alice)[entry]
    assert worker.complete(worker.claim() or {}, 0.4).status_code == 204
    assert _steps(site, alice) == {}


def test_only_participants_of_an_open_phase_get_the_list(site: Site) -> None:
    alice = site.member("alice")
    assert _steps(site, None) == {} and _steps(site, site.person("paul")) == {}
    assert "Pass a smoke test" not in _steps(site, alice)
    site.set_phase(accepts_uploads=False)
    assert _steps(site, alice) == {}
