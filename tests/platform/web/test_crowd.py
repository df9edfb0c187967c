"""In a crowd pages are made once for many, and each finds what is their own on them."""

import re
from collections.abc import Iterator

import httpx
import pytest

from anyshot_platform.contest.competitions.states import Visibility
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web import crowd
from tests.platform.core.test_admission import served
from tests.platform.core.test_board_page import play
from tests.platform.site import SLUG, Person, Site

BOARD = f"/competitions/{SLUG}/leaderboard"


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """A site that has no place for anybody: everything that is answered is made for many."""
    with served(site, web_requests_at_once=0, web_queue=0) as address:
        yield address


def ask(address: str, path: str, person: Person | None = None, site: Site | None = None) -> httpx.Response:
    cookies = {}
    if person is not None and site is not None:
        with site.services.database.writing() as session:
            user = session.get_one(User, person.id)
            cookies["anyshot_session"] = begin_session(session, user, user_agent="", days=1).secret
    return httpx.get(address + path, headers={"accept": "text/html"}, cookies=cookies, timeout=60)


def test_visitors_get_in_a_crowd_what_they_get_without_one(site: Site, address: str) -> None:
    play(site, site.worker(), "ada", 0.5)
    for path in ("/", "/competitions", f"/competitions/{SLUG}", BOARD, "/docs"):
        calm = site.client.get(path, headers={"accept": "text/html"}).text
        answer = ask(address, path)
        assert answer.status_code == 200, path
        token = r'(?<=name="csrf-token" content=")\w*(?=")'
        assert strip_address(answer.text, address) == re.sub(token, "", strip_address(calm, address))
        assert "set-cookie" not in answer.headers


def strip_address(page: str, address: str) -> str:
    return re.sub(r"http://(testserver|127.0.0.1(:\d+)?)", "", page)


def test_each_finds_their_account_and_their_row_on_a_board_that_is_made_for_many(
    site: Site, address: str
) -> None:
    worker = site.worker()
    ada, bob = play(site, worker, "ada", 0.8), play(site, worker, "bob", 0.5)
    for person, rank, name in ((ada, 1, "ada"), (bob, 2, "bob")):
        page = ask(address, BOARD, person, site).text
        assert f"Your team is on rank {rank} of 2." in page
        assert page.count("is-own") == page.count(">you<") == 1
        (row,) = (row for row in page.split("<tr") if "is-own" in row)
        assert f">{name}</a>" in row
        assert f"Account of {name}" in page and "leaves out some" in page
    outsider = ask(address, BOARD, site.person("zoe"), site).text
    assert "is-own" not in outsider and "Account of zoe" in outsider and "Your team" not in outsider


def test_a_form_on_a_page_that_is_made_for_many_is_ones_own(site: Site, address: str) -> None:
    answer = ask(address, "/competitions", site.member("ada"), site)
    tokens = set(re.findall(r'(?:name="csrf_token" value|name="csrf-token" content)="(\w+)"', answer.text))
    cookies = dict(answer.request.headers)["cookie"]
    assert len(tokens) == 1
    sent = site.client.post(
        "/logout", data={"csrf_token": tokens.pop()}, headers={"cookie": cookies}, follow_redirects=False
    )
    assert sent.status_code == 303


def test_who_sees_more_or_less_than_others_waits_for_a_page_of_their_own(
    site: Site, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Organizers see what is hidden, and a private competition is shown to those alone who take part in it."""
    monkeypatch.setattr(crowd, "_FRESH", 0.0)
    ada = site.member("ada")
    assert ask(address, BOARD, site.owner(), site).status_code == 503
    with site.services.database.writing() as session:
        site.competition(session).visibility = Visibility.PRIVATE
    assert ask(address, BOARD).status_code == 503
    assert ask(address, BOARD, site.person("zoe"), site).status_code == 503
    assert ask(address, BOARD, ada, site).status_code == 200
    with site.services.database.writing() as session:
        site.competition(session).terms, site.competition(session).terms_version = "New ones.", 2
    assert ask(address, BOARD, ada, site).status_code == 503


def test_a_page_that_is_made_for_many_is_soon_made_anew(
    site: Site, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(site, site.worker(), "ada", 0.5)
    assert ">ada</a>" in ask(address, BOARD).text
    play(site, site.worker("other"), "bob", 0.4)
    monkeypatch.setattr(crowd, "_OLDEST", 0.0)
    monkeypatch.setattr(crowd, "_FRESH", 0.0)
    assert ">bob</a>" in ask(address, BOARD).text


def test_an_overview_that_is_made_for_many_leaves_out_what_is_only_ones_own(site: Site, address: str) -> None:
    page = ask(address, f"/competitions/{SLUG}", site.member("ada"), site)
    assert page.status_code == 200 and "leaves out some" in page.text
    assert "First steps" not in page.text and "My outlook" not in page.text
    assert f'href="/competitions/{SLUG}/phases/feedback/submit"' in page.text
