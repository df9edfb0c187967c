"""The same images under other names: two packs, one training data and one test data, or one public and one hidden."""

import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from anyshot_core.data.pack import pack_dataset
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import add_pack, create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from tests.core.tinydata import info_of
from tests.platform.admin.test_manage import BASE, flash, page, phase_form, post
from tests.platform.site import Site

FEEDBACK = f"{BASE}/phases/feedback"
CLASSES = 4
EACH = 5


def drawn(folder: Path, name: str, seeds: list[int], ending: str = "png") -> Path:
    """A pack of pictures; a seed is a picture."""
    target = folder / name
    (target / "images").mkdir(parents=True)
    rows = ["FILE_NAME,CATEGORY"]
    for number, seed in enumerate(seeds):
        random = np.random.default_rng(seed)
        image = Image.new("RGB", (128, 128), tuple(random.integers(0, 256, 3).tolist()))
        for _ in range(9):
            x, y, width, height = random.integers((-20, -20, 20, 20), (110, 110, 90, 90)).tolist()
            colour = tuple(random.integers(0, 256, 3).tolist())
            ImageDraw.Draw(image).ellipse((x, y, x + width, y + height), fill=colour)
        image.save(target / "images" / f"{number}.{ending}")
        rows.append(f"{number}.{ending},class {number % CLASSES}")
    (target / "labels.csv").write_text("\n".join(rows) + "\n")
    (target / "info.json").write_text(json.dumps(info_of(name, CLASSES, len(seeds) // CLASSES)))
    return pack_dataset(target, folder / f"{name}.anyshot-pack").path


def pool_of(site: Site, slug: str, *paths: Path, public: bool = False) -> None:
    ids = [add_pack(site.services, path, site.owner_id).id for path in paths]
    with site.services.database.writing() as session:
        pool = create_pool(session, slug=slug, name=slug, owner_id=site.owner_id)
        pool.published_at = now() if public else None
        rows = [session.get_one(Pack, pack_id) for pack_id in ids]
        create_pool_version(session, pool, rows, created_by=site.owner_id)


SEEDS = list(range(CLASSES * EACH))
OTHERS = list(range(1000, 1000 + CLASSES * EACH))


def test_an_image_under_another_name_is_not_trained_and_tested_on(site: Site, tmp_path: Path) -> None:
    """The review's B5: a look-up table scored 1.000, and nothing compared but names and digests of whole packs."""
    owner = site.owner()
    pool_of(site, "training", drawn(tmp_path, "Seen", [*OTHERS[:-2], 3, 7]))
    pool_of(site, "testing", drawn(tmp_path, "Tested", SEEDS))
    leaking = phase_form(**{"tasks.meta_train": "training", "tasks.meta_test": "testing"})
    words = "2 images of Tested are in Seen too (pool training): image 3 (class 3) is image 18 (class 2)"
    assert words in page_text(post(owner, FEEDBACK, **leaking).text)
    assert words in page_text(post(owner, f"{BASE}/phases/new", **{**leaking, "key": "more"}).text)
    assert words in page_text(post(owner, FEEDBACK, act="version", **leaking).text)
    pool_of(site, "clean", drawn(tmp_path, "Clean", OTHERS))
    assert flash(post(owner, FEEDBACK, **{**leaking, "tasks.meta_train": "clean"})) == "Saved."


def page_text(text: str) -> str:
    return " ".join(text.split())


def test_what_is_not_shown_of_a_dataset_may_be_tested_elsewhere(site: Site, tmp_path: Path) -> None:
    """A protocol that splits classes shows parts of a dataset that both pools hold; of another it shows all."""
    owner = site.owner()
    both = drawn(tmp_path, "Both", SEEDS)
    split = phase_form(
        **{"tasks.meta_train": "one", "tasks.meta_test": "two", "tasks.protocol.name": "within_domain"}
    )
    pool_of(site, "one", both)
    pool_of(site, "two", both)
    assert flash(post(owner, FEEDBACK, **split)) == "Saved."
    site.set_version(train_protocol={"name": "any_way_any_shot"})
    assert "of its images would be trained on" in page_text(page(owner, BASE).text)
    site.set_version(train_protocol={})
    pool_of(site, "three", both, drawn(tmp_path, "Copy", [*OTHERS[:-4], 0, 1, 2, 3]))
    assert "in Copy too (pool three)" in page_text(
        post(owner, FEEDBACK, **{**split, "tasks.meta_train": "three"}).text
    )


def test_hidden_images_that_are_public_under_another_name(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    pool_of(site, "open", drawn(tmp_path, "Open", [*OTHERS[:-1], 11]), public=True)
    pool_of(site, "hidden", drawn(tmp_path, "Hidden", SEEDS))
    refused = page_text(post(owner, FEEDBACK, **phase_form(**{"tasks.meta_test": "hidden"})).text)
    assert "everybody has labels of it. 1 image of Hidden is in Open too (pool open)" in refused


def test_a_pool_is_not_published_while_its_images_are_tested_on(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    pool_of(site, "hidden", drawn(tmp_path, "Hidden", SEEDS))
    assert flash(post(owner, FEEDBACK, **phase_form(**{"tasks.meta_test": "hidden"}))) == "Saved."
    copy = drawn(tmp_path, "Copy", [*OTHERS[:-1], 11])
    pool_of(site, "later", copy)
    refused = owner.call("POST", "/api/v1/pools/later/acts/publish", json={"confirm": "later"})
    assert refused.status_code == 409 and "1 image of Copy is in Hidden too" in refused.text
    pool_of(site, "open", drawn(tmp_path, "Open", OTHERS), public=True)
    digest = owner.call("GET", "/api/v1/pools/later").json()["versions"][0]["packs"][0]["digest"]
    refused = owner.call("POST", "/api/v1/pools/open/acts/version", json={"packs": [digest]})
    assert refused.status_code == 409 and "This pool is public" in refused.json()["message"]
    hidden = owner.call("GET", "/api/v1/pools/hidden").json()["versions"][0]["packs"][0]["digest"]
    refused = owner.call("POST", "/api/v1/pools/open/acts/version", json={"packs": [hidden]})
    assert refused.status_code == 409 and "everybody would have its labels" in refused.json()["message"]


def test_a_stranger_learns_nothing_of_what_is_tested_on(site: Site, tmp_path: Path) -> None:
    """Whether a pool with a guess in it can be published must not tell whether the guess is right."""
    owner, sam = site.owner(), site.person("sam")
    pool_of(site, "hidden", drawn(tmp_path, "Hidden", SEEDS))
    assert flash(post(owner, FEEDBACK, **phase_form(**{"tasks.meta_test": "hidden"}))) == "Saved."
    assert sam.call("POST", "/api/v1/pools", json={"slug": "guess"}).status_code == 201
    content = drawn(tmp_path, "Guess", [*OTHERS[:-1], 11]).read_bytes()
    digest = sam.call("PUT", "/api/v1/pools/guess/packs", content=content).json()["digest"]
    assert sam.call("POST", "/api/v1/pools/guess/acts/version", json={"packs": [digest]}).status_code == 200
    published = sam.call("POST", "/api/v1/pools/guess/acts/publish", json={"confirm": "guess"})
    assert published.status_code == 200, published.text
    assert "1 image of Hidden is in Guess too" in page_text(page(owner, BASE).text)  # its organizers are told


def test_images_that_look_alike_are_a_warning_and_named_on_the_pools_page(site: Site, tmp_path: Path) -> None:
    owner = site.owner()
    pool_of(site, "open", drawn(tmp_path, "Open", [*OTHERS[:-1], 11], "jpg"), public=True)
    pool_of(site, "hidden", drawn(tmp_path, "Hidden", SEEDS))
    assert flash(post(owner, FEEDBACK, **phase_form(**{"tasks.meta_test": "hidden"}))) == "Saved."
    site.set_version(protocol={"name": "any_way_any_shot", "query": 4})  # its classes have five images
    words = "1 image of Hidden looks like one of Open (pool open): image 11 (class 3) looks like image 19 (class 3)."
    for path in (BASE, FEEDBACK, "/organize/pools/hidden"):
        assert words in page_text(page(owner, path).text), path
    state = owner.call("GET", "/api/v1/competitions/small/manage/state").json()
    assert state["missing"] == [] and any(words in odd for odd in state["odd"])
    found = owner.call("GET", "/api/v1/pools/hidden/overlaps").json()
    assert [(one["equal"], one["near"], one["words"]) for one in found["shared"]] == [(0, 1, words)]
    assert found["waiting"] == ["small-training"]  # a pack on paper, of the test's competition
    assert site.person("sam").call("GET", "/api/v1/pools/hidden/overlaps").status_code == 404
    # One pack waits for its fingerprints: the page must not say that none looks alike.
    assert "Nothing has been found so far" in page_text(page(owner, "/organize/pools/small-pool").text)


def test_what_one_dataset_holds_twice_is_a_warning(site: Site, tmp_path: Path) -> None:
    """An image that is drawn into support and query of one task is known before it is asked."""
    twice = [*SEEDS[:-2], 0, 5]  # the last two are images 0 and 5 again: one of another class, one of its own
    pool_of(site, "twice", drawn(tmp_path, "doubles", twice))
    found = site.owner().call("GET", "/api/v1/pools/twice/overlaps").json()["repeated"]
    words = (
        "2 images of doubles are in it twice; 2 pairs of two classes: image 18 (class 2) is image 0 (class 0), "
        "image 19 (class 3) is image 5 (class 1)."
    )
    assert [row["words"] for row in found] == [words]
    assert words in " ".join(page(site.owner(), "/organize/pools/twice").text.split())
    pool_of(site, "once", drawn(tmp_path, "singles", OTHERS))
    assert site.owner().call("GET", "/api/v1/pools/once/overlaps").json()["repeated"] == []
    assert "Within one dataset" not in page(site.owner(), "/organize/pools/once").text
