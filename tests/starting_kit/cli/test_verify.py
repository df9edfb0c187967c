"""`anyshot verify`: a receipt, its score and its tasks, against what a site served and published."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool as OpenPool
from anyshot_core.protocols import protocol_from_dict
from anyshot_core.protocols.keys import read_seed
from anyshot_core.receipts import Receipt, public_key, sign
from anyshot_core.results import read_predictions, write_predictions
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from tests.core.data.factory import write_dataset
from tests.platform.admin.results import finish
from tests.platform.site import Person, Site
from tests.services.processes import free_port
from tests.services.sites import served

NAMES = ("zebra", "ant")  # the order of the pool is not that of the names
PROTOCOL = {"name": "fixed", "ways": 3, "shots": 1, "query": 2}
PHASE = "/api/v1/competitions/small/manage/phases/feedback"


@pytest.fixture
def data(site: Site, tmp_path: Path) -> Path:
    """A folder of packs, which the phase tests on."""
    folder = tmp_path / "data"
    folder.mkdir()
    paths = [
        pack_dataset(write_dataset(tmp_path / name, 4 + len(name), 5), folder / f"{name}.anyshot-pack").path
        for name in NAMES
    ]
    ids = [add_pack(site.services, path, site.owner_id).id for path in paths]
    with site.services.database.writing() as session:
        pool = create_pool(session, slug="real", name="Real", owner_id=site.owner_id)
        packs = [session.get_one(Pack, one) for one in ids]
        tested = create_pool_version(session, pool, packs, created_by=site.owner_id).id
    site.set_version(
        meta_test_pool_version_id=tested, protocol=PROTOCOL, test_seeds=[], root="ab" * 32, tasks=6
    )
    return folder


@pytest.fixture
def alice(site: Site) -> Person:
    return site.member("alice")


@pytest.fixture
def folder(site: Site, data: Path, alice: Person, tmp_path: Path) -> Path:
    """A scored run of hers: its receipt, and its predictions from the organizers."""
    submission = alice.submit().json()["id"]
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    pool = OpenPool.open([data / f"{name}.anyshot-pack" for name in NAMES])
    tasks = list(protocol_from_dict(job["protocol"]).tasks(pool, read_seed(job["test_seed"]), 6))
    predictions = Predictions.from_tasks(
        task=[task.index for task in tasks],
        dataset=[pool.names[task.dataset] for task in tasks],
        domain=["" for _ in tasks],
        ways=[task.ways for task in tasks],
        shots=[task.shots for task in tasks],
        predictions=[task.query_labels * (task.index % 2) for task in tasks],
        labels=[task.query_labels for task in tasks],
        classes=[task.classes for task in tasks],
    )
    finish(worker, job, predictions.score(), predictions)
    found = tmp_path / "found"
    found.mkdir()
    (found / "receipts.json").write_bytes(
        alice.call("GET", f"/api/v1/submissions/{submission}/receipts").content
    )
    path = f"/api/v1/submissions/{submission}/runs/{job['run_id']}/artifacts/predictions.parquet"
    (found / "predictions.parquet").write_bytes(site.owner().call("GET", path).content)
    return found


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    with served(site.app, free_port(), lifespan="off") as found:
        yield found


def verify(folder: Path, *more: object) -> tuple[int, list[str]]:
    """Exit code and lines of the command on the receipts of a folder."""
    words = ["verify", str(folder / "receipts.json"), *map(str, more)]
    found = CliRunner().invoke(main, words, catch_exceptions=False)
    return found.exit_code, found.output.splitlines()


def publish_key(site: Site) -> None:
    site.set_phase(ends_at=now() - timedelta(hours=1))
    with site.services.database.writing() as session:
        session.query(Pool).filter(Pool.slug == "real").one().published_at = now()
    said = site.owner().call("POST", f"{PHASE}/acts/publish-key", json={"confirm": "feedback"})
    assert said.status_code == 200, said.text


def test_a_receipt_is_verified_down_to_the_tasks(site: Site, folder: Path, data: Path, address: str) -> None:
    predictions = folder / "predictions.parquet"
    asked = ("--server", address, "--predictions", predictions, "--data", data)
    (receipt,) = json.loads((folder / "receipts.json").read_text())
    body, key = receipt["receipt"], receipt["key"]
    score = summarize(read_predictions(predictions).predictions.score(), 6).mean
    run = [
        f"Signature: run {body['run']} is signed with the key {key} of http://testserver.",
        "Predictions: 1 file, as scored.",
        f"Score: {score} (normalized_accuracy), as computed again.",
    ]
    closed = "Key: the phase has published none, so its tasks cannot be drawn."
    assert verify(folder, *asked) == (0, [*run, closed])
    publish_key(site)
    assert verify(folder, *asked) == (
        0,
        [
            *run,
            "Key: the phase's published key is that of the commitment.",
            "Data: 2 datasets, as the run was tested on.",
            "Protocol: as the run was tested by.",
            "Tasks: 6 tasks drawn again, the same as were answered.",
        ],
    )
    assert verify(folder, "--server", address)[1][1:] == [
        f"Score: {score} (normalized_accuracy), not computed again: 1 file of predictions missing."
    ]


def test_other_data_than_was_tested_on_is_refused(site: Site, folder: Path, data: Path, address: str) -> None:
    publish_key(site)
    ant = data / "ant.anyshot-pack"
    shutil.copy(data / "zebra.anyshot-pack", ant)
    code, lines = verify(folder, "--server", address, "--data", data)
    assert code == 1
    assert lines[-1] == f"FAILED: {ant} is not the dataset ant of that run."


def test_another_key_than_was_committed_to_is_refused(
    site: Site, folder: Path, data: Path, address: str
) -> None:
    publish_key(site)
    site.set_version(root="cd" * 32)
    code, lines = verify(folder, "--server", address, "--data", data)
    assert code == 1 and lines[-1].startswith("FAILED: The receipt has the commitment ")


def test_a_changed_receipt_is_refused(site: Site, folder: Path, address: str) -> None:
    path = folder / "receipts.json"
    (receipt,) = json.loads(path.read_text())
    receipt["receipt"]["score"] = 1.0
    path.write_text(json.dumps([receipt]))
    words = "FAILED: The signature is not of this receipt: it was changed after signing."
    assert verify(folder, "--server", address) == (1, [words])
    path.write_text("{}")
    assert verify(folder, "--server", address) == (
        1,
        ["FAILED: The file holds no signed receipt."],
    )


def test_changed_predictions_are_refused(folder: Path, site: Site) -> None:
    key = site.client.get("/api/v1/receipt-key").json()["public_key"]
    path = folder / "predictions.parquet"
    known, meta = read_predictions(path)
    (digest,) = json.loads((folder / "receipts.json").read_text())[0]["receipt"]["predictions"]
    changed = known.predictions.copy()
    changed[0] = 1 - changed[0]
    write_predictions(path, replace(known, predictions=changed), meta)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    assert verify(folder, "--key", key, "--predictions", path) == (
        1,
        [f"FAILED: {path} has the SHA-256 {found}; the predictions that were scored: {digest}."],
    )


def test_a_score_that_the_predictions_do_not_give_is_refused(folder: Path) -> None:
    """A site that signs another score than it computed is found out by the predictions."""
    private = bytes(32)
    (signed,) = json.loads((folder / "receipts.json").read_text())
    lied = sign(Receipt.model_validate(signed["receipt"] | {"score": 0.25}), private)
    (folder / "receipts.json").write_text(json.dumps([lied.model_dump(mode="json")]))
    key = folder / "key.json"
    key.write_text(public_key(private).model_dump_json())
    code, lines = verify(folder, "--key", key, "--predictions", folder / "predictions.parquet")
    assert code == 1 and lines[-1].startswith("FAILED: The predictions score ")
    assert lines[-1].endswith("and the receipt says 0.25.")


def test_a_receipt_of_another_site_is_refused(folder: Path, site: Site) -> None:
    (signed,) = json.loads((folder / "receipts.json").read_text())
    code, lines = verify(folder, "--key", "ab" * 32)
    assert code == 1
    assert lines == [
        f"FAILED: It was signed with the key {signed['key']}, and this is the key "
        f"{hashlib.sha256(bytes.fromhex('ab' * 32)).hexdigest()[:16]}."
    ]
