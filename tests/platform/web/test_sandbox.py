"""What submissions can import: a site says it, and checks a zip by it, as its workers tell of their images."""

from typing import Any

from anyshot_core.wire.inventory import shipped_inventory
from tests.platform.site import SLUG, Person, Site, make_zip

JAX = shipped_inventory().packages[0].model_copy(update={"name": "jax", "imports": ["jax"]})
TOLD = shipped_inventory().model_copy(update={"python": "3.12.1", "compiler": "g++ 14", "packages": [JAX]})
MODEL = b"import jax, kornia\nclass MyMetaLearner: pass\nclass MyLearner: pass\n"


def found_of(person: Person, check: str, model: bytes = MODEL) -> list[str]:
    """What one check of a zip for the phase found."""
    upload = person.upload(make_zip({"model.py": model}))
    where = {"competition": SLUG, "phase": "feedback"}
    checks: list[dict[str, Any]] = person.call(
        "POST", f"/api/v1/uploads/{upload}/check", params=where
    ).json()["checks"]
    return [one["found"] for one in checks if one["name"] == check]


def test_until_a_worker_tells_of_its_image_the_list_of_the_release_serves(site: Site) -> None:
    (listed,) = site.client.get("/api/v1/sandbox").json()
    assert (listed["image"], listed["hardware_class"]) == ("", "")
    assert listed["inventory"] == shipped_inventory().model_dump()
    page = " ".join(site.client.get("/sandbox").text.split())
    assert "no worker has told of its own yet" in page
    assert "<code>cv2</code>" in page and "<code>learn2learn</code> is absent" in page
    assert found_of(site.member("alice"), "imports") == [
        "model.py imports jax, which is neither in the zip nor known to be in the sandbox."
    ]


def test_what_a_worker_tells_of_its_image_is_shown_and_decides(site: Site) -> None:
    digest = "sha256:" + "1" * 64
    told = {"image_digests": {"": digest, "own": digest}, "inventories": {"own": TOLD.model_dump()}}
    worker = site.worker("w", images=("own",), **told)
    assert worker.claim() is None
    (listed,) = site.client.get("/api/v1/sandbox").json()
    assert listed == {"image": "own", "hardware_class": "cpu", "inventory": TOLD.model_dump()}
    page = " ".join(site.client.get("/sandbox").text.split())
    assert "Image own of cpu workers" in page and "Python 3.12.1, g++ 14" in page
    assert found_of(site.member("alice"), "imports") == [
        "model.py imports kornia, which is neither in the zip nor known to be in the sandbox."
    ]


def test_the_upload_page_leads_to_it(site: Site) -> None:
    page = site.client.get(
        f"/competitions/{SLUG}/phases/feedback/submit", headers=site.member("alice").headers
    ).text
    assert '<a href="/sandbox">What is in the sandbox</a>' in page


def test_a_call_for_a_gpu_is_warned_of_where_the_phase_has_none(site: Site) -> None:
    model, alice = MODEL + b"x.cuda()\n", site.member("alice")
    assert found_of(alice, "gpu", model) == [
        "`cuda()` in model.py, line 4 asks for a GPU, and this phase has none."
    ]
    site.set_version(gpus=1)
    assert found_of(alice, "gpu", model) == []
