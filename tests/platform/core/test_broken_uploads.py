"""An upload that broke off goes on by the next command, is counted once, and never brings bytes that are wrong."""

import hashlib
from typing import Any

import pytest

from tests.platform.core.test_budgets import allow
from tests.platform.site import Person, Site, make_zip

HALF = 100
CONTENT = make_zip(salt="broken off")


def begin(who: Person, content: bytes = CONTENT, **changed: Any) -> dict[str, Any]:
    """Begin the upload of a zip as the command does."""
    body = {"filename": "a.zip", "size": len(content), "digest": hashlib.sha256(content).hexdigest()}
    begun = who.call("POST", "/api/v1/uploads", json=body | changed)
    assert begun.status_code == 201, begun.text
    return begun.json()


def send(who: Person, upload: dict[str, Any], part: bytes) -> None:
    """Send what comes next."""
    where = {"offset": upload["received"]}
    sent = who.call("PUT", f"/api/v1/uploads/{upload['id']}", params=where, content=part)
    assert sent.json()["received"] == upload["received"] + len(part), sent.text


def test_the_next_command_goes_on_where_the_last_one_broke_off(site: Site) -> None:
    alice = site.member("alice")
    first = begin(alice)
    send(alice, first, CONTENT[:HALF])
    again = begin(alice, filename="the same zip.zip")
    assert (again["id"], again["received"]) == (first["id"], HALF)
    assert again["filename"] == "the same zip.zip"
    send(alice, again, CONTENT[HALF:])
    checked = alice.call("POST", f"/api/v1/uploads/{first['id']}/check").json()
    assert checked["ok"] and checked["digest"] == hashlib.sha256(CONTENT).hexdigest()


def test_what_broke_off_as_often_as_you_like_is_counted_once(site: Site) -> None:
    """After eight tries of a zip of 1 GiB, uploads were refused for two days."""
    alice = site.member("alice")
    allow(site, upload_bytes=len(CONTENT))
    assert len({begin(alice)["id"] for _ in range(9)}) == 1
    other = {"filename": "b.zip", "size": 1}
    assert alice.call("POST", "/api/v1/uploads", json=other).json()["error"] == "over_budget"
    assert len(list(site.services.settings.upload_folder.iterdir())) == 1, "what is refused leaves no file"


@pytest.mark.parametrize(
    "changed",
    [{"digest": "0" * 64}, {"size": len(CONTENT) + 1}, {"digest": None}],
    ids=["digest", "size", "none"],
)
def test_other_bytes_begin_anew(site: Site, changed: dict[str, Any]) -> None:
    alice = site.member("alice")
    first = begin(alice)
    send(alice, first, CONTENT[:HALF])
    other = begin(alice, **changed)
    assert other["id"] != first["id"] and other["received"] == 0


def test_nobody_goes_on_with_what_another_person_or_a_pool_began(site: Site) -> None:
    owner, bob = site.owner(), site.member("bob")
    first = begin(owner)
    send(owner, first, CONTENT[:HALF])
    others = begin(bob)
    assert others["id"] != first["id"] and others["received"] == 0
    assert owner.call("POST", "/api/v1/pools", json={"slug": "p"}).status_code == 201
    body = {"filename": "a.zip", "size": len(CONTENT), "digest": hashlib.sha256(CONTENT).hexdigest()}
    pack = owner.call("POST", "/api/v1/pools/p/uploads", json=body)
    assert pack.status_code == 201 and pack.json()["id"] != first["id"] and pack.json()["received"] == 0


def test_bytes_that_are_not_those_announced_are_not_gone_on_with(site: Site) -> None:
    alice = site.member("alice")
    first = begin(alice)
    send(alice, first, bytes(len(CONTENT)))
    check = f"/api/v1/uploads/{first['id']}/check"
    refused = alice.call("POST", check)
    assert refused.status_code == 422 and "upload again" in refused.json()["message"], refused.text
    again = begin(alice)
    assert again["received"] == 0
    send(alice, again, CONTENT)
    assert alice.call("POST", f"/api/v1/uploads/{again['id']}/check").json()["ok"]
