"""The data of a competition: its tab, its JSON, `anyshot data get`, and a dry run on what came."""

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.data.dataset import read_dataset
from anyshot_core.data.pack import pack_dataset
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_starting_kit.cli.data_get import choose
from tests.core.tinydata import write_dataset
from tests.platform.site import SLUG, Site
from tests.starting_kit.cli.test_platform_commands import (  # noqa: F401 - fixtures
    address,
    call,
    folder,
    logged_in,
)

NAMES = ("BIRDS", "LEAVES", "SIGNS")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Packs of five datasets, by name."""
    target, made = tmp_path_factory.mktemp("packs"), {}
    for place, name in enumerate((*NAMES, "SECRET-A", "SECRET-B")):
        source = write_dataset(target / name, seed=place)
        info = json.loads((source / "info.json").read_text())
        info |= {"licence": f"CC BY {place}.0", "source": "https://example.org"}
        (source / "info.json").write_text(json.dumps(info))
        assert len(read_dataset(source).classes) == 5
        made[name] = pack_dataset(source, target / f"{name}.anyshot-pack").path
    return made


@pytest.fixture
def packs(site: Site, made: dict[str, Path]) -> dict[str, Path]:
    """Three public training datasets, two hidden ones to test on."""
    rows = {name: add_pack(site.services, path).id for name, path in made.items()}
    with site.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="feedback").one()
        for slug, names in (("open", NAMES), ("kept", ("SECRET-A", "SECRET-B"))):
            pool = create_pool(session, slug=slug, name=f"Pool {slug}", owner_id=site.owner_id)
            chosen = [session.get_one(Pack, rows[name]) for name in names]
            version = create_pool_version(session, pool, chosen, created_by=site.owner_id)
            if slug == "open":
                pool.published_at = now()
                phase.live.meta_train_pool_version_id = version.id
            else:
                phase.live.meta_test_pool_version_id = version.id
    return made


@pytest.mark.seconds("dry runs as commands")
def test_the_public_data_come_with_split_and_checksums_and_a_dry_run_takes_them(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    packs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    logged_in(site, address)
    got = call("data", "get", SLUG)
    assert got.exit_code == 0, got.output
    here = tmp_path / "data" / SLUG
    for name in NAMES:
        assert (here / f"{name}.anyshot-pack").read_bytes() == packs[name].read_bytes()
    assert sorted(path.name for path in here.glob("*.anyshot-pack")) == [f"{n}.anyshot-pack" for n in NAMES]
    assert "CC BY 2.0" in got.output
    assert "2 more are hidden." in got.output
    assert "SECRET" not in got.output
    digest = hashlib.sha256(packs["BIRDS"].read_bytes()).hexdigest()
    assert f"{digest}  BIRDS.anyshot-pack\n" in (here / "SHA256SUMS").read_text()
    split = json.loads((here / "info" / "meta_splits.txt").read_text())
    assert split == {"meta-train": ["BIRDS", "LEAVES"], "meta-test": ["SIGNS"]}
    command = got.output.splitlines()[-1].partition(": anyshot ")[2].replace("my-method", "mine")
    (folder / "model.py").write_text(GUESSES)
    tried = call(*shlex.split(command), "--ways", "2", "--shots", "1", "--query", "2", "--tasks", "2")
    assert tried.exit_code == 0, tried.output
    assert "SIGNS" in (tmp_path / "anyshot-dry-run" / "report.html").read_text()


@pytest.mark.seconds("downloads whole pools")
def test_of_two_datasets_of_one_name_that_of_the_training_pool_is_kept(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    packs: dict[str, Path],
    tmp_path: Path,
) -> None:
    """The small pack of the smoke pool was written over it, and dry runs trained on that one without a word."""
    small = pack_dataset(write_dataset(tmp_path / "small" / "BIRDS", images=6, seed=9), tmp_path / "s").path
    row = add_pack(site.services, small).id
    with site.services.database.writing() as session:
        phase = session.query(Phase).filter_by(slug="feedback").one()
        pool = create_pool(session, slug="tiny", name="Pool tiny", owner_id=site.owner_id)
        made = create_pool_version(session, pool, [session.get_one(Pack, row)], created_by=site.owner_id)
        pool.published_at = now()
        phase.smoke_pool_version_id = made.id
    logged_in(site, address)
    out = tmp_path / "out"
    got = call("data", "get", SLUG, "--out", str(out))
    assert got.exit_code == 0, got.output
    assert (out / "BIRDS.anyshot-pack").read_bytes() == packs["BIRDS"].read_bytes()
    lines = (out / "SHA256SUMS").read_text().splitlines()
    assert len(lines) == len(NAMES)
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    listed = [line for line in got.output.splitlines() if line.startswith("BIRDS ")]
    assert len(listed) == 1 and " 60 images" in listed[0]
    assert (
        "Left out: BIRDS of pool tiny, version 1 (smoke test in Feedback), 30 images: it has the same name as that of "
        "pool open, version 1 (meta-training in Feedback)."
    ) in got.output


@pytest.mark.parametrize("name", ["../../climbed", "{there}/climbed", "\x1b[31mBIRDS"])
def test_a_site_that_names_datasets_like_paths_makes_the_command_write_nothing(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    packs: dict[str, Path],
    tmp_path: Path,
    name: str,
) -> None:
    logged_in(site, address)
    with site.services.database.writing() as session:
        session.query(Pack).filter_by(name="BIRDS").one().name = name.format(there=tmp_path)
    before = sorted(tmp_path.rglob("*"))
    got = call("data", "get", SLUG, "--out", str(tmp_path / "deep" / "er"))
    assert got.exit_code == 1 and "nothing is written" in got.output and "\x1b" not in got.output
    assert sorted(tmp_path.rglob("*")) == before


def test_of_one_name_the_pools_are_taken_in_the_order_train_test_smoke() -> None:
    def pool(name: str, digest: str, *uses: str) -> dict[str, Any]:
        packs = [{"name": "BRD", "digest": digest}]
        return {"name": name, "version": 1, "used_for": list(uses), "datasets": packs}

    smoke, test = pool("s", "1", "smoke test in A"), pool("e", "2", "smoke test in A", "meta-testing in B")
    train, again = pool("t", "3", "meta-training in B"), pool("u", "2", "meta-training in C")
    for pools, name in (((smoke, test), "e"), ((smoke, test, train), "t"), ((test, again), "u")):
        (kept,), left_out = choose(list(pools))
        assert kept.pool["name"] == name
        digests = {one["datasets"][0]["digest"] for one in pools}
        assert {one.pack["digest"] for one, _ in left_out} == digests - {kept.pack["digest"]}
        assert all(instead is kept for _, instead in left_out)


GUESSES = """
import numpy as np
class MyMetaLearner:
    def __init__(self, *a): pass
    def meta_fit(self, *a): return MyLearner()
class MyLearner:
    def __init__(self, *a): pass
    def fit(self, support_set): self.ways = support_set[3]; return self
    def predict(self, query): return np.zeros(len(query), dtype=int)
    def save(self, path): open(path + "/x", "w").close()
    def load(self, path): pass
"""


def test_a_broken_download_goes_on_and_a_damaged_file_is_fetched_again(
    site: Site,
    address: str,  # noqa: F811
    folder: Path,  # noqa: F811
    packs: dict[str, Path],
    tmp_path: Path,
) -> None:
    logged_in(site, address)
    out = tmp_path / "out"
    out.mkdir()
    content = packs["BIRDS"].read_bytes()
    (out / "BIRDS.anyshot-pack.part").write_bytes(content[:5000])
    (out / "LEAVES.anyshot-pack").write_bytes(b"x" * packs["LEAVES"].stat().st_size)
    assert call("data", "get", SLUG, "--out", str(out)).exit_code == 0
    assert (out / "BIRDS.anyshot-pack").read_bytes() == content
    assert (out / "LEAVES.anyshot-pack").read_bytes() == packs["LEAVES"].read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    path = f"/api/v1/competitions/{SLUG}/data/{digest}/pack"
    part = site.member("pia").call("GET", path, headers={"range": "bytes=5000-5009"})
    assert (part.status_code, part.content) == (206, content[5000:5010])


def test_hidden_data_have_no_name_no_picture_and_no_download(site: Site, packs: dict[str, Path]) -> None:
    """Not on the page, not in the JSON, not by a digest that somebody knows."""
    pia, owner = site.member("pia"), site.owner()
    page = pia.call("GET", f"/competitions/{SLUG}/data").text
    assert "SECRET" not in page
    assert "Pool kept" not in page
    assert "2 hidden datasets, used for meta-testing in Feedback." in page
    shown = pia.call("GET", f"/api/v1/competitions/{SLUG}/data").json()
    assert "SECRET" not in json.dumps(shown)
    assert [(pool["name"], pool["number_of_datasets"]) for pool in shown["pools"]] == [("open", 3), ("", 2)]
    digest = hashlib.sha256(packs["SECRET-A"].read_bytes()).hexdigest()
    for who in (pia, owner):
        assert who.call("GET", f"/api/v1/competitions/{SLUG}/data/{digest}/pack").status_code == 404
        assert who.call("GET", f"/competitions/{SLUG}/data/{digest}/sheet.png").status_code == 404
    assert "Pool kept" in owner.call("GET", f"/competitions/{SLUG}/data").text  # organizers get a link to it


def test_the_tab_shows_licence_checksum_classes_and_picture_of_what_is_public(
    site: Site,
    packs: dict[str, Path],
) -> None:
    pia = site.member("pia")
    assert f'href="/competitions/{SLUG}/data"' in pia.call("GET", f"/competitions/{SLUG}").text
    page = pia.call("GET", f"/competitions/{SLUG}/data").text
    digest = hashlib.sha256(packs["LEAVES"].read_bytes()).hexdigest()
    for words in (
        "LEAVES",
        "CC BY 1.0",
        digest,
        "class 4",
        "60 in 5 classes, 12 a class",
        f"anyshot data get {SLUG}",
    ):
        assert words in page
    picture = pia.call("GET", f"/competitions/{SLUG}/data/{digest}/sheet.png")
    assert (picture.status_code, picture.content[:4]) == (200, b"\x89PNG")
    nobody = site.client.get(f"/api/v1/competitions/{SLUG}/data/{digest}/pack")
    assert nobody.status_code == 401


def test_nothing_public_is_said_and_is_a_failure(site: Site, address: str, folder: Path) -> None:  # noqa: F811
    logged_in(site, address)
    got = call("data", "get", SLUG)
    assert got.exit_code == 1
    assert "has no public datasets. 2 more are hidden." in got.output


def test_the_command_that_repeats_a_run_gets_the_competitions_data_first(
    site: Site,
    packs: dict[str, Path],
) -> None:
    pia, worker = site.member("pia"), site.worker()
    submission = pia.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    worker.complete(job, 0.5)
    run = pia.call("GET", f"/api/v1/submissions/{submission}").json()["runs"][0]
    assert run["reproduce"].startswith(
        f"anyshot data get {SLUG} && anyshot dry-run submission.zip --data data/{SLUG} "
    )
