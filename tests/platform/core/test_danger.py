"""Danger is declared once, on the act or at the door, and a stolen session or token alone does nothing dangerous."""

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from anyshot_core.command import main
from anyshot_platform.actions.declaration import Act, ActRequest, Danger
from anyshot_platform.actions.service import carry_out
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.states import MemberStatus
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.workers.models import Image, WorkerToken
from anyshot_platform.people.accounts.passwords import hash_password
from anyshot_platform.people.accounts.proving import NeedsProof
from anyshot_platform.people.users.models import ApiToken, LoginSession, User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.web.access import policies_of
from tests.platform.core.test_access import ROUTES, UNSAFE, declared_acts, fill
from tests.platform.core.test_admission import served
from tests.platform.core.test_second_factor import form, in_browser, long_ago
from tests.platform.site import PASSWORD, SLUG, Person, Site

MANAGE = f"/api/v1/competitions/{SLUG}/manage"
ADMIN = "/api/v1/admin"
UNDONE = "another act undoes it, and until then nobody has lost anything or been told"
GIVES_BACK = "gives back what another act, which asked, had taken"
COMPUTES = "computes something; scores stay until an act makes them count"
# The acts that ask for no proof, and why. Whoever adds one writes it here, or it asks.
HARMLESS = {
    "alert.close": "it opens again by itself",
    "pool.keep_hidden": "shows less than before",
    **dict.fromkeys(
        (
            "competition.rehearse",
            "image.off",
            "page.move",
            "phase.add_evaluation",
            "phase.freeze",
            "phase.remove_evaluation",
            "pool.combine",
            "pool.remove_dataset",
            "pool.version",
            "report.cancel",
            "set_aside.give_up",
            "set_aside.retry",
            "set_aside.retry_all",
            "worker.pause",
            "worker.resume",
        ),
        UNDONE,
    ),
    **dict.fromkeys(
        (
            "announcement.restore",
            "baseline.restore",
            "competition.restore",
            "entry.admit",
            "league.restore",
            "member.approve",
            "phase.restore",
            "phase.resume",
            "pool.restore",
            "report.restore",
            "submission.qualify",
            "submission.refund",
            "submission.restore",
            "team.admit",
        ),
        GIVES_BACK,
    ),
    **dict.fromkeys(
        (
            "baseline.measure",
            "baseline.run",
            "final.repeat",
            "phase.evaluate",
            "submission.rerun",
            "submission.rescore",
            "version.rescore",
        ),
        COMPUTES,
    ),
}
PROVED = sorted(
    (method, route.path)
    for route in ROUTES
    for method in route.methods or ()
    if "proof" in policies_of(route)
)


def test_every_act_declares_its_danger() -> None:
    assert {key for key, act in declared_acts().items() if act.danger is Danger.NONE} == HARMLESS.keys()
    with pytest.raises(TypeError, match="danger"):
        Act("page.add", "Add {}", *[lambda *_: None] * 3, "Remove it.")  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("key", sorted(declared_acts().keys() - HARMLESS.keys()))
def test_no_dangerous_act_is_done_without_proof(key: str) -> None:
    """Pages, JSON and commands do acts by this one function: it asks before it looks at anything."""
    long_since = Viewer(user_id="stolen", proved_at=now() - timedelta(minutes=16))
    asked_by = SimpleNamespace(viewer=long_since, prove_minutes=15.0)
    with Session(info={"asked_by": asked_by}) as session, pytest.raises(NeedsProof):
        carry_out(session, declared_acts()[key], None, ActRequest("stolen"))


@pytest.fixture
def rosa(site: Site) -> Person:
    """An administrator who owns the competition, and whose last proof is half an hour old."""
    rosa = site.person("rosa", password=PASSWORD, is_site_admin=True)
    long_ago(site)
    return rosa


def test_what_shows_a_secret_or_gives_a_right_asks_at_the_door(site: Site, rosa: Person) -> None:
    """Every route that declares it; which these are stands in `access.toml`."""
    assert len(PROVED) > 15
    in_browser(site, rosa)
    long_ago(site)
    page = site.client.get("/account").text
    token = page.split('name="csrf_token" value="')[1].split('"')[0]
    for method, path in PROVED:
        address = fill(path, {"slug": SLUG, "phase_slug": "feedback"})
        if path.startswith("/api/"):
            body: dict[str, Any] = {"json": {}} if method in UNSAFE else {}
            if path == "/api/v1/tokens":  # of browsers alone
                headers = {"x-csrf-token": token}
                answer = site.client.request(method, address, headers=headers, json={})
            else:
                answer = rosa.call(method, address, **body)
            assert (answer.status_code, answer.json()["error"]) == (403, "prove"), address
        else:
            headers = {"accept": "text/html", "referer": "http://testserver/account"}
            sent: dict[str, Any] = {"data": {"csrf_token": token}} if method in UNSAFE else {}
            answer = site.client.request(method, address, headers=headers, follow_redirects=False, **sent)
            assert answer.headers["location"].startswith("/account/prove?next="), address
            assert answer.status_code == (307 if method in UNSAFE else 303), address
    site.client.cookies.clear()


def tokens(site: Site, table: Any = WorkerToken) -> int:
    with site.services.database.reading() as session:
        return len(session.scalars(select(table)).all())


WORKER_TOKEN = f"{ADMIN}/worker-tokens/acts/token"
STOLEN: list[tuple[str, dict[str, Any]]] = [  # one after the other
    (WORKER_TOKEN, {"name": "evil", "days": 365}),
    (f"{ADMIN}/images/evil/acts/offer", {"description": "an image"}),
    (f"{ADMIN}/users/olga/acts/sign-out", {}),
    (f"{ADMIN}/users/olga/acts/demote", {}),
    (f"{MANAGE}/phases/feedback/acts/extend", {"end": "2100-01-01T00:00:00Z"}),
    (f"{MANAGE}/phases/feedback/acts/close", {}),
    (f"{MANAGE}/announcements/acts/add", {"title": "News", "body": "text"}),
    (f"{MANAGE}/submissions/{{submission}}/acts/disqualify", {"reason": "because"}),
    (f"{MANAGE}/webhooks", {"url": "https://receiver.example.org/"}),
    (f"{MANAGE}/submissions/acts", {"act": "disqualify", "ids": [], "reason": "because"}),
]


def test_a_stolen_token_is_asked(site: Site) -> None:
    submission = site.member("ada").submit().json()["id"]
    rosa = site.person("rosa", password=PASSWORD, is_site_admin=True)
    long_ago(site)
    wishes = [
        (path.format(submission=submission), {**body, "ids": [submission]} if "ids" in body else body)
        for path, body in STOLEN
    ]
    for path, body in wishes:
        refused = rosa.call("POST", path, json=body)
        assert (refused.status_code, refused.json()["error"]) == (403, "prove"), refused.text
    assert rosa.call("POST", "/api/v1/me/proof", json={"proof": PASSWORD}).status_code == 200
    for path, body in wishes:
        done = rosa.call("POST", path, json=body)
        assert done.status_code in (200, 201, 202), done.text


def test_whoever_overrides_is_asked_too(site: Site) -> None:
    """An act that asks for nothing may still meet something in its way."""
    captain, guest = site.member("captain"), site.member("guest")
    with site.services.database.writing() as session:
        site.competition(session).team_size = 1
        rows = session.query(Membership)
        away = rows.filter_by(user_id=guest.id).one()
        away.status, away.team_id = MemberStatus.REJECTED, rows.filter_by(user_id=captain.id).one().team_id
    owner, path = site.owner(), f"{MANAGE}/people/guest/acts/approve"
    wish = {"override": True, "confirm": "guest"}
    long_ago(site)
    refused = owner.call("POST", path, json=wish)
    assert (refused.status_code, refused.json()["error"]) == (403, "prove"), refused.text
    assert site.owner().call("POST", path, json=wish).status_code == 200  # a token of just now


def test_a_form_that_needs_a_proof_is_sent_on_after_it(site: Site, rosa: Person) -> None:
    """A stolen session makes no worker's token. Whose it is types the password, and nothing a second time."""
    in_browser(site, rosa)
    long_ago(site)
    asked = form(site, "/admin/workers", "/admin/workers/tokens", name="gpu 1", days="7")
    assert asked.status_code == 307 and tokens(site) == 0
    page = site.client.get("/account").text
    csrf = page.split('name="csrf_token" value="')[1].split('"')[0]
    headers = {"accept": "text/html", "referer": "http://testserver/admin/workers"}
    sent = {"csrf_token": csrf, "name": "gpu 1", "days": "7"}
    page = site.client.post("/admin/workers/tokens", data=sent, headers=headers).text
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    assert hidden.pop("csrf_token") and hidden == {"name": "gpu 1", "days": "7"}
    (address,) = (
        found.replace("&amp;", "&") for found in re.findall(r'action="(/account/prove[^"]*)"', page)
    )
    proof = {"csrf_token": csrf, **hidden, "proof": "wrong"}
    wrong = site.client.post(address, data=proof, headers=headers)
    assert wrong.status_code == 401 and 'value="gpu 1"' in wrong.text and tokens(site) == 0
    done = site.client.post(address, data=proof | {"proof": PASSWORD}, headers=headers)
    assert done.status_code == 200 and "anyworker_" in done.text and tokens(site) == 1
    site.client.cookies.clear()


def test_a_command_asks_for_the_password_and_goes_on(site: Site, rosa: Person) -> None:
    with served(site) as address:
        environment = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": rosa.token}
        arguments = ["administer", "do", "image.offer", "ours", "--set", "description=an image"]
        refused = CliRunner().invoke(main, arguments, input="wrong\n", env=environment)
        assert refused.exit_code != 0 and "needs your password again" in refused.output, refused.output
        done = CliRunner().invoke(main, arguments, input=f"{PASSWORD}\n", env=environment)
    assert done.exit_code == 0, done.output
    with site.services.database.reading() as session:
        assert [image.name for image in session.scalars(select(Image))] == ["ours"]


def test_a_hidden_dataset_is_downloaded_after_a_proof(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        session.get_one(User, owner.id).password_hash = hash_password(PASSWORD)
        pack = session.scalars(select(Pack).where(Pack.name == "alpha")).one().id
    long_ago(site)
    path = f"/organize/pools/small-pool/packs/{pack}/download"
    refused = owner.call("GET", path)
    assert (refused.status_code, refused.json()["error"]) == (403, "prove")
    assert owner.call("POST", "/api/v1/me/proof", json={"proof": PASSWORD}).status_code == 200
    assert owner.call("GET", path).text == "a pack named alpha"


def test_a_session_makes_no_token_that_may_more_than_itself(site: Site) -> None:
    """Of no scope, for no time: and a new token has proved no more than the session that made it."""
    pia = site.person("pia", password=PASSWORD)
    in_browser(site, pia)
    long_ago(site)
    before = tokens(site, ApiToken)
    refused = form(site, "/account/tokens", name="a year", scope="read", days="1")
    assert refused.headers["location"].startswith("/account/prove") and tokens(site, ApiToken) == before
    form(site, "/account/prove", proof=PASSWORD)
    said = now() - timedelta(minutes=10)
    with site.services.database.writing() as session:
        session.execute(update(LoginSession).values(proved_at=said))
    made = form(site, "/account/tokens", name="mine", scope="organize")
    secret = re.findall(r"any_[\w-]+", made.text)[0]
    site.client.cookies.clear()
    with site.services.database.reading() as session:
        token = session.scalars(select(ApiToken).where(ApiToken.name == "mine")).one()
        assert token.proved_at == said
    assert (
        Person(pia.id, "pia", secret, site.client).call("GET", "/api/v1/me").status_code == 403
    )  # no such scope
