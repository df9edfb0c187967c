"""Receipts of runs: what they hold and hide, who gets them, and that they are made with the result."""

import ast
import hashlib
import io
import json
import runpy
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import delete, select

from anyshot_core.receipts import BadReceipt, Receipt, SignedReceipt, read_public_key, read_receipts
from anyshot_platform.judging.receipts.models import SiteKey
from anyshot_platform.server.serving import prepare
from tests.platform.admin.results import finish_with_predictions
from tests.platform.core.test_shards import hand_in
from tests.platform.site import Person, Site, make_zip

KEY = "/api/v1/receipt-key"


def receipts_of(site: Site, person: Person, submission: str) -> list[Receipt]:
    """The receipts that the site gives somebody, verified with the key that it serves."""
    key = read_public_key(site.client.get(KEY).text)
    return [one.open(key) for one in signed_of(person, submission)]


def signed_of(person: Person, submission: str) -> list[SignedReceipt]:
    answer = person.call("GET", f"/api/v1/submissions/{submission}/receipts")
    assert answer.status_code == 200, answer.text
    return read_receipts(answer.content)


def test_a_receipt_says_what_ran_on_what_and_what_it_scored(site: Site) -> None:
    alice, owner = site.member("alice"), site.owner()
    content = make_zip(salt="alice")
    submission = alice.submit(content).json()["id"]
    finish_with_predictions(site.worker(), 0.7, 1)
    (found,) = receipts_of(site, alice, submission)
    shown = alice.call("GET", f"/api/v1/submissions/{submission}").json()
    (run,) = shown["runs"]
    phase = alice.call("GET", "/api/v1/competitions/small").json()["phases"][0]
    assert (found.site, found.competition, found.phase) == ("http://testserver", "small", "feedback")
    assert (found.submission, found.run, found.score) == (submission, run["id"], run["score"])
    assert found.half_width == run["half_width"] and found.tasks == 10
    assert found.code == hashlib.sha256(content).hexdigest()
    assert (found.seed_index, found.train_seed) == (0, run["train_seed"])
    assert found.commitment == phase["commitment"]
    assert found.protocol == run["provenance"]["protocol_digest"]
    told = run["provenance"]
    assert (found.image, found.hardware, found.sandbox) == (told["image"], told["hardware"], told["sandbox"])
    assert found.seconds == run["seconds_used"]
    assert found.finished_at.isoformat().replace("+00:00", "Z") == run["finished_at"]
    files = f"/api/v1/submissions/{submission}/runs/{run['id']}/artifacts"
    names = ("predictions.parquet", "results.parquet")
    kept = [hashlib.sha256(owner.call("GET", f"{files}/{name}").content).hexdigest() for name in names]
    assert [*found.predictions, found.results] == kept
    link = f"/submissions/{submission}/receipts.json"
    assert link in alice.call("GET", f"/submissions/{submission}").text
    assert read_receipts(alice.call("GET", link).content) == signed_of(alice, submission)


def test_a_changed_receipt_and_another_key_are_refused(site: Site) -> None:
    alice = site.member("alice")
    submission = alice.submit().json()["id"]
    finish_with_predictions(site.worker(), 0.7, 1)
    (signed,) = signed_of(alice, submission)
    key = read_public_key(site.client.get(KEY).text)
    for change in ({"score": 1.0}, {"code": "0" * 64}, {"more": 1}):
        changed = signed.model_copy(update={"receipt": signed.receipt | change})
        with pytest.raises(BadReceipt, match="it was changed after signing"):
            changed.open(key)
    other = read_public_key("ab" * 32)
    with pytest.raises(BadReceipt, match=f"with the key {key.id}, and this is the key {other.id}"):
        signed.open(other)
    with pytest.raises(BadReceipt, match="it was changed after signing"):
        signed.model_copy(update={"key": other.id}).open(other)


def test_a_run_in_parts_has_one_receipt_with_the_predictions_of_all(site: Site, tmp_path: Path) -> None:
    site.set_version(shards=3)
    submission = site.member("alice").submit().json()["id"]
    worker = site.worker()
    for _ in range(3):
        job = worker.claim()
        assert job is not None
        hand_in(worker, job, tmp_path)
    (found,) = receipts_of(site, site.owner(), submission)
    assert len(set(found.predictions)) == 3 and found.tasks == 10 and found.seconds == 180.0
    assert found.score == site.submission(submission).score


@pytest.fixture
def archive(site: Site, tmp_path: Path) -> Path:
    """The organizers' archive of two runs, unpacked."""
    for name in ("alice", "bob"):
        site.member(name).submit()
        finish_with_predictions(site.worker(), 0.7, len(name))
    content = site.owner().call("GET", "/competitions/small/manage/exports/archive.zip").content
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
    return tmp_path


def verify_all(archive: Path, *key: str) -> int:
    """How many receipts the archive's own program finds wrong."""
    return runpy.run_path(str(archive / "verify_receipts.py"))["main"](*key)


def test_the_archive_holds_all_receipts_and_a_program_that_verifies_them(
    site: Site, archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = read_public_key((archive / "receipt-key.json").read_text())
    assert key == read_public_key(site.client.get(KEY).text)
    runs = [one.open(key).run for one in read_receipts((archive / "receipts.json").read_bytes())]
    assert verify_all(archive) == verify_all(archive, key.public_key) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == [
        *(f"feedback {run}: signed, score as computed" for run in runs),
        f"2 receipts, 0 wrong, key {key.id}",
    ]


def test_the_program_of_the_archive_finds_what_was_changed(
    archive: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts, results = archive / "receipts.json", archive / "results.parquet"
    known, table = json.loads(receipts.read_text()), pq.read_table(results)
    assert verify_all(archive, "ab" * 32) == 2
    known[0]["receipt"]["score"] = 0.99
    receipts.write_text(json.dumps(known))
    assert verify_all(archive) == 1
    run = known[1]["receipt"]["run"]
    scores = table["normalized_accuracy"].to_numpy() / 2
    place = table.column_names.index("normalized_accuracy")
    pq.write_table(table.set_column(place, "normalized_accuracy", pa.array(scores)), results)
    assert verify_all(archive) == 2
    said = capsys.readouterr().out
    assert "WRONG: the signature is not of this receipt" in said
    assert f"feedback {run}: WRONG: its tasks score " in said


def test_the_program_of_the_archive_needs_nothing_of_anyshot(archive: Path) -> None:
    text = (archive / "verify_receipts.py").read_text()
    modules = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [getattr(node, "module", None) or node.names[0].name for node in modules]
    assert {name.partition(".")[0] for name in names} == {
        *("cryptography", "hashlib", "json", "numpy", "pathlib", "pyarrow", "sys")
    }
    assert len(text.splitlines()) <= 100


def test_a_key_is_made_at_the_first_start_and_kept_at_later_ones(site: Site) -> None:
    with site.services.database.writing() as session:
        session.execute(delete(SiteKey))
    assert site.client.get(KEY).status_code == 404
    prepare(site.services)
    first = site.client.get(KEY).json()
    prepare(site.services)
    assert site.client.get(KEY).json() == first
    with site.services.database.reading() as session:
        assert session.scalars(select(SiteKey.private_key)).one() not in str(first)
