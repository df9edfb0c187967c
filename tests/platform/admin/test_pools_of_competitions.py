"""Pools belong to competitions: all their organizers repair them, nobody else looks in; uploads go on after a break."""

import hashlib
from pathlib import Path

from anyshot_core.data.pack import pack_dataset
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import add_member
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.actions.organizing import list_versions
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import User
from tests.core.tinydata import with_meta, write_dataset, write_pack
from tests.platform.admin.test_manage import flash, post
from tests.platform.site import SLUG, Person, Site

POOLS = "/api/v1/pools"


def pack_of(folder: Path, name: str, **more: int) -> bytes:
    return pack_dataset(
        write_dataset(folder / name, **more), folder / f"{name}.anyshot-pack"
    ).path.read_bytes()


def second(site: Site, name: str = "dana", role: Role = Role.ORGANIZER) -> Person:
    """Another member of the competition."""
    person = site.person(name)
    with site.services.database.writing() as session:
        competition = session.query(Competition).filter(Competition.slug == SLUG).one()
        add_member(session, competition, session.get_one(User, person.id), role)
    return person


def make(person: Person, slug: str, *packs: bytes, competition: str | None = None) -> None:
    made = person.call("POST", POOLS, json={"slug": slug, "competition": competition})
    assert made.status_code == 201, made.text
    digests = [person.call("PUT", f"{POOLS}/{slug}/packs", content=pack).json()["digest"] for pack in packs]
    if digests:
        put = person.call("POST", f"{POOLS}/{slug}/acts/version", json={"packs": digests})
        assert put.status_code == 200, put.text


def names(person: Person, slug: str) -> list[str]:
    found = person.call("GET", f"{POOLS}/{slug}").json()["versions"]
    return [pack["name"] for pack in found[0]["packs"]] if found else []


def test_every_organizer_repairs_a_pool_of_the_competition(site: Site, tmp_path: Path) -> None:
    """The review's S4: a co-organizer got 404 for the hidden pool, and one bad dataset meant all nine others again."""
    owner, dana, stranger = site.owner(), second(site), site.person("sam")
    make(owner, "hidden", pack_of(tmp_path, "A"), pack_of(tmp_path, "B"), competition=SLUG)
    assert names(dana, "hidden") == ["A", "B"]
    mended = pack_of(tmp_path / "new", "A", images=9)
    digest = dana.call("PUT", f"{POOLS}/hidden/packs", content=mended).json()["digest"]
    put = dana.call("POST", f"{POOLS}/hidden/acts/version", json={"packs": [digest], "keep": True})
    assert put.status_code == 200, put.text
    versions = put.json()["versions"]
    assert [pack["name"] for pack in versions[0]["packs"]] == ["A", "B"]  # in its place
    assert versions[0]["packs"][0]["digest"] == digest
    assert versions[0]["note"] == "A replaced"
    assert versions[1]["packs"][0]["digest"] != digest  # the version before is what it was
    assert stranger.call("GET", f"{POOLS}/hidden").status_code == 404
    assert second(site, "rita", Role.REVIEWER).call("GET", f"{POOLS}/hidden").status_code == 404
    assert second(site, "petra", Role.PARTICIPANT).call("GET", f"{POOLS}/hidden").status_code == 404


def test_a_bad_pack_of_a_batch_is_named_and_the_good_ones_stay(site: Site, tmp_path: Path) -> None:
    """The review: one bad pack refused the whole batch. By the form without scripts, and over JSON."""
    owner = site.owner()
    make(owner, "mine", pack_of(tmp_path, "A"))
    good = ("b.anyshot-pack", pack_of(tmp_path, "B"))
    sent = [("packs", good), ("packs", ("bad.anyshot-pack", b"no pack"))]
    answer = owner.call(
        "POST",
        "/organize/pools/mine/packs",
        files=sent,
        data={"keep": "1"},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert "Left out: bad.anyshot-pack: " in flash(answer) and "b.anyshot-pack" not in flash(answer)
    assert names(owner, "mine") == ["A", "B"]
    by_script = {
        "pack_digest": owner.call("GET", f"{POOLS}/mine").json()["versions"][0]["packs"][1]["digest"]
    }
    left = {"left_out": ["x.anyshot-pack: <b>"] * 9}
    shown = post(owner, "/organize/pools/mine/packs", **by_script, **left)
    assert flash(shown).endswith("4 more") and names(owner, "mine") == ["B"]
    nothing = owner.call(
        "POST",
        "/organize/pools/mine/packs",
        files=sent[1:],
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert flash(nothing).startswith("bad.anyshot-pack: ") and names(owner, "mine") == ["B"]
    refused = owner.call("PUT", f"{POOLS}/mine/packs", content=b"no pack")
    assert (refused.status_code, refused.json()["error"]) == (422, "bad_pack")
    assert names(owner, "mine") == ["B"]


def test_a_pack_of_a_dataset_without_a_plain_name_is_refused(site: Site, tmp_path: Path) -> None:
    """The command of participants writes a file of this name."""
    owner = site.owner()
    make(owner, "mine")
    pack = write_pack(tmp_path, "A", images=1)
    for name in ("", "../../etc/passwd", "/tmp/x", "<b>BIRDS</b>", "\x1b[31mBIRDS", "A" * 101):
        refused = owner.call("PUT", f"{POOLS}/mine/packs", content=with_meta(pack, name=name))
        assert (refused.status_code, refused.json()["error"]) == (422, "bad_pack"), refused.text
        assert refused.json()["message"].startswith(
            "This file: the name of the pack's dataset is not 1 to 100 letters"
        )


def test_who_leaves_the_organizers_loses_the_pool_also_its_maker(site: Site, tmp_path: Path) -> None:
    dana = second(site)
    make(dana, "hidden", pack_of(tmp_path, "A"), competition=SLUG)
    with site.services.database.writing() as session:
        session.query(Membership).filter_by(user_id=dana.id).one().status = MemberStatus.WITHDRAWN
    assert dana.call("GET", f"{POOLS}/hidden").status_code == 404
    assert names(site.owner(), "hidden") == ["A"]


def test_a_pool_that_a_phase_uses_is_seen_by_all_organizers_and_changed_by_its_own(
    site: Site, tmp_path: Path
) -> None:
    dana, bob = second(site), site.person("bob")
    make(bob, "bobs", pack_of(tmp_path, "A"))
    assert dana.call("GET", f"{POOLS}/bobs").status_code == 404
    with site.services.database.writing() as session:
        pool = session.query(Pool).filter(Pool.slug == "bobs").one()
        phase = session.query(Phase).filter(Phase.slug == "feedback").one()
        phase.smoke_pool_version_id = list_versions(session, pool)[0].id
    assert names(dana, "bobs") == ["A"]
    assert dana.call("POST", f"{POOLS}/bobs/acts/delete").status_code == 404
    assert dana.call("GET", "/organize/pools/bobs").status_code == 200
    assert "Upload packs" not in dana.call("GET", "/organize/pools/bobs").text


def test_giving_a_pool_away_is_final_for_its_maker_and_is_logged(site: Site, tmp_path: Path) -> None:
    owner, bob = site.owner(), second(site, "bob")
    make(bob, "bobs", pack_of(tmp_path, "A"))
    given = bob.call("POST", f"{POOLS}/bobs/acts/give", json={"competition": SLUG})
    assert (given.status_code, given.json()["competition"]) == (200, SLUG)
    assert names(owner, "bobs") == ["A"]
    again = bob.call("POST", f"{POOLS}/bobs/acts/give", json={"competition": SLUG})
    assert again.status_code == 200
    with site.services.database.reading() as session:
        assert session.query(AuditEntry).filter(AuditEntry.action == "pool.give").count() == 1
    stranger = site.person("sam")
    make(stranger, "sams")
    refused = stranger.call("POST", f"{POOLS}/sams/acts/give", json={"competition": SLUG})
    assert refused.status_code in (403, 404)


def test_pools_of_an_import_belong_to_the_new_competition(site: Site) -> None:
    owner = site.owner()
    began = owner.call(
        "POST", "/organize/import", data={"ready": "cross-domain-metadl-2022"}, follow_redirects=False
    )
    assert began.status_code in (200, 303), began.text[:300]
    pools = {pool["slug"]: pool["competition"] for pool in owner.call("GET", POOLS).json()}
    assert pools["metadl-set-1"] == "cross-domain-metadl-2022"


def test_removing_a_dataset_leaves_the_others_and_the_last_one_stays(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    make(owner, "p", pack_of(tmp_path, "A"), pack_of(tmp_path, "B"))
    for dataset, status in (("A", 200), ("A", 200), ("B", 409)):
        said = owner.call("POST", f"{POOLS}/p/acts/remove-dataset", json={"dataset": dataset})
        assert said.status_code == status
        assert names(owner, "p") == ["B"]
    assert len(owner.call("GET", f"{POOLS}/p").json()["versions"]) == 2


def test_an_upload_that_breaks_off_goes_on_where_it_stopped(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    make(owner, "p")
    content = pack_of(tmp_path, "A")
    begun = {
        "filename": "A.anyshot-pack",
        "size": len(content),
        "digest": hashlib.sha256(content).hexdigest(),
    }
    first = owner.call("POST", f"{POOLS}/p/uploads", json=begun).json()
    parts = f"/api/v1/uploads/{first['id']}"
    assert owner.call("PUT", parts, params={"offset": 0}, content=content[:1000]).json()["received"] == 1000
    finish = f"{POOLS}/p/uploads/{first['id']}/pack"
    assert owner.call("POST", finish).status_code == 409  # not whole
    later = owner.call("POST", f"{POOLS}/p/uploads", json=begun).json()  # the command is given again
    assert (later["id"], later["received"]) == (first["id"], 1000)
    owner.call("PUT", parts, params={"offset": 1000}, content=content[1000:])
    kept = owner.call("POST", finish)
    assert kept.status_code == 201, kept.text
    assert (kept.json()["name"], kept.json()["digest"]) == ("A", begun["digest"])
    assert owner.call("POST", finish).status_code == 404  # used up


def test_packs_have_a_limit_of_their_own_and_no_upload_serves_for_another_end(
    site: Site, tmp_path: Path
) -> None:
    owner = site.owner()
    make(owner, "p")
    most = site.services.settings.pack_max_bytes
    too_large = owner.call("POST", f"{POOLS}/p/uploads", json={"filename": "x", "size": most + 1})
    assert (too_large.status_code, too_large.json()["error"]) == (413, "too_large")
    stranger = site.person("sam")
    begun = stranger.call("POST", f"{POOLS}/p/uploads", json={"filename": "x", "size": 10})
    assert begun.status_code == 404
    content = pack_of(tmp_path, "A")
    zipped = owner.upload(content, "A.anyshot-pack")  # as a submission
    assert owner.call("POST", f"{POOLS}/p/uploads/{zipped}/pack").status_code == 404
    pack = owner.call("POST", f"{POOLS}/p/uploads", json={"filename": "x", "size": len(content)}).json()["id"]
    owner.call("PUT", f"/api/v1/uploads/{pack}", params={"offset": 0}, content=content)
    path = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"
    assert owner.call("POST", path, json={"upload_id": pack}).status_code == 404
