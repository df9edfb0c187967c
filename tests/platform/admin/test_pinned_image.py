"""A phase that is pinned to an image by its digest: who gets its runs, what people read, what counts."""

from typing import Any

import pytest

from anyshot_platform.judging.runs.models import Run
from anyshot_platform.people.audit.models import AuditEntry
from tests.platform.admin.test_manage import BASE, finish, page
from tests.platform.site import SLUG, PaperWorker, Person, Site

OLD, NEW = "sha256:" + "0" * 64, "sha256:" + "1" * 64
API = f"/api/v1/competitions/{SLUG}/manage"
FEEDBACK = f"/competitions/{SLUG}/phases/feedback"


def connect(site: Site, name: str, digest: str = OLD) -> PaperWorker:
    """A worker that has asked for work once, with an image under the name `cpu`, its usual one."""
    worker = site.worker(name, images=("cpu",), image_digests={"": digest, "cpu": digest})
    assert worker.claim() is None
    return worker


def act(person: Person, name: str, status: int = 200, **options: Any) -> dict[str, Any]:
    """An act on the phase over JSON."""
    answer = person.call("POST", f"{API}/phases/feedback/acts/{name}", json=options)
    assert answer.status_code == status, answer.text
    return answer.json()


def result(worker: PaperWorker, job: dict[str, Any], digest: str, mean: float = 0.5) -> int:
    """What the site answers to a result that was made with an image."""
    return worker.complete(job, mean, provenance={"image_digest": digest}).status_code


def words(person: Person, path: str) -> str:
    return " ".join(page(person, path).text.split())


def test_a_pinned_phase_is_run_by_workers_with_exactly_that_image_and_everybody_reads_which(
    site: Site,
) -> None:
    owner, pia = site.owner(), site.member("pia")
    right, wrong = connect(site, "right"), site.worker("wrong", image_digests={"": NEW, "cpu": NEW})
    assert "the usual one; the page of a run says which it was" in words(pia, FEEDBACK)
    assert act(owner, "pin-image")["key"] == "feedback"
    assert f"{OLD}, and no other" in words(pia, FEEDBACK)
    shown = pia.submit().json()["id"]
    assert wrong.claim() is None
    job = right.claim()
    assert job is not None and job["image_digest"] == OLD
    assert result(right, job, OLD) == 204
    assert site.submission(shown).score == 0.5
    assert act(owner, "unpin-image")
    pia.submit()
    assert wrong.claim() is not None
    with site.services.database.reading() as session:
        entries = session.query(AuditEntry).order_by(AuditEntry.id)
        logged = [(entry.action, entry.after) for entry in entries if "image" in entry.action]
    assert logged == [
        ("phase.pin_image", {"machine.image_digest": OLD}),
        ("phase.unpin_image", {"machine.image_digest": None}),
    ]


def test_what_waits_in_the_queue_is_pinned_and_freed_with_its_phase(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    connect(site, "right")
    pia.submit()
    act(owner, "pin-image")
    other = site.worker("other")
    assert other.claim() is None
    act(owner, "unpin-image")
    assert other.claim() is not None


def test_a_result_of_another_image_than_the_pinned_one_does_not_count(site: Site) -> None:
    """A worker that lies about what it has, or whose image was exchanged under the name."""
    owner, pia = site.owner(), site.member("pia")
    worker = connect(site, "liar")
    act(owner, "pin-image")
    shown = pia.submit().json()["id"]
    job = worker.claim()
    assert job is not None
    result(worker, job, NEW, 1.0)
    assert site.submission(shown).score is None
    assert "1.000" not in words(pia, f"/submissions/{shown}")


def test_the_act_says_why_it_cannot_be_done_and_what_there_is(site: Site) -> None:
    owner = site.owner()
    refused = act(owner, "pin-image", 409)["message"]
    assert refused.startswith(
        "No worker of the class cpu that is connected tells the digest of a sandbox image"
    )
    connect(site, "one", OLD)
    connect(site, "two", NEW)
    refused = act(owner, "pin-image", 409)["message"]
    assert f"different images: {OLD} (one); {NEW} (two)." in refused
    refused = act(owner, "pin-image", 409, digest="sha256:" + "f" * 64)["message"]
    assert "has the image sha256:ffff" in refused
    assert act(owner, "pin-image", 422, digest="latest")
    act(owner, "pin-image", digest=NEW)
    assert act(owner, "pin-image")  # so already
    act(owner, "pin-image", digest=OLD)
    assert f"{OLD}, and no other" in words(owner, FEEDBACK)


def test_scores_of_another_image_make_it_ask_for_the_name(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    pia.submit()
    finish(site.worker(), 0.5)
    connect(site, "right")
    asked = act(owner, "pin-image", 409)
    assert asked["error"] == "confirm"
    assert "1 of the runs that count were made with" in " ".join(asked["preview"]["blocked"])
    act(owner, "pin-image", override=True, confirm="feedback")


def test_before_it_opens_a_phase_says_that_no_worker_has_its_image(site: Site) -> None:
    owner = site.owner()
    site.set_version(image_digest=NEW)
    connect(site, "other", OLD)
    told = f"No worker that is connected has the image {NEW}, which the phase is pinned to; runs would wait."
    assert told in words(owner, f"{BASE}/phases/feedback")
    assert any(told in line for line in owner.call("GET", f"{API}/state").json()["odd"])
    connect(site, "right", NEW)
    assert told not in words(owner, f"{BASE}/phases/feedback")


@pytest.mark.parametrize("digest", ["latest", "sha256:1", "sha256:" + "g" * 64])
def test_the_file_of_a_phase_holds_a_digest_and_nothing_else(site: Site, digest: str) -> None:
    owner = site.owner()
    known = owner.call("GET", f"{API}/phases/feedback").json()["settings"]
    known["machine"]["image_digest"] = digest
    assert owner.call("PUT", f"{API}/phases/feedback", json=known).status_code == 422
    known["machine"]["image_digest"] = NEW
    assert owner.call("PUT", f"{API}/phases/feedback", json=known).status_code == 200
    assert f"{NEW}, and no other" in words(owner, FEEDBACK)


def test_a_smoke_test_meets_the_image_that_the_phase_is_pinned_to(site: Site) -> None:
    site.offer_smoke_tests()
    site.set_version(image_digest=NEW)
    pia = site.member("pia")
    assert pia.submit(smoke=True).status_code == 201
    with site.services.database.reading() as session:
        assert [run.image_digest for run in session.query(Run)] == [NEW]
    assert site.worker("other").claim() is None
