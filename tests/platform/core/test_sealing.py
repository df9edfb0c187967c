"""What is hashed, checked and stored are the same bytes; one upload is one submission."""

import hashlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select

from anyshot_platform.foundation.storage import FolderStorage, WrongDigest
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.uploads import sealed_upload, upload_path
from tests.platform.site import SLUG, Site, make_zip

AT_ONCE = 8


def test_the_store_keeps_no_bytes_of_another_digest(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"other bytes")
    storage = FolderStorage(tmp_path / "blobs")
    digest = hashlib.sha256(b"these bytes").hexdigest()
    with pytest.raises(WrongDigest):
        storage.put(digest, source)
    assert not storage.exists(digest) and list(storage.digests()) == []
    source.write_bytes(b"these bytes")
    storage.put(digest, source)
    with storage.open(digest) as kept:
        assert kept.read() == b"these bytes"


def test_what_is_written_after_the_hash_reaches_neither_check_nor_store(site: Site) -> None:
    alice = site.member("alice")
    upload_id = alice.upload(b"the bytes that were hashed")
    with sealed_upload(site.services, alice.id, upload_id) as (upload, path, digest):
        with upload_path(site.services, upload).open("r+b") as late:
            late.write(b"POISON")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    assert not path.exists()


def test_one_upload_is_one_submission(postgres_site: Site) -> None:
    site = postgres_site
    alice = site.member("alice")
    body = {"upload_id": alice.upload(make_zip())}
    path = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"

    def submit(number: int) -> int:
        return alice.call("POST", path, json=body).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        statuses = Counter(threads.map(submit, range(AT_ONCE)))
    assert statuses[201] == 1 and set(statuses) <= {201, 404, 409}, statuses
    with site.services.database.reading() as session:
        assert session.scalar(select(func.count(Submission.id))) == 1
