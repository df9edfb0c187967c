"""`anyshot organize` against the real web service over HTTP."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from anyshot_core.client import Client, NotAllowed
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.people.users.models import User
from anyshot_starting_kit.cli.consent import show
from anyshot_starting_kit.cli.objects import ADMINISTERED, ORGANIZED, Objects
from tests.core.tinydata import write_pack
from tests.platform.admin.test_manage import BASE, flash, post
from tests.platform.site import PASSWORD, SLUG, Site, make_zip
from tests.starting_kit.cli.test_platform_commands import (  # noqa: F401 - fixtures
    address,
    call,
    folder,
)

ORGANIZERS = ["/competitions/{slug}/manage/", "/pools"]


def answer(*words: str) -> Any:
    """What a command that succeeds prints as JSON."""
    done = call(*words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.seconds("many commands")
def test_a_competition_is_steered_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert "- key: feedback" in call("organize", "show", "phases", SLUG).output
    assert answer("organize", "do", SLUG, "phase.pause", "feedback")["status"] == "paused"
    assert answer("organize", "do", SLUG, "phase.resume", "feedback")["status"] == "open"
    end = ("--set", "end=2090-01-01T00:00:00Z")
    moved = answer("organize", "do", SLUG, "phase.extend", "feedback", *end)
    assert moved["settings"]["end"] == "2090-01-01T00:00:00+00:00"
    settings = answer("organize", "file", "phase", SLUG, "feedback")
    settings["quota"]["per_day"] = 7
    (tmp_path / "phase.json").write_text(json.dumps(settings))
    changed = answer("organize", "file", "phase", SLUG, "feedback", str(tmp_path / "phase.json"))
    assert changed["quota"]["per_day"] == 7
    pia, worker = site.member("pia"), site.worker()
    submission = pia.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    listed = ("organize", "show", "submissions", SLUG)
    found = answer(*listed, "--json")
    assert (found["total"], found["items"][0]["id"]) == (1, submission)
    finished = ("--where", "status=finished")
    assert call(*listed, *finished, "--only", "id,team,status").output == f"{submission}\tpia\tfinished\n"
    assert call(*listed, "--where", "status=failed", "--only", "id").output == ""
    disqualify = ("organize", "do", SLUG, "submission.disqualify", submission)
    assert call(*disqualify).exit_code == 1  # no reason
    assert call(*disqualify, "--reason", "copied").exit_code == 0
    assert answer(*listed, "--json")["items"][0]["disqualified"] is not None
    assert call("organize", "do", SLUG, "submission.qualify", submission).exit_code == 0
    assert call("organize", "do", SLUG, "submission.delete").exit_code == 2
    refused = call("organize", "report", SLUG, "feedback", "flips")
    assert refused.exit_code == 1
    assert "no longer kept of pia" in refused.output
    final = {**settings, "title": "Final", "kind": "final", "entries": {"phase": "feedback"}}
    (tmp_path / "final.json").write_text(json.dumps(final))
    assert call("organize", "file", "phase", SLUG, "final", str(tmp_path / "final.json")).exit_code == 0
    (row,) = answer("organize", "show", "final", SLUG, "final", "--json")
    assert (row["team"], row["enters"]) == ("pia", True)
    launch = ("organize", "do", SLUG, "final.launch", "final", "--set", "expected=1")
    early = call(*launch, "--yes", "final")
    assert early.exit_code == 1 and "takes uploads until 1 Jan 2090, 00:00 UTC" in early.output
    assert len(answer(*launch, "--yes", "final", "--override")["submissions"]) == 1
    publish = ("organize", "do", SLUG, "final.publish", "final", "--set", "winners=1")
    early = call(*publish, "--yes", "final")
    assert early.exit_code == 1 and "In the way: 1 run of this phase has not ended yet." in early.output
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    asked = call(*publish, input="fin\n")
    assert asked.exit_code == 1 and "1. pia (0.500)" in asked.output and "not “fin”" in asked.output
    told = call(*publish, input="final\n")
    assert len(json.loads(told.stdout)["code_of"]) == 1
    assert answer(*publish)["published_at"]  # again: nothing is asked, nobody is told
    assert answer("organize", "show", "pool", "small-pool", "--json")["published_at"] is None
    kept = call("organize", "do", SLUG, "pool.publish", "small-pool", "--yes", "small-pool", "--override")
    assert kept.exit_code == 1 and "would give its labels away" in kept.output
    assert (
        call("organize", "show", "versions", SLUG, "feedback", "--only", "number,live").output == "1\ttrue\n"
    )


def test_what_cannot_be_shown_is_said(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert call("organize", "show", "webhooks", SLUG).output == "There is none.\n"
    wrong = {
        ("teams", SLUG, "--where", "league=free"): "teams is not chosen by league; by: nothing.",
        ("people", SLUG, "--where", "name=pia"): "people is not chosen by name; by: q, status, role, page.",
        ("phase", SLUG): "phase takes: COMPETITION PHASE.",
        ("phases", SLUG, "--only", "end"): "There is no field end. There are: key, ",
        ("boards", SLUG): "'boards' is not one of",
    }
    for words, told in wrong.items():
        refused = call("organize", "show", *words)
        assert refused.exit_code == 2 and told in refused.output, refused.output
    absent = call("organize", "show", "phase", SLUG, "nothing")
    assert absent.exit_code == 1 and absent.output == "There is no such phase.\n"
    for name in [f"person{number}" for number in range(52)]:
        site.member(name)
    people = call("organize", "show", "people", SLUG, "--only", "username").output.split()
    assert {"person0", "person51"} <= set(people) and len(people) > 52  # both pages


@pytest.mark.parametrize(("objects", "below"), [(ORGANIZED, ORGANIZERS), (ADMINISTERED, ["/admin/"])])
def test_every_object_of_the_api_is_shown_with_its_filters(
    site: Site, objects: Objects, below: list[str]
) -> None:
    paths = site.client.get("/api/v1/openapi.json").json()["paths"]
    there = {
        re.sub(r"{\w+}", "{}", path.removeprefix("/api/v1")): tuple(
            one["name"] for one in operations["get"].get("parameters", []) if one["in"] == "query"
        )
        for path, operations in paths.items()
        if "get" in operations
        and any(path.startswith(f"/api/v1{start}") for start in below)
        and "application/json" in operations["get"]["responses"]["200"].get("content", {})
        and not path.endswith(("/acts", "/files/{name}"))
    }
    assert {re.sub(r"{\w+}", "{}", path): filters for path, filters in objects.values()} == there


def test_logging_in_can_give_the_right_to_organize(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    site.person("otto", password=PASSWORD)
    with site.services.database.writing() as session:
        add_member(session, site.competition(session), _user(session, "otto"), Role.ORGANIZER)
    said = ("login", "--server", address, "--username", "otto", "--password", PASSWORD)
    assert call(*said).exit_code == 0
    refused = call("organize", "do", SLUG, "phase.pause", "feedback")
    assert f"anyshot login --server {address} --organize" in refused.output
    assert call(*said, "--organize").exit_code == 0
    assert answer("organize", "do", SLUG, "phase.pause", "feedback")["status"] == "paused"


def test_an_act_that_asks_nobody_warns_all_the_same(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    owner, refused = site.owner(), "Feedback: uploads are refused from now on."
    assert call("login", "--server", address, "--token", owner.token).exit_code == 0
    do = ("organize", "do", SLUG)
    archived = call(*do, "competition.archive")  # an act that asks for no name
    assert archived.stderr == f"Warning: {refused}\n" and '"state": "archived"' in archived.stdout
    call(*do, "competition.publish")
    site.member("pia").submit()
    named = call(*do, "competition.draft", "--yes", SLUG)  # one whose name is given in advance
    assert f"Warning: {refused}" in named.stderr and "1 run is queued or running" in named.stderr
    call(*do, "competition.publish")
    asked = call(*do, "competition.draft", input=f"{SLUG}\n")
    assert asked.stderr.count(refused) == 1  # shown with the question, and not again
    call(*do, "competition.publish")
    by_key = call("organize", "do", SLUG, "competition.archive")
    assert json.loads(by_key.stdout)["warnings"][0] == refused and refused in by_key.stderr
    post(owner, f"{BASE}/acts/publish")
    assert refused in flash(post(owner, f"{BASE}/acts/archive"))


def test_every_declared_act_is_done_by_one_command(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    listed = call("organize", "acts", SLUG).output
    names = [line.split()[0] for line in listed.splitlines() if not line.startswith(" ")]
    assert {"phase.pause", "competition.archive", "member.ban", "version.rescore", "code.hide"} <= set(names)
    assert "phase.extend PHASE_SLUG --set end=... --set zone=...\n    Move the end of the phase." in listed
    assert "\n    Archive the competition. Publish it again.\n" in listed
    assert "\n    Delete the pool. Restore it.\n" in listed
    assert json.loads(call("organize", "do", SLUG, "phase.pause", "feedback").output)["status"] == "paused"
    site.member("pia")
    role = ("organize", "do", SLUG, "member.role", "pia", "--set", "role=reviewer")
    assert call(*role, "--yes", "somebody").exit_code == 1
    assert json.loads(call(*role, "--yes", "pia").output)["role"] == "reviewer"
    site.member("quin")
    several = call("organize", "do", SLUG, "member.reject", "pia", "nobody", "quin")
    assert several.exit_code == 1 and several.output.count('"status": "rejected"') == 1
    assert (
        "pia: Only participants are rejected." in several.output and "nobody: There is no" in several.output
    )
    zoned = ("--set", "end=2090-01-01T00:00:00", "--set", "zone=Europe/Paris")
    moved = json.loads(call("organize", "do", SLUG, "phase.extend", "feedback", *zoned).output)
    assert moved["settings"]["end"] == "2089-12-31T23:00:00+00:00"
    forever = call("organize", "do", SLUG, "phase.extend", "feedback", "--set", "end=").output
    assert json.loads(forever)["settings"]["end"] is None
    assert "There is no act phase.paint" in call("organize", "do", SLUG, "phase.paint", "feedback").output
    assert "phase.pause is done to: phase_slug" in call("organize", "do", SLUG, "phase.pause").output
    audit = call("organize", "show", "audit", SLUG, "--only", "action").output.split()
    assert [audit.count(key) for key in ("phase.pause", "member.role", "phase.extend")] == [1, 1, 2]


@pytest.mark.seconds("many commands")
def test_a_pool_is_filled_mended_and_given_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    created = answer("organize", "do", SLUG, "pool.create", "mine", "--set", "competition=")
    assert (created["slug"], created["competition"], created["versions"]) == ("mine", None, [])
    files = [str(write_pack(tmp_path, name)) for name in ("A", "B")]
    assert call("organize", "file", "packs", "mine", *files).stdout == "mine has version 1: A, B.\n"
    mended = str(write_pack(tmp_path / "new", "A", images=9))
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        version = session.query(PoolVersion).join(Pool).filter(Pool.slug == "mine").one()
        phase.smoke_pool_version_id, phase.name = version.id, "Warm-up"
    put = call("organize", "file", "packs", "mine", mended, "--note", "A was blurred")
    assert put.stderr.splitlines()[-1] == (
        "Warning: “Warm-up” of “A small competition” stays on version 1 until its settings name the new one."
    )
    assert put.stdout == "mine has version 2: A, B.\n"
    packs = answer("organize", "show", "pool", "mine", "--json")["versions"][0]["packs"]
    assert [(pack["name"], pack["images"]) for pack in packs] == [("A", 45), ("B", 60)]
    bad = tmp_path / "bad.anyshot-pack"
    bad.write_bytes(b"no pack")
    some = call("organize", "file", "packs", "mine", str(bad), str(write_pack(tmp_path, "C")))
    assert some.exit_code == 1 and some.stdout == "mine has version 3: A, B, C.\n"
    assert "Left out: bad.anyshot-pack: " in some.stderr
    none = call("organize", "file", "packs", "mine", str(bad))
    assert none.exit_code == 1 and "Left out: bad.anyshot-pack: " in none.output
    numbers = [one["number"] for one in answer("organize", "show", "pool", "mine", "--json")["versions"]]
    assert numbers[0] == 3
    for dataset in ("C", "B"):
        removed = ("pool.remove_dataset", "mine", "--set", f"dataset={dataset}")
        assert call("organize", "do", SLUG, *removed).exit_code == 0
    given = ("pool.give", "mine", "--set", f"competition={SLUG}")
    assert call("organize", "do", SLUG, *given).exit_code == 0
    shown = answer("organize", "show", "pool", "mine", "--json")
    assert shown["competition"] == SLUG and [p["name"] for p in shown["versions"][0]["packs"]] == ["A"]
    assert "does not exist" in call("organize", "file", "packs", "mine", str(tmp_path / "no")).output
    later = call("organize", "do", SLUG, "pool.publish_when_over", "mine", "--yes", "mine")
    assert later.exit_code == 0 and site.owner().call("GET", "/api/v1/pools/mine").json()["publish_when_over"]
    published = call("organize", "do", SLUG, "pool.publish", "mine", "--yes", "mine")
    assert published.exit_code == 0, published.output
    shared = answer("organize", "show", "overlaps", "mine", "--json")["shared"]
    assert {one["pool"] for one in shared} == {"mine"}  # A was in it before, with other images
    assert answer("organize", "show", "pool", "mine", "--json")["published_at"]  # who compares hides nothing
    assert call("organize", "do", SLUG, "pool.unpublish", "mine").exit_code == 0
    hidden = answer("organize", "show", "pool", "mine", "--json")
    assert hidden["published_at"] is None and not hidden["publish_when_over"]


def test_what_is_wrong_with_a_phase_or_a_bundle_is_listed_once_with_its_place(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """The review: the API returned `problems`, and the command said only that something broke the rules."""
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    settings = json.loads(call("organize", "file", "phase", SLUG, "feedback").output)
    settings["quota"]["per_day"], settings["timezone"] = -3, "Mars/Olympus"
    path = tmp_path / "phase.json"
    path.write_text(json.dumps(settings))
    refused = call("organize", "file", "phase", SLUG, "feedback", str(path))
    assert refused.exit_code == 1
    assert refused.output.count("quota.per_day: This must be at least 0, not “-3”.") == 1, refused.output
    settings["quota"]["per_day"], settings["tasks"]["meta_test"] = 3, "no-such-pool"
    path.write_text(json.dumps(settings))
    output = call("organize", "file", "phase", SLUG, "feedback", str(path)).output
    for words in ("tasks.meta_test: There is no pool no-such-pool that you may use.", "timezone: "):
        assert output.count(words) == 1, output
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "competition.yaml").write_text(
        "anyshot: 1\nslug: mine\ntitle: Mine\nlogo: none.png\nphases: [{}]\n"
    )
    output = call("organize", "file", "import", str(bundle)).output
    wanted = (
        "logo: the file 'none.png' is not in the bundle",
        *(f"phases[0].{key}:" for key in ("key", "start")),
    )
    assert [output.count(words) for words in wanted] == [1, 1, 1], output


def test_a_competition_is_copied_and_its_values_are_listed_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert "quota.per_day: 3\n" in call("organize", "show", "values", SLUG).output
    wanted = ("slug=next", "title=Next", "start=2030-05-01T00:00:00Z")
    made = call("organize", "do", SLUG, "competition.clone", *(w for one in wanted for w in ("--set", one)))
    assert made.exit_code == 0 and json.loads(made.stdout)["slug"] == "next"
    starts = call("organize", "show", "phases", "next", "--only", "settings.start").output
    assert "2030-05-01T00:00:00+00:00" in starts.split()


def _user(session: Session, name: str) -> User:
    return session.query(User).filter_by(username=name).one()


def test_a_participant_steers_nothing(site: Site, address: str) -> None:  # noqa: F811
    with Client(address, site.member("pia").token) as client:
        try:
            client.organize("POST", SLUG, "/phases/feedback/acts/close", {})
        except NotAllowed as error:
            assert "organizer" in str(error)
        else:
            raise AssertionError("a participant closed a phase")


def test_texts_and_records_are_kept_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    file, do, show = ("organize", "file"), ("organize", "do", SLUG), ("organize", "show")
    about = answer(*file, "settings", SLUG)
    (tmp_path / "about.json").write_text(json.dumps({**about, "title": "Another title"}))
    changed = answer(*file, "settings", SLUG, str(tmp_path / "about.json"))
    assert changed["title"] == "Another title"
    (tmp_path / "rules.md").write_text("Be kind.\n")
    assert "rules is saved" in call(*file, "page", SLUG, "rules", str(tmp_path / "rules.md")).output
    assert "is saved" in call(*file, "page", SLUG, "rules", "--title", "The rules").output
    assert call(*file, "page", SLUG, "rules").output == "Be kind.\n\n"
    assert "rules\tThe rules" in call(*show, "pages", SLUG, "--only", "key,title").output
    missing = call(*file, "page", SLUG, "nothing")
    assert missing.exit_code == 2 and "There are: " in missing.output
    assert call(*show, "state", SLUG, "--only", "state").output == "published\n"
    assert answer(*do, "competition.draft")["state"] == "draft"
    announce = (*do, "announcement.add", "--set", "title=It begins")
    assert "publish the competition first" in call(*announce).output
    assert answer(*do, "competition.publish")["state"] == "published"
    identity = answer(*announce)["id"]
    edited = call(*file, "announcement", SLUG, identity, "--title", "It has begun")
    assert edited.exit_code == 0
    assert call(*show, "announcements", SLUG, "--only", "id,title").output == f"{identity}\tIt has begun\n"
    events = ("--set", "url=https://example.org/x", "--set", "events=submission.failed")
    added = answer(*do, "webhook.add", *events)
    assert added["secret"] and added["events"] == ["submission.failed"]
    assert call(*show, "webhooks", SLUG, "--only", "id").output.split() == [added["id"]]
    assert call(*do, "webhook.remove", added["id"]).exit_code == 0
    assert call(*show, "webhooks", SLUG).output == "There is none.\n"
    (tmp_path / "mine.zip").write_bytes(make_zip())
    archive = str(tmp_path / "mine.zip")
    call(*file, "baseline", SLUG, archive, "--name", "Mine", "--league", "free")
    assert 'Mine\t["free"]' in call(*show, "baselines", SLUG, "--only", "name,leagues").output
    assert call(*file, "attach", SLUG, str(tmp_path / "rules.md")).output == "files/rules.md\n"
    assert call(*show, "files", SLUG, "--only", "name").output == "rules.md\n"
    assert call(*do, "file.remove", "rules.md").exit_code == 0
    log = (*show, "audit", SLUG, "--only", "action")
    mine = call(*log, "--where", f"who={site.owner().username}").output.split()
    assert {"webhook.remove", "baseline.add"} <= set(mine)
    assert call(*log, "--where", "action=announcement.add").output == "announcement.add\n"


def test_one_person_is_told_or_two_people(capsys: pytest.CaptureFixture[str]) -> None:
    preview = {"title": "Admit", "does": [], "warnings": [], "undo": "Refuse it.", "blocked": []}
    for number in (0, 1, 2):
        show({**preview, "told": number})
    said = capsys.readouterr().err
    assert said.count("will get a message") == 2
    assert "  1 person will get a message about it.\n" in said and "  2 people will get a message" in said


def test_more_time_for_one_team_is_given_by_command(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    ada, bob = site.member("ada"), site.member("bob")
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    wish = ("--set", "way=teams", "--set", "end=2090-01-01T00:00", "--set", "zone=AoE", "--set", "teams=ada")
    act = ("organize", "do", SLUG, "phase.relieve", "feedback", *wish)
    asked = call(*act)
    assert asked.exit_code == 1 and "ada can submit until 1 Jan 2090, 12:00 UTC, all others" in asked.output
    assert answer(*act, "--yes", "feedback")["status"] == "closed"
    assert (ada.submit().status_code, bob.submit().status_code) == (201, 409)
