"""`anyshot organize` against the real web service over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from anyshot_core.client import Client, NotAllowed
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.phases.models import Phase
from anyshot_platform.pools.models import Pool, PoolVersion
from anyshot_platform.users.models import User
from anyshot_starting_kit.cli.consent import show
from tests.core.tinydata import write_pack
from tests.platform.admin.test_manage import BASE, flash, post
from tests.platform.site import PASSWORD, SLUG, Site, make_zip
from tests.starting_kit.cli.test_platform_commands import (  # noqa: F401 - fixtures
    address,
    call,
    folder,
)


@pytest.mark.seconds("many commands")
def test_a_competition_is_steered_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert "feedback" in call("organize", "phases", SLUG).output
    assert "feedback is paused." in call("organize", "phase", SLUG, "feedback", "pause").output
    assert "feedback is open." in call("organize", "phase", SLUG, "feedback", "resume").output
    moved = call("organize", "extend", SLUG, "feedback", "2090-01-01T00:00:00Z").output
    assert "ends 2090-01-01T00:00:00+00:00" in moved
    settings = json.loads(call("organize", "settings", SLUG, "feedback").output)
    settings["quota"]["per_day"] = 7
    (tmp_path / "phase.json").write_text(json.dumps(settings))
    changed = call("organize", "settings", SLUG, "feedback", str(tmp_path / "phase.json")).output
    assert json.loads(changed)["quota"]["per_day"] == 7
    pia, worker = site.member("pia"), site.worker()
    submission = pia.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    as_json = json.loads(call("organize", "submissions", SLUG, "--json").output)
    assert (as_json["total"], as_json["items"][0]["id"]) == (1, submission)
    listed = call("organize", "submissions", SLUG, "--status", "finished").output
    assert submission in listed and "1 submission, page 1 of 1." in listed
    assert call("organize", "act", SLUG, "disqualify", submission).exit_code == 1  # no reason
    done = call("organize", "act", SLUG, "disqualify", submission, "--reason", "copied").output
    assert f"To undo: anyshot organize act {SLUG} qualify {submission}" in done
    assert (
        "qualify: 1 submission."
        in call("organize", "act", SLUG, "qualify", "--phase", "feedback", "--yes").output
    )
    assert call("organize", "act", SLUG, "delete").exit_code == 2
    refused = call("organize", "report", SLUG, "feedback", "flips")
    assert refused.exit_code == 1
    assert "no longer kept of pia" in refused.output
    final = {**settings, "title": "Final", "kind": "final", "entries": {"phase": "feedback"}}
    (tmp_path / "final.json").write_text(json.dumps(final))
    assert call("organize", "settings", SLUG, "final", str(tmp_path / "final.json")).exit_code == 0
    preview = ("organize", "final", SLUG, "final", "preview")
    assert "pia                      enters" in call(*preview).output
    assert [row["team"] for row in json.loads(call(*preview, "--json").output)] == ["pia"]
    launch = ("organize", "final", SLUG, "final", "launch")
    early = call(*launch, "--yes", "final")
    assert early.exit_code == 1 and "takes uploads until 2090-01-01" in early.output
    assert "1 entry is queued." in call(*launch, "--yes", "final", "--override").output
    publish = ("organize", "final", SLUG, "final", "publish", "--winners", "1")
    early = call(*publish, "--yes", "final")
    assert early.exit_code == 1 and "In the way: 1 run of this phase has not ended yet." in early.output
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    asked = call(*publish, input="fin\n")
    assert asked.exit_code == 1 and "1. pia (0.500)" in asked.output and "not “fin”" in asked.output
    told = call(*publish, input="final\n").output
    assert "are public; the code of 1 submission too." in told
    assert "are public" in call(*publish).output  # again: nothing is asked, nobody is told
    assert json.loads(call(*publish, "--json").output)["published_at"]
    assert "small-pool is hidden, version 1." in call("organize", "pool", "small-pool", "show").output
    kept = call("organize", "pool", "small-pool", "publish", "--yes", "small-pool", "--override")
    assert kept.exit_code == 1 and "would give its labels away" in kept.output
    assert "1 live" in call("organize", "version", SLUG, "feedback").output


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
    refused = call("organize", "phase", SLUG, "feedback", "pause")
    assert f"anyshot login --server {address} --organize" in refused.output
    assert call(*said, "--organize").exit_code == 0
    assert "feedback is paused." in call("organize", "phase", SLUG, "feedback", "pause").output


def test_an_act_that_asks_nobody_warns_all_the_same(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
) -> None:
    owner, refused = site.owner(), "Feedback: uploads are refused from now on."
    assert call("login", "--server", address, "--token", owner.token).exit_code == 0
    archived = call("organize", "state", SLUG, "archived")  # an act that asks for no name
    assert archived.stderr == f"Warning: {refused}\n" and "archived" in archived.stdout
    call("organize", "state", SLUG, "published")
    site.member("pia").submit()
    named = call("organize", "state", SLUG, "draft", "--yes", SLUG)  # one whose name is given in advance
    assert f"Warning: {refused}" in named.stderr and "1 run is queued or running" in named.stderr
    call("organize", "state", SLUG, "published")
    asked = call("organize", "state", SLUG, "draft", input=f"{SLUG}\n")
    assert asked.stderr.count(refused) == 1  # shown with the question, and not again
    call("organize", "state", SLUG, "published")
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
    audit = call("organize", "audit", SLUG).output
    assert [audit.count(key) for key in ("phase.pause", "member.role", "phase.extend")] == [1, 1, 2]


@pytest.mark.seconds("many commands")
def test_a_pool_is_filled_mended_and_given_from_a_script(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    assert "hidden, without datasets" in call("organize", "pool", "mine", "create").output
    files = [str(write_pack(tmp_path, name)) for name in ("A", "B")]
    first = call("organize", "pool", "mine", "put", *files).output
    assert "version 1." in first
    mended = str(write_pack(tmp_path / "new", "A", images=9))
    with site.services.database.writing() as session:
        phase = session.get_one(Phase, site.phase_id)
        version = session.query(PoolVersion).join(Pool).filter(Pool.slug == "mine").one()
        phase.smoke_pool_version_id, phase.name = version.id, "Warm-up"
    put = call("organize", "pool", "mine", "put", mended, "--note", "A was blurred")
    assert put.stderr.splitlines()[-1] == (
        "Warning: “Warm-up” of “A small competition” stays on version 1 until its settings name the new one."
    )
    second = put.output
    assert "version 2." in second
    assert [line.split()[:2] for line in second.splitlines() if " images " in line] == [
        ["A", "45"],
        ["B", "60"],
    ]
    bad = tmp_path / "bad.anyshot-pack"
    bad.write_bytes(b"no pack")
    some = call("organize", "pool", "mine", "put", str(bad), str(write_pack(tmp_path, "C")))
    assert (
        some.exit_code == 1 and "Left out: bad.anyshot-pack: " in some.output and "version 3." in some.output
    )
    assert [line.split()[0] for line in some.output.splitlines() if " images " in line] == ["A", "B", "C"]
    none = call("organize", "pool", "mine", "put", str(bad))
    assert none.exit_code == 1 and "Left out: bad.anyshot-pack: " in none.output
    assert "version 3." in call("organize", "pool", "mine", "show").output
    call("organize", "pool", "mine", "remove", "C")
    third = call("organize", "pool", "mine", "remove", "B").output
    assert [line.split()[0] for line in third.splitlines() if " images " in line] == ["A"]
    assert f"hidden, of {SLUG}, version 5" in call("organize", "pool", "mine", "give", SLUG).output
    assert "There is no file" in call("organize", "pool", "mine", "put", str(tmp_path / "no")).output
    later = call("organize", "pool", "mine", "publish-when-over", "--yes", "mine")
    assert later.exit_code == 0 and site.owner().call("GET", "/api/v1/pools/mine").json()["publish_when_over"]
    assert call("organize", "pool", "mine", "publish", "--yes", "mine").stdout.startswith("mine is public")
    assert "Compared within" in call("organize", "pool", "mine", "compare").output
    assert site.owner().call("GET", "/api/v1/pools/mine").json()["published_at"]  # who compares hides nothing
    by_key = call("organize", "do", SLUG, "pool.unpublish", "mine")
    assert json.loads(by_key.stdout)["published_at"] is None, by_key.output
    assert not json.loads(by_key.stdout)["publish_when_over"]


def test_what_is_wrong_with_a_phase_or_a_bundle_is_listed_once_with_its_place(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    """The review: the API returned `problems`, and the command said only that something broke the rules."""
    assert call("login", "--server", address, "--token", site.owner().token).exit_code == 0
    settings = json.loads(call("organize", "settings", SLUG, "feedback").output)
    settings["quota"]["per_day"], settings["timezone"] = -3, "Mars/Olympus"
    path = tmp_path / "phase.json"
    path.write_text(json.dumps(settings))
    refused = call("organize", "settings", SLUG, "feedback", str(path))
    assert refused.exit_code == 1
    assert refused.output.count("quota.per_day: This must be at least 0, not “-3”.") == 1, refused.output
    settings["quota"]["per_day"], settings["tasks"]["meta_test"] = 3, "no-such-pool"
    path.write_text(json.dumps(settings))
    output = call("organize", "settings", SLUG, "feedback", str(path)).output
    for words in ("tasks.meta_test: There is no pool no-such-pool that you may use.", "timezone: "):
        assert output.count(words) == 1, output
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "competition.yaml").write_text(
        "anyshot: 1\nslug: mine\ntitle: Mine\nlogo: none.png\nphases: [{}]\n"
    )
    output = call("organize", "import", str(bundle)).output
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
    assert "{{ quota.per_day }}  3" in call("organize", "values", SLUG).output
    made = call("organize", "clone", SLUG, "next", "--title", "Next", "--start", "2030-05-01T00:00:00Z")
    assert made.exit_code == 0 and "next is a draft." in made.output
    assert "2030-05-01T00:00:00+00:00" in call("organize", "phases", "next").output


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
    about = json.loads(call("organize", "about", SLUG).output)
    (tmp_path / "about.json").write_text(json.dumps({**about, "title": "Another title"}))
    changed = call("organize", "about", SLUG, str(tmp_path / "about.json")).output
    assert json.loads(changed)["title"] == "Another title"
    (tmp_path / "rules.md").write_text("Be kind.\n")
    assert "rules is saved" in call("organize", "page", SLUG, "rules", str(tmp_path / "rules.md")).output
    assert "is saved" in call("organize", "page", SLUG, "rules", "--title", "The rules").output
    assert call("organize", "page", SLUG, "rules").output == "Be kind.\n\n"
    assert "The rules" in call("organize", "page", SLUG).output
    assert call("organize", "page", SLUG, "nothing").exit_code == 2
    assert f"{SLUG} is published." in call("organize", "state", SLUG).output
    assert f"{SLUG} is draft." in call("organize", "state", SLUG, "draft").output
    assert "publish the competition first" in call("organize", "announce", SLUG, "It begins").output
    assert f"{SLUG} is published." in call("organize", "state", SLUG, "published").output
    listed = call("organize", "announce", SLUG, "It begins").output
    assert "It begins" in listed
    edited = call("organize", "announce", SLUG, "It has begun", "--edit", listed.split()[0]).output
    assert "It has begun" in edited and "It begins" not in edited
    added = call(
        "organize", "webhooks", SLUG, "--add", "https://example.org/x", "--event", "submission.failed"
    )
    identity = added.output.split()[0]
    assert "nothing sent yet" in added.output
    assert identity not in call("organize", "webhooks", SLUG, "--remove", identity).output
    (tmp_path / "mine.zip").write_bytes(make_zip())
    listed = call(
        "organize", "baseline", SLUG, str(tmp_path / "mine.zip"), "--name", "Mine", "--league", "free"
    )
    assert "Mine" in listed.output and "free" in listed.output
    log = call("organize", "audit", SLUG, "--who", site.owner().username).output
    assert "webhook.remove" in log and "baseline.add" in log
    assert "1 entry, page 1 of 1." in call("organize", "audit", SLUG, "--action", "announcement.add").output


def test_one_person_is_told_or_two_people(capsys: pytest.CaptureFixture[str]) -> None:
    preview = {"title": "Admit", "does": [], "warnings": [], "undo": "Refuse it.", "blocked": []}
    for number in (0, 1, 2):
        show({**preview, "told": number})
    said = capsys.readouterr().err
    assert said.count("will get a message") == 2
    assert "  1 person will get a message about it.\n" in said and "  2 people will get a message" in said
