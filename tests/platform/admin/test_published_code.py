"""Winners' code: who may have it, and how organizers hide that of one team."""

import json
from collections.abc import Iterator
from datetime import timedelta

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.foundation.database import now
from tests.platform.admin.test_guarded_acts import MANAGE, final, log
from tests.platform.admin.test_manage import BASE, finish, flash, page, post
from tests.platform.site import SLUG, Person, Site
from tests.services.processes import free_port
from tests.services.sites import served

__all__ = ["final"]
CODE = f"/competitions/{SLUG}/code"


@pytest.fixture
def ended(final: tuple[Site, Person]) -> tuple[Site, Person]:
    """A final phase whose three entries are scored: pia 0.8, quin 0.7, rob 0.1."""
    site, owner = final
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    post(owner, f"{BASE}/final/final/launch", expected="3")
    finish(site.worker("second"), 0.8, 0.7, 0.1)
    return site, owner


def publish(owner: Person, winners: int) -> list[str]:
    body = {"winners": winners, "confirm": "final"}
    answer = owner.call("POST", f"{MANAGE}/phases/final/final/acts/publish", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["code_of"]


def published(site: Site) -> list[str]:
    """The teams of whom anybody sees code, on the page and in the API alike; each zip can be had."""
    rows = site.client.get(f"/api/v1{CODE}").json()
    shown = site.client.get(CODE, headers={"accept": "text/html"}).text
    for row in rows:
        assert row["team"] in shown and row["url"] in shown
        assert site.client.get(row["url"]).status_code == 200
    assert shown.count(f"{CODE}/") == len(rows)
    return [row["team"] for row in rows]


def team_of(owner: Person, name: str) -> str:
    found = owner.call("GET", f"{MANAGE}/people", params={"q": name}).json()["items"]
    return found[0]["team"]["id"]


def test_the_code_of_one_team_is_hidden_and_shown_again(ended: tuple[Site, Person]) -> None:
    site, owner = ended
    publish(owner, 2)
    assert published(site) == ["pia", "quin"]
    (url,) = [row["url"] for row in site.client.get(f"/api/v1{CODE}").json() if row["team"] == "pia"]
    shown = page(owner, f"{BASE}/final").text
    assert "Published code" in shown and "Hide it" in shown
    hide = f"{BASE}/code/{team_of(owner, 'pia')}/hide"
    warned = "What was downloaded cannot be called back."
    assert (
        flash(post(owner, hide, reason="the licence is unclear")) == f"The code of “pia” is hidden. {warned}"
    )
    assert published(site) == ["quin"]
    assert site.client.get(url).status_code == 404
    assert "Show it again" in page(owner, f"{BASE}/final").text
    (entry,) = log(site, "code.hide")
    assert (entry.reason, entry.before, entry.after["hidden"]) == (
        "the licence is unclear",
        {"hidden": False},
        True,
    )
    assert "code.hide" in page(owner, f"{BASE}/audit").text
    assert flash(post(owner, hide)) == "The code of “pia” is hidden already."
    assert len(log(site, "code.hide")) == 1
    board = site.client.get(f"/api/v1/competitions/{SLUG}/phases/final/leaderboard").json()
    assert [row["team"] for row in board["rows"]] == ["pia", "quin", "rob"]
    show = post(owner, f"{BASE}/code/{team_of(owner, 'pia')}/show")
    assert flash(show) == "The code of “pia” is no longer hidden."
    assert published(site) == ["pia", "quin"]
    unpublished = owner.call("POST", f"{MANAGE}/phases/final/final/acts/unpublish")
    assert unpublished.json()["published_at"] is None
    assert published(site) == [] and site.client.get(url).status_code == 404, "it goes with the results"
    assert "Winners" not in site.client.get(f"/competitions/{SLUG}").text


def test_hidden_code_stays_hidden_when_results_are_published(ended: tuple[Site, Person]) -> None:
    site, owner = ended
    path = f"{MANAGE}/code/{team_of(owner, 'pia')}"
    assert owner.call("POST", f"{path}/acts/hide").json() == {
        "message": "The code of “pia” is hidden.",
        "changed": True,
        "warnings": [],  # nobody had it yet
    }
    assert owner.call("POST", f"{path}/acts/hide").json()["changed"] is False
    asked = owner.call("POST", f"{MANAGE}/phases/final/final/acts/publish", json={"winners": 2})
    assert asked.json()["preview"]["does"][-2:] == [
        "Everybody can download the code of 1 submission.",
        "The code of “pia” stays hidden, as you decided.",
    ]
    assert len(publish(owner, 2)) == 1
    assert published(site) == ["quin"]  # the third does not move up for the first
    (pia, quin) = owner.call("GET", f"{MANAGE}/code").json()
    assert (pia["name"], pia["hidden"], len(pia["submissions"])) == ("pia", True, 1)
    assert (quin["name"], quin["hidden"]) == ("quin", False)
    rows = owner.call("GET", f"{MANAGE}/submissions", params={"phase": "final"}).json()["items"]
    assert {row["team"]: row["code_published"] for row in rows} == {"pia": False, "quin": True, "rob": False}
    owner.call("POST", f"{path}/acts/show", json={"reason": "agreed"})
    assert published(site) == ["pia", "quin"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_code_of_a_disqualified_winner_is_not_published(ended: tuple[Site, Person], when: str) -> None:
    site, owner = ended
    (pia,) = [
        row["id"]
        for row in owner.call("GET", f"{MANAGE}/submissions", params={"phase": "final"}).json()["items"]
        if row["team"] == "pia"
    ]
    consent = {"confirm": pia[:12], "override": True, "reason": "two accounts"}
    disqualify = f"{MANAGE}/submissions/{pia}/acts/disqualify"
    if when == "before":
        owner.call("POST", disqualify, json=consent)
    publish(owner, 1)
    if when == "after":
        assert published(site) == ["pia"]
        owner.call("POST", disqualify, json=consent)
    assert published(site) == (["quin"] if when == "before" else [])
    assert site.client.get(f"{CODE}/{pia}.zip").status_code == 404


@pytest.fixture
def address(ended: tuple[Site, Person], monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(ended[0].services.settings.home))
    with served(ended[0].app, free_port()) as where:
        yield where


def test_the_command_line_lists_hides_and_shows(ended: tuple[Site, Person], address: str) -> None:
    site, owner = ended

    def say(*words: str) -> str:
        said = CliRunner().invoke(main, ["organize", *words, "--server", address, "--token", owner.token])
        return said.output.strip()

    publish(owner, 1)
    hidden = say("do", SLUG, "code.hide", "pia", "--reason", "asked to")
    assert hidden.startswith("Warning: What was downloaded cannot be called back.\n")
    assert "The code of “pia” is hidden." in json.loads(hidden.partition("\n")[2])["message"]
    assert published(site) == []
    assert '"message"' in say("do", SLUG, "code.hide", "rob")  # nothing of it is published yet
    assert say("show", "code", SLUG, "--only", "name,hidden") == "pia\ttrue\nrob\ttrue"
    assert '"message"' in say("do", SLUG, "code.show", "pia")
    assert published(site) == ["pia"]
    assert "no such team" in say("do", SLUG, "code.hide", "zoe")
    assert [entry.reason for entry in log(site, "code.hide")] == ["asked to", ""]
