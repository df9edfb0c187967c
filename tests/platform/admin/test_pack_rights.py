"""A digest is a name, not a right: nobody reads a dataset by putting its digest into a pool of their own."""

from pathlib import Path

from anyshot_core.data.pack import pack_dataset
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.foundation.database import now
from tests.core.tinydata import write_dataset
from tests.platform.site import Person, Site


def make_pool(person: Person, slug: str) -> None:
    assert person.call("POST", "/api/v1/pools", json={"slug": slug}).status_code == 201


def put(person: Person, slug: str, *digests: str):
    return person.call("POST", f"/api/v1/pools/{slug}/acts/version", json={"packs": list(digests)})


def hidden_pack(folder: Path) -> bytes:
    return pack_dataset(write_dataset(folder / "hidden"), folder / "hidden.anyshot-pack").path.read_bytes()


def hide(owner: Person, content: bytes) -> str:
    """Put a pack into the owner's unpublished pool; its digest."""
    make_pool(owner, "hidden")
    digest = owner.call("PUT", "/api/v1/pools/hidden/packs", content=content).json()["digest"]
    assert put(owner, "hidden", digest).status_code == 200
    return digest


def test_a_stranger_who_knows_the_digest_of_a_hidden_dataset_gets_nothing(site: Site, tmp_path: Path) -> None:
    digest = hide(site.owner(), hidden_pack(tmp_path))
    stranger = site.person("sam")
    make_pool(stranger, "mine")
    refused = put(stranger, "mine", digest)
    assert (refused.status_code, refused.json()["error"]) == (422, "unknown_packs")
    assert stranger.call("GET", "/api/v1/pools/mine").json()["versions"] == []
    with site.services.database.reading() as session:
        (pack,) = session.query(Pack).filter(Pack.digest == digest)
    page = stranger.call("GET", f"/organize/pools/mine/packs/{pack.id}/download")
    assert page.status_code == 404


def test_the_answer_does_not_tell_which_digests_are_on_the_site(site: Site, tmp_path: Path) -> None:
    digest = hide(site.owner(), hidden_pack(tmp_path))
    stranger = site.person("sam")
    make_pool(stranger, "mine")
    there, absent = put(stranger, "mine", digest).json(), put(stranger, "mine", "0" * 64).json()
    assert there | {"missing": []} == absent | {"missing": []}
    assert (there["missing"], absent["missing"]) == ([digest], ["0" * 64])


def test_the_bytes_are_a_right(site: Site, tmp_path: Path) -> None:
    content = hidden_pack(tmp_path)
    digest = hide(site.owner(), content)
    stranger = site.person("sam")
    make_pool(stranger, "mine")
    assert stranger.call("PUT", "/api/v1/pools/mine/packs", content=content).status_code == 201
    assert put(stranger, "mine", digest).status_code == 200


def test_a_public_pool_is_a_right_and_site_administrators_have_all(site: Site, tmp_path: Path) -> None:
    digest = hide(site.owner(), hidden_pack(tmp_path))
    admin, stranger = site.person("ada", is_site_admin=True), site.person("sam")
    make_pool(admin, "all")
    make_pool(stranger, "mine")
    assert put(admin, "all", digest).status_code == 200
    with site.services.database.writing() as session:
        session.query(Pool).filter(Pool.slug == "hidden").one().published_at = now()
    assert put(stranger, "mine", digest).status_code == 200


def test_owners_use_the_packs_of_their_other_pools(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    digest = hide(owner, hidden_pack(tmp_path))
    make_pool(owner, "second")
    assert put(owner, "second", digest).status_code == 200


def test_a_bad_file_is_refused_without_a_path_of_the_server(site: Site) -> None:
    owner = site.owner()
    make_pool(owner, "mine")
    refused = owner.call("PUT", "/api/v1/pools/mine/packs", content=b"no pack")
    assert refused.status_code == 422
    assert "/tmp" not in refused.text and "upload.anyshot-pack" not in refused.text


def test_a_pack_that_waits_for_a_version_is_no_pack_of_its_pool(site: Site, tmp_path: Path) -> None:
    """The pool "has no packs yet" was all that was said to somebody who had just uploaded one."""
    owner = site.owner()
    make_pool(owner, "mine")
    assert owner.call("PUT", "/api/v1/pools/mine/packs", content=hidden_pack(tmp_path)).status_code == 201
    refused = owner.call("POST", "/api/v1/pools/mine/acts/publish", json={"confirm": "mine"})
    words = "The pool has no packs yet: uploaded packs count once a version of it holds them."
    assert refused.status_code == 409 and words in refused.text
    with site.services.database.writing() as session:
        pool = Pool(slug="both", name="both", owner_id=site.owner_id, combines=["mine"])
        session.add(pool)
    refused = owner.call("POST", "/api/v1/pools/both/acts/combine")
    assert (
        "The pool mine has no packs yet: uploaded packs count once a version of it holds them."
        in refused.text
    )
