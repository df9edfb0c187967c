"""What organizers do over JSON: the same acts, the same rules and the same records as on their pages."""

import secrets
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.protocols.keys import PhaseSecrets, Seed
from anyshot_platform.contest.bundles.reading import read_bundle
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.runs.secrets import secrets_of
from tests.platform.admin.test_bundle_reading import FILES, GOOD
from tests.platform.admin.test_manage import acts, finish, post
from tests.platform.admin.zips import zipped
from tests.platform.site import SLUG, Person, Site, make_zip
from tests.services.material import TRAIN
from tests.services.processes import free_port
from tests.services.sites import served

MANAGE = f"/api/v1/competitions/{SLUG}/manage"


def ask(person: Person, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
    """A request under the organizers' addresses that is answered as expected."""
    path = path if path.startswith("/api") else MANAGE + path
    answer = person.call(method, path, json=body) if body is not None else person.call(method, path)
    assert answer.status_code == status, (path, answer.status_code, answer.text)
    return answer.json()


def test_phases_are_made_edited_and_steered(site: Site) -> None:
    owner = site.owner()
    (phase,) = ask(owner, "GET", "/phases")
    assert (phase["status"], phase["settings"]["tasks"]["test_seeds"]) == ("open", [])
    settings = phase["settings"]
    assert ask(owner, "PUT", "/phases/feedback", settings)["settings"] == settings
    for act_name, status in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("open", "open")):
        assert (
            ask(owner, "POST", f"/phases/feedback/acts/{act_name}", {"reason": "a test"})["status"] == status
        )
    assert ask(owner, "POST", "/phases/feedback/acts/freeze")["frozen"]
    assert not ask(owner, "POST", "/phases/feedback/acts/unfreeze")["frozen"]
    moved = ask(owner, "POST", "/phases/feedback/acts/extend", {"end": "2090-01-01T00:00:00+02:00"})
    assert moved["settings"]["end"] == "2089-12-31T22:00:00+00:00"
    ask(owner, "POST", "/phases/feedback/acts/extend", {"end": "2090-01-01T00:00:00"}, status=422)
    new = {
        **settings,
        "key": "second",
        "title": "Second",
        "start": "2030-01-01T00:00:00",
        "end": None,
        "timezone": "Asia/Tokyo",
    }
    made = ask(owner, "POST", "/phases", new, status=201)
    assert (made["key"], made["settings"]["start"]) == ("second", "2029-12-31T15:00:00+00:00")
    assert ask(owner, "POST", "/phases", new, status=422)["field"] == "key"
    ask(owner, "POST", "/phases/second/acts/delete")
    assert [row["key"] for row in ask(owner, "GET", "/phases")] == ["feedback"]
    assert [row["key"] for row in ask(owner, "GET", "/phases?deleted=true")] == ["second"]
    assert ask(owner, "POST", "/phases/second/acts/restore")["deleted_at"] is None
    assert acts(site)[-3:] == ["phase.add", "phase.delete", "phase.restore"]


def test_the_split_of_classes_is_drawn_kept_and_never_told(site: Site) -> None:
    owner = site.owner()
    settings = ask(owner, "GET", "/phases/feedback")["settings"]
    settings["tasks"]["protocol"] = {"name": "within_domain", "ways": 2, "shots": 1}

    def split_key() -> Seed:
        with site.services.database.reading() as session:
            return secrets_of(session.get_one(Phase, site.phase_id).versions[0]).class_split()

    told = ask(owner, "PUT", "/phases/feedback", settings)["settings"]
    assert "split_seed" not in told["tasks"]["protocol"]
    drawn = split_key()
    assert isinstance(drawn, bytes)
    assert ask(owner, "PUT", "/phases/feedback", {**told, "title": "Another title"})["settings"] != told
    assert split_key() == drawn
    for path in ("phases/feedback", "phases/feedback/versions/1", "audit"):
        shown = owner.call("GET", f"/competitions/{SLUG}/manage/{path}", headers={"accept": "text/html"})
        assert shown.status_code == 200
        assert drawn.hex() not in shown.text
    bundle = owner.call("GET", f"/competitions/{SLUG}/manage/bundle.zip").content
    assert read_bundle(bundle).spec.phases[0].tasks.key is None
    whole = post(owner, f"/competitions/{SLUG}/manage/bundle-with-seeds", confirm=SLUG).content
    key = bytes.fromhex(read_bundle(whole).spec.phases[0].tasks.key or "")
    assert PhaseSecrets(key).class_split() == drawn


WITHOUT_SENSE: list[tuple[dict[str, Any], str]] = [
    ({"key": "other"}, "keeps its short name"),
    ({"timezone": "Mars/Olympus"}, "no time zone"),
    ({"quota": {"per_day": "many"}}, "This must be a whole number, not “many”."),
    ({"quota": {"per_day": -1}}, "This must be at least 0, not “-1”."),
    ({"tasks": {"counts": 3}}, "There is no such field."),
    ({"timezone": "Europe/Paris", "start": "2026-03-29T02:30:00"}, "Clocks in Europe/Paris skip 02:30"),
    ({"end": "2001-01-01T00:00:00Z"}, "ends before it starts"),
    ({"start": "0001-01-01T00:00:00+14:00"}, "between 1971 and 8999"),
    ({"scoring": {"ranking": "by_beauty"}}, "There is no rule by_beauty"),
    ({"scoring": {"runs": 3}, "tasks": {"test_seeds": [1]}}, "1 seed for 3 runs of an entry"),
    ({"tasks": {"protocol": {"name": "dice"}}}, "Not a task protocol"),
    ({"tasks": {"protocol": {"name": "gaussians"}}}, "makes numbers and draws no images"),
    ({"tasks": {"meta_test": "somebody-elses"}}, "no pool somebody-elses that you may use"),
]


def test_a_phase_that_makes_no_sense_is_refused(site: Site) -> None:
    owner = site.owner()
    known = ask(owner, "GET", "/phases/feedback")["settings"]
    for change, words in WITHOUT_SENSE:
        settings = dict(known)
        for key, value in change.items():
            settings[key] = {**known[key], **value} if isinstance(value, dict) else value
        refused = ask(owner, "PUT", "/phases/feedback", settings, status=422)
        assert any(words in problem["problem"] for problem in refused["problems"]), (change, refused)


def test_submissions_are_listed_and_acted_on_in_bulk(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    ids = [site.member(name).submit().json()["id"] for name in ("pia", "quin", "rob")]
    finish(worker, 0.1, 0.2, 0.3)
    found = ask(owner, "GET", "/submissions?sort=-score&status=finished")
    assert [(row["team"], row["score"]) for row in found["items"]] == [
        ("rob", 0.3),
        ("quin", 0.2),
        ("pia", 0.1),
    ]
    assert ask(owner, "GET", "/submissions?page=9&phase=feedback")["page"] == 1
    ask(owner, "GET", "/submissions?order=score", status=422)
    wish = {"act": "disqualify", "ids": [*ids[:2], "nothing"]}
    assert ask(owner, "POST", "/submissions/acts", wish, status=422)["field"] == "reason"
    done = ask(owner, "POST", "/submissions/acts", {**wish, "reason": "copied"})
    assert sorted(done["done"]) == sorted(ids[:2])
    assert (done["skipped"], done["undo"]) == ({"nothing": "It is not here."}, "qualify")
    assert len(site.board("free")["rows"]) == 1
    everything = {"act": "qualify", "filter": {"shown": "disqualified"}}
    assert len(ask(owner, "POST", "/submissions/acts", everything)["done"]) == 2
    assert len(site.board("free")["rows"]) == 3
    for act, undo in (("delete", "restore"), ("refund", "charge"), ("rerun", "cancel")):
        for act_name in (act, undo):
            assert (
                ask(owner, "POST", "/submissions/acts", {"act": act_name, "ids": ids[:1]})["done"] == ids[:1]
            )
    ask(owner, "POST", "/submissions/acts", {"act": "rerun"}, status=422)


def test_many_people_are_acted_on_at_once(site: Site) -> None:
    owner = site.owner()
    for name in ("pia", "quin", "rob"):
        ask(owner, "POST", f"/people/{site.member(name).username}/acts/reject")
    some = ask(owner, "POST", "/people/acts", {"act": "approve", "ids": ["pia", "nobody"]})
    assert (len(some["done"]), some["undo"]) == (1, "reject")
    assert some["skipped"] == {"nobody": "There is no such member."}
    rest = ask(owner, "POST", "/people/acts", {"act": "approve", "filter": {"status": "rejected"}})
    assert len(rest["done"]) == 2 and rest["skipped"] == {}
    assert acts(site)[-3:] == ["member.approve"] * 3
    assert ask(owner, "POST", "/people/acts", {"act": "approve"}, status=422)["field"] == "ids"


def test_people_get_roles_quota_and_bans(site: Site) -> None:
    owner = site.owner()
    pia, oscar = site.member("pia"), site.member("oscar", Role.ORGANIZER)
    site.person("vera")
    listed = ask(owner, "GET", "/people?q=pia")
    (member,) = listed["items"]
    path = f"/people/{member['id']}"
    assert ask(owner, "POST", f"{path}/acts/ban", {"reason": "two accounts"})["status"] == "banned"
    assert pia.submit().status_code == 403
    assert ask(owner, "POST", f"{path}/acts/approve")["status"] == "approved"
    team = ask(owner, "PUT", f"{path}/quota", {"day": 5, "reason": "asked"})["team"]
    assert (team["extra_quota_day"], team["out_of_ranking"]) == (5, False)
    assert ask(owner, "PUT", f"{path}/notes", {"notes": "met"})["notes"] == "met"
    ask(owner, "POST", f"{path}/acts/role", {"role": "reviewer"}, status=409)
    assert (
        ask(owner, "POST", f"{path}/acts/role", {"role": "reviewer", "confirm": "pia"})["role"] == "reviewer"
    )
    ask(oscar, "POST", f"{path}/acts/role", {"role": "owner"}, status=403)
    assert (
        ask(
            owner, "POST", "/people", {"username": "vera", "role": "organizer", "confirm": "vera"}, status=201
        )["role"]
        == "organizer"
    )
    ask(owner, "POST", "/people", {"username": "nobody", "role": "organizer"}, status=422)
    (last,) = ask(owner, "GET", "/people?role=owner")["items"]
    ask(owner, "POST", f"/people/{last['id']}/acts/role", {"role": "participant"}, status=409)
    ask(owner, "POST", f"/people/{last['id']}/acts/ban", {}, status=409)


def test_leagues_decisions_and_gates(site: Site) -> None:
    owner = site.owner()
    spec = {
        "key": "invited",
        "title": "Invited",
        "admission": "approval",
        "columns": [{"metric": "macro_f1"}],
    }
    made = ask(owner, "POST", "/leagues", spec, status=201)
    assert made["settings"]["columns"] == [{"metric": "macro_f1", "title": "", "decimals": 3}]
    ask(owner, "PUT", "/leagues/invited", {**spec, "key": "else"}, status=422)
    assert (
        ask(owner, "PUT", "/leagues/invited", {**spec, "title": "By invitation"})["settings"]["title"][:2]
        == "By"
    )
    assert ask(owner, "POST", "/leagues/invited/acts/delete")["deleted"]
    assert not ask(owner, "POST", "/leagues/invited/acts/restore")["deleted"]
    submission = site.member("pia").submit(leagues=["free", "invited"]).json()["id"]
    finish(site.worker(), 0.6)
    (waiting,) = ask(owner, "GET", "/leagues/entries?status=declared")
    assert (waiting["submission"], waiting["league"]) == (submission, "invited")
    decision = {"entries": [{"submission": submission, "league": "invited"}], "admit": True}
    assert ask(owner, "POST", "/leagues/entries/decide", decision)["changed"] == 1
    assert [row["team"] for row in site.board("invited")["rows"]] == ["pia"]
    settings = ask(owner, "GET", "/phases/feedback")["settings"]
    final = {**settings, "key": "final", "title": "Final", "kind": "final", "entries": {"phase": "feedback"}}
    ask(owner, "POST", "/phases", final, status=201)
    gate = ask(owner, "PUT", "/gates/final/free", {"score": 0.5, "note": "by hand"})
    assert (gate["league"], gate["score"], len(ask(owner, "GET", "/gates"))) == ("free", 0.5, 1)
    assert ask(owner, "PUT", "/gates/final/free", {"score": None}) is None


def test_pools_are_filled_versioned_and_published(site: Site, demo_packs: dict[str, Path]) -> None:
    owner, stranger = site.owner(), site.person("sam")
    content = demo_packs[TRAIN[0]].read_bytes()
    ask(owner, "POST", "/api/v1/pools", {"slug": "mine", "name": "Mine"}, status=201)
    ask(owner, "POST", "/api/v1/pools", {"slug": "mine"}, status=409)
    sent = owner.call("PUT", "/api/v1/pools/mine/packs", content=content)
    assert sent.status_code == 201, sent.text
    assert owner.call("PUT", "/api/v1/pools/mine/packs", content=b"no pack").status_code == 422
    assert stranger.call("PUT", "/api/v1/pools/mine/packs", content=content).status_code == 404
    made = ask(owner, "POST", "/api/v1/pools/mine/acts/version", {"packs": [sent.json()["digest"]]})
    assert [pack["name"] for pack in made["versions"][0]["packs"]] == [sent.json()["name"]]
    ask(owner, "POST", "/api/v1/pools/mine/acts/version", {"packs": ["0" * 64]}, status=422)
    ask(stranger, "GET", "/api/v1/pools/mine", status=404)
    ask(owner, "POST", "/api/v1/pools/mine/acts/publish", {"confirm": "mine"})
    assert ask(stranger, "GET", "/api/v1/pools/mine")["published_at"]
    ask(stranger, "POST", "/api/v1/pools/mine/acts/unpublish", status=404)
    ask(owner, "POST", "/api/v1/pools/small-pool/acts/delete", status=409)
    assert ask(owner, "POST", "/api/v1/pools/mine/acts/delete")["deleted"]
    assert not ask(owner, "POST", "/api/v1/pools/mine/acts/restore")["deleted"]
    assert "pool.publish" in acts(site)


def test_settings_texts_and_state(site: Site) -> None:
    owner = site.owner()
    settings = ask(owner, "GET", "/settings")
    question = {"key": "method", "label": "What is it?", "required": True}
    wanted = {**settings, "terms": "Be kind.", "team_size": 3, "fact_sheet": [question]}
    assert ask(owner, "PUT", "/settings", wanted) == wanted
    assert ask(owner, "GET", "/settings") == wanted
    ask(owner, "PUT", "/settings", {**settings, "team_size": 0}, status=422)
    one = ask(owner, "POST", "/pages", {"title": "Rules", "body": "No."}, status=201)
    two = ask(owner, "POST", "/pages", {"title": "Data", "body": "Yes."}, status=201)
    assert ask(owner, "PUT", f"/pages/{one['id']}", {"title": "All rules", "body": "No!"})["key"] == "rules"
    moved = ask(owner, "POST", f"/pages/{two['id']}/acts/move", {"place": 0})["items"]
    assert [page["title"] for page in moved] == ["Data", "All rules"]
    assert ask(owner, "GET", "/pages") == moved
    left = owner.call("POST", f"{MANAGE}/pages/{two['id']}/acts/delete", json={"confirm": "Data"}).json()[
        "items"
    ]
    assert [page["title"] for page in left] == ["All rules"]
    assert ask(owner, "POST", f"/pages/{two['id']}/acts/delete", status=404)
    assert ask(owner, "GET", "/state") == {
        "slug": SLUG,
        "state": "published",
        "deleted": False,
        "missing": [],
        "odd": [
            "Feedback: No worker has the hardware class cpu (workers: none is connected); runs would wait."
        ],
    }
    assert ask(owner, "POST", "/acts/draft")["state"] == "draft"
    ask(owner, "POST", "/acts/delete", {"confirm": "another"}, status=409)
    assert ask(owner, "POST", "/acts/delete", {"confirm": SLUG})["deleted"]
    assert not ask(owner, "POST", "/acts/restore")["deleted"]
    assert acts(site)[-2:] == ["competition.delete", "competition.restore"]


def test_a_logo_and_a_baseline_are_uploaded(site: Site) -> None:
    owner = site.owner()
    upload = owner.upload(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "logo.svg")
    assert owner.call("PUT", f"{MANAGE}/logo", json={"upload_id": upload}).status_code == 204
    assert owner.call("PUT", f"{MANAGE}/logo", json={"upload_id": upload}).status_code == 404  # used up
    archive = owner.upload(make_zip())
    body = {"name": "Mine", "upload_id": archive, "leagues": ["free"]}
    made = ask(owner, "POST", "/baselines", body, status=201)
    assert (made["key"], made["leagues"]) == ("mine", ["free"])
    bad = owner.upload(b"no zip")
    ask(owner, "POST", "/baselines", {"name": "Bad", "upload_id": bad}, status=422)
    others = site.member("oda", Role.ORGANIZER).upload(make_zip())
    ask(owner, "POST", "/baselines", {"name": "Theirs", "upload_id": others}, status=404)
    assert ask(owner, "POST", "/baselines/mine/acts/run", {"phase": "feedback"}, status=202)["runs"] == 1


def test_announcements_webhooks_and_the_log(site: Site) -> None:
    owner = site.owner()
    made = ask(owner, "POST", "/announcements/acts/add", {"title": "It begins", "body": "Now."})
    assert ask(owner, "POST", f"/announcements/{made['id']}/acts/delete")["deleted_at"]
    assert ask(owner, "GET", "/announcements") == []
    assert ask(owner, "GET", "/announcements?deleted=true")[0]["title"] == "It begins"
    assert ask(owner, "POST", f"/announcements/{made['id']}/acts/restore")["deleted_at"] is None
    hook = {"url": "https://example.org/hook", "events": ["submission.finished"]}
    added = ask(owner, "POST", "/webhooks", hook, status=201)
    ask(owner, "POST", "/webhooks", {"url": "ftp://example.org"}, status=422)
    ask(owner, "POST", "/webhooks", {**hook, "events": ["nothing"]}, status=422)
    tested = ask(owner, "POST", f"/webhooks/{added['id']}/acts/test")
    assert [row["event"] for row in tested["deliveries"]] == ["test"]
    assert not ask(owner, "POST", f"/webhooks/{added['id']}/acts/off")["active"]
    assert ask(owner, "POST", f"/webhooks/{added['id']}/acts/renew")["secret"] != added["secret"]
    ask(owner, "POST", f"/webhooks/{added['id']}/acts/remove")
    assert ask(owner, "GET", "/webhooks") == []
    log = ask(owner, "GET", "/audit")
    assert (log["total"], log["items"][0]["action"], log["items"][0]["who"]) == (
        len(log["items"]),
        "webhook.remove",
        owner.username,
    )
    assert ask(owner, "GET", "/audit?action=webhook.off")["total"] == 1
    assert ask(owner, "GET", "/audit?who=nobody")["total"] == 0
    admin = site.person("admiral", is_site_admin=True)
    sites = "/api/v1/admin/webhooks"
    made = ask(admin, "POST", sites, hook, status=201)
    assert [row["id"] for row in ask(admin, "GET", sites)] == [made["id"]]
    ask(admin, "POST", f"{sites}/{added['id']}/acts/on", status=404)  # a competition's
    assert ask(admin, "GET", "/api/v1/admin/audit")["items"][0]["action"] == "webhook.add"
    ask(owner, "GET", "/api/v1/admin/audit", status=403)


BUNDLE = {
    "competition.yaml": GOOD.replace("slug: demo", "slug: from-a-file").replace("Demo", "From a file"),
    **FILES,
}


def test_a_competition_is_begun_imported_and_taken_as_a_bundle(site: Site) -> None:
    """The guide says that every act is in the JSON API: these were on pages alone."""
    owner = site.owner()
    begun = [
        call(owner, "POST", "/competitions", 201, json={"title": "Été", "slug": s}) for s in ("", "", "mine")
    ]
    assert [one["slug"] for one in begun] == ["ete", "ete-2", "mine"]
    names = [one["name"] for one in call(owner, "GET", "/ready-made", 200)]
    assert "cross-domain-metadl-2022" in names
    ready = {"slug": "next-year", "start": "2030-01-01"}
    assert call(owner, "POST", f"/ready-made/{names[0]}", 201, json=ready) == {"slug": "next-year"}
    first = call(owner, "GET", "/competitions/next-year/manage/phases", 200)[0]
    assert first["settings"]["start"].startswith("2030-01-01T00:00")
    call(owner, "POST", "/ready-made/none", 404, json={})
    pictures = {"files/plot.bin": secrets.token_bytes(300_000)}  # more than a call without a file may have
    made = call(owner, "PUT", "/bundles?slug=other", 201, content=zipped({**BUNDLE, **pictures}))
    assert made == {"slug": "other"}
    assert call(owner, "GET", "/competitions/other/manage/import", 200)["taken"][-1] == "1 pool"
    again = call(owner, "PUT", "/bundles?slug=other", 409, content=zipped(BUNDLE))
    assert "There is a competition “other” already" in again["message"]
    wrong = {**BUNDLE, "competition.yaml": GOOD.replace("title: Demo", "titel: Demo")}
    refused = call(owner, "PUT", "/bundles", 422, content=zipped(wrong))
    assert {one["where"] for one in refused["problems"]} >= {"competition.yaml, line 3: titel"}
    assert "did you mean `title`?" in str(refused["problems"])
    assert call(owner, "PUT", "/bundles", 422, content=b"no zip")["error"] == "invalid"
    out = owner.call("GET", "/api/v1/competitions/other/manage/bundle")
    assert read_bundle(out.content).spec.title == "From a file"
    asked = call(owner, "POST", "/competitions/other/manage/bundle-with-seeds", 409, json={})
    assert asked["error"] == "confirm" and asked["preview"]["name"] == "other"
    said = {"confirm": "other", "reason": "kept in the safe"}
    whole = owner.call("POST", "/api/v1/competitions/other/manage/bundle-with-seeds", json=said)
    assert whole.status_code == 200 and read_bundle(whole.content).spec.slug == "other"
    log = call(owner, "GET", "/competitions/other/manage/audit", 200)["items"]
    assert [one["reason"] for one in log if one["action"] == "competition.take_secrets"] == [
        "kept in the safe"
    ]
    reviewer = site.member("rita", Role.REVIEWER)
    for path in ("bundle", "bundle-with-seeds"):
        method = "GET" if path == "bundle" else "POST"
        options = {} if path == "bundle" else {"json": {"confirm": SLUG}}
        assert (
            reviewer.call(method, f"/api/v1/competitions/{SLUG}/manage/{path}", **options).status_code == 403
        )


def call(person: Person, method: str, path: str, status: int, **sent: Any) -> Any:
    """The answer to a call below `/api/v1`."""
    answer = person.call(method, f"/api/v1{path}", **sent)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_a_competition_lives_in_a_folder_by_command_line(site: Site, tmp_path: Path) -> None:
    folder, file, whole = tmp_path / "mine", tmp_path / "out.zip", tmp_path / "whole.zip"
    folder.mkdir()
    for name, text in BUNDLE.items():
        (folder / name).write_text(text)
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "competition.yaml").write_text(GOOD.replace("title: Demo", "titel: Demo"))
    with served(site.app, free_port()) as address:

        def run(*words: str, code: int = 0) -> str:
            environment = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": site.owner().token}
            done = CliRunner().invoke(main, ["organize", *words], env=environment)
            assert done.exit_code == code, done.output
            return done.output

        created = run("do", "birds", "competition.create", "--set", "title=Few-shot birds")
        assert '"slug": "birds"' in created
        assert "Imported as from-a-file, a draft." in run("file", "import", str(folder))
        ready = run("file", "import", "cross-domain-metadl-2022", "--slug", "next", "--start", "2030-01-01")
        assert "to do: " in ready and "Imported as next, a draft." in ready
        assert "line 3: titel: unknown key; did you mean" in run(
            "file", "import", str(tmp_path / "wrong"), code=1
        )
        assert f"Wrote {file}" in run("file", "export", "from-a-file", str(file))
        run("file", "export", "next", str(tmp_path / "plain.zip"))
        assert "nothing is overwritten" in run("file", "export", "from-a-file", str(file), code=1)
        assert "Imported as again" in run("file", "import", str(file), "--slug", "again")
        asked = ("--with-seeds", "--yes", "next", "--reason", "why")
        assert "keep it secret" in run("file", "export", "next", str(whole), *asked)
    assert read_bundle(file.read_bytes()).spec.title == "From a file"
    assert read_bundle(whole.read_bytes()).spec.phases[0].tasks.key
    plain = read_bundle((tmp_path / "plain.zip").read_bytes()).spec.phases
    assert {(phase.tasks.key, *phase.tasks.test_seeds) for phase in plain} == {(None,)}, (
        "no secret without asking"
    )
