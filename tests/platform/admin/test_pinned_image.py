"""A phase that is pinned to an image, or adds packages to it: who gets its runs, what people read, what counts."""

import re
from typing import Any

import pytest

from anyshot_core.wire.inventory import shipped_inventory
from anyshot_core.wire.requirements import packages_image
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.people.audit.models import AuditEntry
from tests.platform.admin.test_manage import BASE, finish, page
from tests.platform.site import SLUG, PaperWorker, Person, Site, make_zip
from tests.platform.web.test_sandbox import found_of

OLD, NEW = "sha256:" + "0" * 64, "sha256:" + "1" * 64
NAME = packages_image("cpu", ["shot-grid==1.0"])
SHOT_GRID = {"name": "shot_grid", "version": "1.0", "size": 100, "imports": ["shot_grid"]}
WAITS = "uploads are taken, and their runs wait until a worker has the image."
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


def text_of(person: Person, path: str) -> str:
    """The words of a page without its tags."""
    return " ".join(re.sub("<[^>]*>", " ", page(person, path).text).split())


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


def set_packages(owner: Person, packages: str, status: int = 200) -> dict[str, Any]:
    """Put a list of packages into the phase, as JSON; the machine of the phase then, or what is wrong."""
    settings = owner.call("GET", f"{API}/phases/feedback").json()["settings"]
    settings["machine"]["packages"] = packages
    answer = owner.call("PUT", f"{API}/phases/feedback", json=settings)
    assert answer.status_code == status, answer.text
    return answer.json()["settings"]["machine"] if status == 200 else answer.json()


def odd(owner: Person) -> str:
    """What organizers are told to look at."""
    return " ".join(owner.call("GET", f"{API}/state").json()["odd"])


def with_packages(site: Site) -> PaperWorker:
    """A worker that has the image of the list beside its usual one, before its first claim."""
    usual = shipped_inventory().model_dump()
    more = {**usual, "packages": [*usual["packages"], SHOT_GRID]}
    return site.worker(
        "built",
        images=("cpu", NAME),
        image_digests={"": OLD, "cpu": OLD, NAME: NEW},
        inventories={"cpu": usual, NAME: more},
    )


def test_runs_of_a_phase_that_adds_packages_wait_for_the_image_that_its_list_names(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    without = connect(site, "without")
    machine = set_packages(owner, "# for tables\nShot_Grid == 1.0\n")
    assert (machine["packages"], machine["image"]) == ("shot-grid==1.0", NAME)
    shown = words(pia, FEEDBACK)
    assert "shot-grid==1.0" in shown and f"{NAME}; the page of a run says which it was" in shown
    told = (
        f"No worker has the image {NAME} with the packages of the phase yet; the site's operator sees that it is"
        f" asked for. Meanwhile {WAITS}"
    )
    assert told in odd(owner)
    model = b"import shot_grid\nclass MyMetaLearner: pass\nclass MyLearner: pass\n"
    assert found_of(pia, "imports", model) == [
        "model.py imports shot_grid, which is neither in the zip nor known to be in the sandbox."
    ]
    upload = pia.upload(make_zip({"model.py": model}))
    where = {"competition": SLUG, "phase": "feedback"}
    checks = pia.call("POST", f"/api/v1/uploads/{upload}/check", params=where).json()["checks"]
    assert next(one["remedy"] for one in checks if one["name"] == "imports").startswith(
        "The phase adds shot-grid==1.0, by an image that no worker has yet: what is uploaded waits until one has"
    )
    submitted = pia.submit().json()["id"]
    assert without.claim() is None
    waiting = "no worker can take it now. It keeps its place and starts by itself."
    assert waiting in words(pia, f"/submissions/{submitted}")

    job = with_packages(site).claim()
    assert job is not None and (job["image"], job["image_digest"]) == (NAME, None)
    assert told not in odd(owner)
    offered = f"The packages that the phase adds are offered by built as {NEW}."
    assert offered in words(owner, f"{BASE}/phases/feedback")
    assert found_of(pia, "imports", model) == []
    assert NAME in {one["image"] for one in site.client.get("/api/v1/sandbox").json()}
    act(owner, "pin-image")
    assert f"{NEW}, and no other" in words(pia, FEEDBACK)


def test_a_pin_of_another_list_is_told_and_without_a_list_the_usual_image_is_back(site: Site) -> None:
    owner = site.owner()
    set_packages(owner, "shot-grid==1.0")
    assert with_packages(site).claim() is None
    act(owner, "pin-image")
    other = set_packages(owner, "shot-grid==1.0\nmore==2")
    assert other["image_digest"] == NEW
    told = (
        f"The phase is pinned to {NEW}, which no worker calls {other['image']}: unpin it, or its runs may do without"
        " the packages that it adds."
    )
    assert told in odd(owner)
    assert set_packages(owner, "")["image"] is None
    assert told not in odd(owner)


def test_what_is_no_package_with_its_version_is_refused_with_its_line(site: Site) -> None:
    owner = site.owner()
    refused = set_packages(owner, "shot-grid==1.0\n-r more.txt", 422)
    assert "line 2, “-r more.txt”, is no package with its version: write a line like" in str(refused)
    known = owner.call("GET", f"{API}/phases/feedback").json()["settings"]
    known["machine"] |= {"packages": "shot-grid==1.0", "image": "torch-2022"}
    answer = owner.call("PUT", f"{API}/phases/feedback", json=known)
    assert answer.status_code == 422
    assert "packages are added to the release's image: leave torch-2022 out, or the packages" in answer.text


def test_an_operator_sees_what_is_asked_for_and_refuses_it_with_a_reason(site: Site) -> None:
    owner, adele = site.owner(), site.person("adele", is_site_admin=True)
    worker = site.worker("w")
    assert worker.call("GET", "/images/cpu").json() == []
    set_packages(owner, "shot-grid==1.0")
    asked = {
        "name": NAME,
        "packages": ["shot-grid==1.0"],
        "phases": [f"{SLUG}/feedback"],
        "workers": [],
        "refused": "",
    }
    assert worker.call("GET", "/images/cpu").json() == [asked]
    assert worker.call("GET", "/images/gpu").json() == []
    assert f"{NAME} shot-grid==1.0 {SLUG}/feedback asked for" in text_of(adele, "/admin/workers")

    acts, reason = f"/api/v1/admin/images/{NAME}/acts", "it reads files of others"
    silent = adele.call("POST", f"{acts}/off", json={})
    why = "Say why, as the reason: the organizers of the phases read it."
    assert (silent.status_code, silent.json()["message"]) == (409, why)
    assert adele.call("POST", f"{acts}/off", json={"reason": reason}).status_code == 200
    assert worker.call("GET", "/images/cpu").json() == [asked | {"refused": reason}]
    assert f"refused {reason}" in text_of(adele, "/admin/workers")
    assert (
        f"The operator refuses the packages of the phase: It reads files of others. Change the list; {WAITS}"
        in odd(owner)
    )
    assert adele.call("POST", f"{acts}/offer", json={}).status_code == 200
    assert worker.call("GET", "/images/cpu").json() == [asked]
    set_packages(owner, "")
    assert NAME not in page(owner, f"{BASE}/phases/feedback").text  # nobody can choose it without its list
    unknown = adele.call("POST", f"{acts}/off", json={"reason": reason})
    assert unknown.json()["message"] == "No phase asks for packages under this name."
