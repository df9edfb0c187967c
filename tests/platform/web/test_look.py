"""An organizer sees the competition as a participant or a visitor does; a bar says so, and nothing is written."""

from typing import Any

import pytest
from httpx2 import Response

from anyshot_platform.contest.competitions.states import CompetitionState, Role
from anyshot_platform.site.web.viewer import LOOK_COOKIE, SESSION_COOKIE
from tests.platform.admin.test_manage import BASE, finish, page, post
from tests.platform.entries.playing import Browser, browser
from tests.platform.site import SLUG, Site

HERE = f"/competitions/{SLUG}"


class Looking(Browser):
    """The same person with the cookie that looking leaves."""

    role = ""

    def call(self, method: str, path: str, **options: Any) -> Response:
        cookie = f"{SESSION_COOKIE}={self.token}; {LOOK_COOKIE}={self.role}:{SLUG}"
        headers = {**options.pop("headers", {}), "cookie": cookie}
        return super().call(method, path, headers=headers, **options)


def looking(person: Browser, role: str) -> Looking:
    begun = post(person, f"{BASE}/look", **{"as": role})
    assert begun.status_code == 303 and f"{LOOK_COOKIE}={role}:{SLUG}" in begun.headers["set-cookie"].replace(
        '"', ""
    )
    found = Looking(person.id, person.username, person.token, person.client)
    found.role = role
    return found


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("role", ["participant", "visitor"])
def test_the_pages_are_those_of_the_other_and_the_bar_says_so(site: Site, role: str) -> None:
    owner = browser(site, site.owner())
    site.set_phase(scores_visible=False, board_audience="organizers")
    site.member("pia").submit()
    finish(site.worker(), 0.7)
    as_other = looking(owner, role)
    for path in (HERE, f"{HERE}/leaderboard", f"{HERE}/data"):
        shown = words(page(as_other, path).text)
        assert f"as a {role} does. Nothing is written." in shown
        assert '/manage"' not in shown.replace(f"{BASE}/look/end", "")
    assert "0.700" in page(owner, f"{HERE}/leaderboard").text
    assert "0.700" not in page(as_other, f"{HERE}/leaderboard").text
    assert page(as_other, BASE).status_code in (401, 403, 303)
    assert (">Log in</a>" in page(as_other, HERE).text) == (role == "visitor")
    assert "as a" not in words(page(owner, HERE).text).split("Skip to the content")[1][:200]


def test_nothing_is_written_meanwhile_and_it_can_be_ended(site: Site) -> None:
    owner = browser(site, site.owner())
    as_participant = looking(owner, "participant")
    for path, fields in (
        (f"{BASE}/settings", {"title": "Changed"}),
        (f"{HERE}/discussion/new", {"title": "Hello", "body": "there"}),
        ("/account", {"display_name": "Somebody"}),
    ):
        refused = post(as_participant, path, **fields)
        assert refused.status_code == 403 and "nothing can be changed meanwhile" in refused.text, path
    ended = post(as_participant, f"{BASE}/look/end")
    assert ended.status_code == 303 and LOOK_COOKIE in ended.headers["set-cookie"]
    assert page(owner, BASE).status_code == 200


def test_a_draft_is_seen_as_it_will_be_and_by_its_organizers_alone(site: Site) -> None:
    """The cookie is a wish: for whoever may not read the competition it changes nothing."""
    owner = browser(site, site.owner())
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    assert page(looking(owner, "visitor"), HERE).status_code == 200
    pia = browser(site, site.member("pia"))
    assert post(pia, f"{BASE}/look", **{"as": "visitor"}).status_code == 404
    forged = Looking(pia.id, pia.username, pia.token, pia.client)
    forged.role = "visitor"
    assert page(forged, HERE).status_code == 404
    unknown = Looking(owner.id, owner.username, owner.token, owner.client)
    unknown.role = "king"
    assert "Nothing is written." not in page(unknown, HERE).text
    rita = browser(site, site.member("rita", Role.REVIEWER))
    assert page(looking(rita, "participant"), HERE).status_code == 200


def test_an_administrator_looks_without_the_rights_of_one(site: Site) -> None:
    ada = browser(site, site.person("ada", is_site_admin=True))
    as_participant = looking(ada, "participant")
    assert page(as_participant, "/admin").status_code == 403
    assert page(ada, "/admin").status_code == 200
