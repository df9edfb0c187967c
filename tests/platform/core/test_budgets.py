"""What is beyond an actor's budget is refused with words and a time, and everyone else goes on."""

import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from anyshot_platform.app import feature_routers
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.pools.models import Pack, PackKeeper, Pool
from anyshot_platform.foundation.budgets import BUDGETS
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.submissions.models import Upload
from anyshot_platform.people.users.models import ApiToken
from anyshot_platform.running.budgets.totals import TOTALS
from anyshot_platform.site.budgets.routes import SPENDING
from anyshot_platform.site.web import slow_connections
from tests.platform.admin.test_manage import post
from tests.platform.conftest import SECRET
from tests.platform.core.races import AT_ONCE, at_once
from tests.platform.core.test_admission import served
from tests.platform.site import SLUG, Person, Site, make_paper_pack


def allow(site: Site, **limits: int) -> None:
    settings = site.services.settings
    values = {**settings.model_dump(), "budget_limits": {**settings.budget_limits, **limits}}
    changed = PlatformSettings.model_validate(values)
    object.__setattr__(site.services, "settings", changed)


def begin(person: Person, number: int) -> int:
    form = {"title": f"Draft {number}", "slug": f"draft-{person.username}-{number}"}
    return person.call("POST", "/organize/new", data=form, follow_redirects=False).status_code


def test_one_more_upload_than_allowed_is_refused_with_the_time_to_come_back(site: Site) -> None:
    alice, bob = site.person("alice"), site.person("bob")
    allow(site, uploads=2)
    body = {"filename": "a.zip", "size": 10}
    statuses = [alice.call("POST", "/api/v1/uploads", json=body).status_code for _ in range(3)]
    assert statuses == [201, 201, 429]
    refused = alice.call("POST", "/api/v1/uploads", json=body)
    assert 0 < int(refused.headers["retry-after"]) <= 300
    assert re.search(r"2 in 5 minutes .* try again in \d+ ", refused.json()["message"])
    assert bob.call("POST", "/api/v1/uploads", json=body).status_code == 201


def test_bytes_that_wait_are_counted_in_all(site: Site) -> None:
    alice = site.person("alice")
    allow(site, upload_bytes=1000)
    assert alice.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": 1000}).status_code == 201
    refused = alice.call("POST", "/api/v1/uploads", json={"filename": "b.zip", "size": 1})
    assert refused.status_code == 409 and refused.json()["error"] == "over_budget"


def test_drafts_have_an_end_and_a_deleted_one_makes_room(site: Site) -> None:
    dora = site.person("dora")
    allow(site, drafts=2)
    assert [begin(dora, number) for number in range(3)] == [303, 303, 409]
    path = "/api/v1/competitions/draft-dora-0"
    assert (
        dora.call("POST", f"{path}/manage/acts/delete", json={"confirm": "draft-dora-0"}).status_code == 200
    )
    assert begin(dora, 3) == 303


LIMIT = 3


def test_of_eight_at_once_no_more_get_in_than_the_total_allows(postgres_site: Site) -> None:
    site = postgres_site
    packs = [make_paper_pack(site.services, f"pack-{number}") for number in range(AT_ONCE)]
    with site.services.database.reading() as session:
        sizes = {session.get_one(Pack, pack).size for pack in packs}
    (size,) = sizes
    rows: dict[str, Callable[[int, str], Any]] = {
        "drafts": lambda n, who: Competition(slug=f"d-{n}", title="C", created_by=who),
        "competitions": lambda n, who: Competition(slug=f"c-{n}", title="C", created_by=who),
        "pools": lambda n, who: Pool(slug=f"p-{n}", name="P", owner_id=who),
        "pack_bytes": lambda n, who: PackKeeper(pack_id=packs[n], user_id=who),
        "upload_bytes": lambda n, who: Upload(user_id=who, filename="a.zip", size=size),
        "tokens": lambda n, who: ApiToken(user_id=who, name="t", digest=f"{n:064}", scopes=["read"]),
    }
    assert set(rows) == set(TOTALS)
    outcomes = {}
    for name, row in rows.items():
        who = site.person(f"of-{name}".replace("_", "-")).id
        # One token is what `person` made.
        allow(site, **{name: LIMIT * (size if BUDGETS[name].unit == "bytes" else 1) + (name == "tokens")})

        def write(number: int, row: Any = row, who: str = who) -> None:
            with site.services.database.writing() as session:
                session.add(row(number, who))
                session.flush()
                time.sleep(0.05)  # what the rest of a request takes: all eight have written by now

        outcomes[name] = at_once(write, range(AT_ONCE))
    assert outcomes == {name: {"ok": LIMIT, "OverBudget": AT_ONCE - LIMIT} for name in TOTALS}


def test_the_same_over_http(postgres_site: Site) -> None:
    alice = postgres_site.person("alice")
    allow(postgres_site, upload_bytes=3000)

    def begin_upload(number: int) -> int:
        body = {"filename": "a.zip", "size": 1000}
        return alice.call("POST", "/api/v1/uploads", json=body).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert Counter(threads.map(begin_upload, range(AT_ONCE))) == {201: 3, 409: AT_ONCE - 3}


def test_a_competition_cannot_flood_mailboxes(site: Site) -> None:
    owner = site.owner()
    for number in range(3):
        site.member(f"user{number}")
    path = f"/api/v1/competitions/{SLUG}/manage/announcements/acts/add"
    allow(site, mails=9)
    news = {"title": "News", "body": "text"}
    stranger = site.person("stranger")
    assert {stranger.call("POST", path, json=news).status_code for _ in range(9)} == {403, 429}
    statuses = [owner.call("POST", path, json=news).status_code for _ in range(4)]
    assert statuses[0] == 200 and statuses[-1] == 429 and 429 not in statuses[: statuses.index(429)]


def test_announcements_by_form_and_by_command_are_counted_together(site: Site) -> None:
    owner = site.owner()
    path = f"/competitions/{SLUG}/manage/announcements"
    allow(site, announcements=2)
    news = [{"title": f"News {number}", "body": "text"} for number in range(3)]
    assert post(owner, path, **news[0]).status_code == 303
    statuses = [owner.call("POST", f"/api/v1{path}/acts/add", json=one).status_code for one in news[1:]]
    assert statuses == [200, 429]


def test_every_budget_is_met_somewhere_and_every_row_is_a_route() -> None:
    routes = {
        f"{method} {route.path}"
        for router in feature_routers()
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }
    assert set(SPENDING) <= routes, set(SPENDING) - routes
    elsewhere = {
        "log_ins",
        "sign_ups",
        "links_asked",
        "links_sent",
        "streams",
        "proofs",
        "checks",
        "worker_requests",
    }  # accounts.limiting, accounts.proving, events.watching, submissions.actions.submitting, workers.joining_api
    assert {name for names in SPENDING.values() for name in names} | elsewhere == set(BUDGETS)
    assert {name for name, budget in BUDGETS.items() if budget.seconds is None} - {"streams"} == set(TOTALS)


def test_operators_see_the_table_with_their_limits(site: Site) -> None:
    allow(site, uploads=7)
    page = site.person("rosa", is_site_admin=True).call("GET", "/admin/budgets")
    assert page.status_code == 200
    for name in BUDGETS:
        assert name in page.text
    assert re.search(r"uploads started.*?7.*?in 5 minutes", page.text, re.S)


def test_operators_see_for_how_many_log_ins_were_refused(site: Site) -> None:
    """An address may try so many for each of several accounts: it was counted as refused when it was not."""
    allow(site, log_ins=2)
    rosa = site.person("rosa", is_site_admin=True)

    def refused() -> str:
        text = rosa.call("GET", "/admin/budgets").text
        return re.findall(r"<code>log_ins</code>.*?<td class=\"num\">(\d+)</td>\s*</tr>", text, re.S)[0]

    def try_to_log_in(username: str) -> int:
        body = {"username": username, "password": "not the password"}
        return site.client.post("/api/v1/tokens/log-in", json=body).status_code

    assert [try_to_log_in(f"nobody{number}") for number in range(4)] == [401] * 4
    assert refused() == "0"
    assert [try_to_log_in("nobody1") for _ in range(2)] == [401, 429]
    assert refused() == "1"


def test_an_unknown_budget_and_an_old_setting_are_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ValueError, match="there is no budget 'upload'"):
        PlatformSettings(secret_key=SECRET, budget_limits={"upload": 1})  # pyright: ignore[reportArgumentType]
    monkeypatch.setenv("ANYSHOT_RATE_LIMIT_UPLOADS", "3")
    with pytest.raises(ValueError, match="ANYSHOT_BUDGET_LIMITS"):
        PlatformSettings(secret_key=SECRET)  # pyright: ignore[reportArgumentType]


def test_half_a_header_holds_no_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_connections, "HEADER_SECONDS", 0.2)
    with served(site) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as silent:
            silent.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
            assert silent.recv(1) == b""
        with httpx.Client(base_url=address) as client:
            assert [client.get("/health").status_code for _ in range(3)] == [200] * 3


def test_the_visitors_address_is_believed_of_trusted_proxies_alone(site: Site) -> None:
    allow(site, links_asked=1)

    def ask(address: str, visitor: str) -> int:
        page = httpx.get(f"{address}/reset")
        token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
        sent = {"email": "nobody@example.org", "csrf_token": token}
        headers = {"x-forwarded-for": visitor}
        return httpx.post(f"{address}/reset", data=sent, cookies=page.cookies, headers=headers).status_code

    with served(site, trusted_proxies="127.0.0.1") as address:
        assert [ask(address, visitor) for visitor in ("10.0.0.1", "10.0.0.2", "10.0.0.1")] == [200, 200, 429]
    with served(site, trusted_proxies="10.9.9.9") as address:
        assert [ask(address, visitor) for visitor in ("10.1.0.1", "10.1.0.2")] == [200, 429]
