"""The organizers' list of entries: every team, league and phase, with what may be done to them."""

import html
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.states import Admission
from anyshot_platform.people.audit.models import AuditEntry
from tests.platform.admin.test_manage import flash, page, post
from tests.platform.admin.test_two_actors import seen
from tests.platform.core.test_league_decisions import WEIGHTS
from tests.platform.entries.test_entries import CV, MANAGE, add_league, join_team, names, scored, women
from tests.platform.entries.test_leagues_page import address, command  # noqa: F401
from tests.platform.site import Person, Site
from tests.services.processes import free_port
from tests.services.sites import served

PAGE = "/competitions/small/manage/entries"
API = "/api/v1/competitions/small/manage/entries"


def rows(owner: Person, query: str = "") -> list[tuple[str, str, str]]:
    """What the page lists: team, league, state."""
    text = page(owner, f"{PAGE}{query}").text
    found = re.findall(
        r'aria-label="(\w+) in ([\w ]+), Feedback">.*?class="badge[^"]*"[^>]*>(.*?)</span>', text, re.S
    )
    return [
        (team, league, re.sub(r"<[^>]+>|\s+", " ", html.unescape(state)).strip())
        for team, league, state in found
    ]


def ids(owner: Person, team: str, league: str) -> str:
    found = owner.call("GET", API, params={"league": league, "text": team}).json()["items"]
    return found[0]["id"]


def qualify(person: Person) -> None:
    """Answer what the women's league asks."""
    said = {"answers": {"woman": "yes", "cv": "https://example.org/me"}}
    answer = person.call("PUT", "/api/v1/competitions/small/leagues/women/answers", json=said)
    assert answer.is_success, answer.text


def test_the_list_has_every_entry_with_its_state_and_history(site: Site) -> None:
    worker, owner = site.worker(), site.owner()
    women(site)
    ada, bob = site.member("ada"), site.member("bob")
    scored(worker, ada, 0.5, leagues=["free", "women"])
    scored(worker, bob, 0.3)
    scored(worker, bob, 0.4)
    assert rows(owner) == [
        ("ada", "Free style", "stands on the leaderboard"),
        ("bob", "Free style", "stands on the leaderboard"),
        ("ada", "Women", "held back"),
    ]
    assert rows(owner, "?league=women") == [("ada", "Women", "held back")]
    assert rows(owner, "?state=standing&q=BO") == [("bob", "Free style", "stands on the leaderboard")]
    assert rows(owner, "?phase=nowhere") == []
    shown = " ".join(re.sub("<[^>]+>", " ", page(owner, PAGE).text).split())
    assert "ada must answer the questions of the league." in shown
    assert "no. 2 replaced no. 1" in shown
    assert page(ada, PAGE).status_code == 403


def test_acts_of_the_list_are_about_the_team_where_the_league_asks(site: Site) -> None:
    worker, owner = site.worker(), site.owner()
    women(site)
    ada = site.member("ada")
    qualify(ada)
    scored(worker, ada, 0.5, leagues=["women"])
    entry = ids(owner, "ada", "women")
    assert flash(post(owner, PAGE, entry=entry, act="refuse")) == "Give the reason: the team sees it."
    assert flash(post(owner, PAGE, act="admit")) == "Tick the entries first."
    done = post(owner, PAGE, entry=entry, act="admit")
    assert flash(done) == "1 of 1 entries changed."
    assert names(site, "women") == [("ada", 0.5)]
    scored(worker, ada, 0.7, leagues=["women"])
    assert names(site, "women") == [("ada", 0.7)]  # the team is admitted, not one submission
    again = post(owner, PAGE, entry=entry, act="admit")
    assert flash(again) == "0 of 1 entries changed. The others are as they were: It is admitted already."
    post(owner, PAGE, entry=entry, act="refuse", reason="not so")
    assert (names(site, "women"), rows(owner)) == ([], [("ada", "Women", "refused")])


def test_elsewhere_they_are_about_the_submission_and_are_undone(site: Site) -> None:
    worker, owner = site.worker(), site.owner()
    ada = site.member("ada")
    scored(worker, ada, 0.5, leagues=["scratch", "free"])
    scratch, free = ids(owner, "ada", "scratch"), ids(owner, "ada", "free")
    post(owner, PAGE, entry=scratch, act="refuse", reason="weights found")
    assert (names(site, "scratch"), names(site, "free")) == ([], [("ada", 0.5)])
    post(owner, PAGE, entry=free, act="disqualify", reason="it cheats")
    assert names(site, "free") == []
    post(owner, PAGE, entry=free, act="qualify")
    assert names(site, "free") == [("ada", 0.5)]
    with site.services.database.reading() as session:
        acts = [row.action for row in session.query(AuditEntry).order_by(AuditEntry.id)]
    assert [act for act in acts if act.partition(".")[0] in ("entry", "submission")][-3:] == [
        "entry.refuse",
        "submission.disqualify",
        "submission.qualify",
    ]


@pytest.mark.parametrize("act_name", ["refuse", "disqualify"])
def test_a_team_is_not_put_out_without_a_reason(site: Site, act_name: str) -> None:
    owner, ada = site.owner(), site.member("ada")
    scored(site.worker(), ada, 0.5, leagues=["free"])
    said = {"ids": [ids(owner, "ada", "free")], "act": act_name, "reason": "  "}
    refused = owner.call("POST", f"{API}/acts", json=said)
    assert (refused.status_code, refused.json()["message"]) == (422, "Give the reason: the team sees it.")
    assert names(site, "free") == [("ada", 0.5)]


def test_entries_of_another_competition_are_not_ones_own_to_judge(site: Site) -> None:
    bob = site.person("bob")
    scored(site.worker(), site.member("ada"), 0.5, leagues=["free"])
    assert post(bob, "/organize/new", title="Bobs", slug="bobs").status_code == 303
    entry = ids(site.owner(), "ada", "free")
    said = {"ids": [entry], "act": "disqualify", "reason": "it is better than mine"}
    answer = bob.call("POST", "/api/v1/competitions/bobs/manage/entries/acts", json=said)
    assert answer.json() == {"done": [], "skipped": {entry: "It is not here."}, "warnings": []}
    assert names(site, "free") == [("ada", 0.5)]


def test_the_command_line_lists_and_acts_alike(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    worker, owner = site.worker(), site.owner()
    women(site)
    ada = site.member("ada")
    scored(worker, ada, 0.5, leagues=["women"])
    ada.call("PUT", "/api/v1/competitions/small/leagues/women/answers", json={"answers": {"woman": "yes"}})
    with served(site.app, free_port()) as where:
        entries = ("organize", "show", "entries", "small")
        listed = command(where, owner, *entries, "--only", "league,team,number,state")
        assert "women\tada\t1\theld_back\n" in listed
        teams = ("organize", "show", "teams", "small", "--only", "league,team_name,status,team")
        league, name, status, team = command(where, owner, *teams).strip().split("\t")
        assert (league, name, status) == ("women", "ada", "declared")
        command(where, owner, "organize", "do", "small", "team.admit", "women", team)
        (row,) = json.loads(command(where, owner, *entries, "--json"))["items"]
        assert (row["state"], len(row["history"])) == ("standing", 3)
        disqualify = ("organize", "do", "small", "submission.disqualify", row["submission"])
        command(where, owner, *disqualify, "--reason", "it cheats")
    assert names(site, "women") == []


def test_a_team_with_members_who_have_not_answered_is_admitted_by_name_alone(
    site: Site,
    address: str,  # noqa: F811
) -> None:
    """By page, JSON and command; the log names what stood in the way."""
    owner, worker = site.owner(), site.worker()
    women(site)
    ada, bea = site.member("ada"), site.member("bea")
    join_team(site, ada, bea)
    qualify(ada)
    scored(worker, ada, 0.5, leagues=["women"])
    words = "bea of “ada” must answer the questions of the league."
    asked = post(owner, PAGE, entry=ids(owner, "ada", "women"), act="admit").text
    assert words in asked and "Type <code>ada</code> to confirm" in asked
    listed = owner.call("GET", f"{MANAGE}/teams").json()
    body = {"league": "women", "teams": [listed[0]["team"]], "admit": True}
    said = owner.call("POST", f"{MANAGE}/teams/decide", json=body)
    assert (said.status_code, said.json()["preview"]["blocked"]) == (409, [words])
    named = owner.call("POST", f"{MANAGE}/teams/decide", json={**body, "confirm": "ada"})
    assert (named.status_code, names(site, "women")) == (409, []), "the name alone overrides nothing"
    team = listed[0]["team"]
    admit = [
        "organize",
        "do",
        "small",
        "team.admit",
        "women",
        team,
        "--server",
        address,
        "--token",
        owner.token,
    ]
    refused = CliRunner().invoke(main, admit)
    assert refused.exit_code == 1 and f"In the way: {words}" in refused.output
    assert names(site, "women") == []
    done = CliRunner().invoke(main, [*admit, "--override", "--yes", "ada"])
    assert done.exit_code == 0, done.output
    assert f"Warning: {words}" in done.stderr and names(site, "women") == [("ada", 0.5)]
    with site.services.database.reading() as session:
        entry = session.query(AuditEntry).filter_by(action="team.admit").one()
        assert entry.after["overridden"] == [words]


def asking_scratch(site: Site) -> tuple[Person, str]:
    """A league without pretrained weights that also asks; of ada, who answered, an entry held back by its zip."""
    add_league(site, "meta", admission=Admission.FROM_SCRATCH, questions=[CV])
    ada, worker = site.member("ada"), site.worker()
    ada.submit(leagues=["meta"])
    job = worker.claim()
    assert job is not None and worker.complete(job, 0.5, evidence=WEIGHTS).is_success
    ada.call("PUT", "/api/v1/competitions/small/leagues/meta/answers", json={"answers": {"cv": ""}})
    return ada, ids(site.owner(), "ada", "meta")


def subjects(person: Person) -> list[str]:
    return [row["title"] for row in person.call("GET", "/api/v1/notifications").json()]


def test_what_the_zip_holds_back_is_admitted_where_the_league_also_asks(site: Site) -> None:
    owner = site.owner()
    ada, entry = asking_scratch(site)
    assert rows(owner) == [("ada", "Meta", "held back")]
    said = post(owner, PAGE, entry=entry, act="admit", seen=seen(owner, PAGE))
    assert flash(said) == "1 of 1 entries changed."
    assert (names(site, "meta"), rows(owner)) == (
        [("ada", 0.5)],
        [("ada", "Meta", "stands on the leaderboard")],
    )
    assert not [title for title in subjects(ada) if "admitted your team" in title], (
        "it is about the submission"
    )
    post(owner, PAGE, entry=entry, act="refuse", reason="not so", seen=seen(owner, PAGE))
    assert [title for title in subjects(ada) if "did not admit your team" in title], "then about the team"
    assert rows(owner) == [("ada", "Meta", "refused")]


def test_who_admits_what_another_admitted_meanwhile_does_not_admit_the_team_too(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    _, entry = asking_scratch(site)
    read = seen(dana, PAGE)
    assert flash(post(otto, PAGE, entry=entry, act="admit")) == "1 of 1 entries changed."
    late = flash(post(dana, PAGE, entry=entry, act="admit", seen=read))
    assert late == "0 of 1 entries changed. The others are as they were: It is admitted already."


def test_who_admits_a_team_that_another_refused_meanwhile_is_told_and_changes_nothing(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    women(site)
    ada = site.member("ada")
    qualify(ada)
    scored(site.worker(), ada, 0.5, leagues=["women"])
    entry, read = ids(dana, "ada", "women"), seen(dana, PAGE)
    post(otto, PAGE, entry=entry, act="refuse", reason="not so", seen=read)
    late = flash(post(dana, PAGE, entry=entry, act="admit", seen=read))
    assert late.startswith("0 of 1 entries changed. The others are as they were: otto changed the team “ada”")
    assert (names(site, "women"), rows(dana)) == ([], [("ada", "Women", "refused")])
    again = post(dana, PAGE, entry=entry, act="admit", seen=seen(dana, PAGE))
    assert (flash(again), names(site, "women")) == ("1 of 1 entries changed.", [("ada", 0.5)])


def test_who_admits_where_another_refused_the_submission_meanwhile_is_told(site: Site) -> None:
    dana, otto = site.owner(), site.member("otto", Role.ORGANIZER)
    _, entry = asking_scratch(site)
    post(dana, PAGE, entry=entry, act="admit")
    post(dana, PAGE, entry=entry, act="refuse", reason="not a student")
    read = seen(dana, PAGE)
    (judged,) = otto.call("GET", f"{MANAGE}/entries").json()
    said = {"entries": [{"submission": judged["submission"], "league": "meta"}], "admit": False}
    assert otto.call("POST", f"{MANAGE}/entries/decide", json=said).json()["changed"] == 1
    late = flash(post(dana, PAGE, entry=entry, act="admit", seen=read))
    assert "otto changed no. 1 of “ada” in “Meta”" in late and names(site, "meta") == []
