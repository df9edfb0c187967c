"""Tasks that a phase's data do not have, or that have no score, are refused where they are set, in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.tinydata import write_pack
from tests.platform.admin.test_evaluation_pools import PHASE, act
from tests.platform.admin.test_leaking_images import page_text, pool_of
from tests.platform.admin.test_manage import BASE, flash, page, phase_form, post
from tests.platform.core.test_each_dataset import DATASETS, by_dataset
from tests.platform.site import Person, Site

FEEDBACK = f"{BASE}/phases/feedback"
MANAGE = "/api/v1/competitions/small/manage"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"ways.low": "1", "ways.high": "5"}, "ways must be at least 2 in tasks that are scored; found 1."),
        ({"query": "0"}, "query must be at least 1 in tasks that are scored; found 0."),
    ],
)
def test_tasks_that_nobody_could_score_are_refused_at_every_save(
    site: Site, setting: dict[str, str], words: str
) -> None:
    """They were taken. Each run trained for all its time, three times, and ended as an error of the platform."""
    owner = site.owner()
    form = phase_form(**{f"tasks.protocol.any_way_any_shot.{name}": value for name, value in setting.items()})
    assert words in post(owner, FEEDBACK, **form).text
    assert words in post(owner, FEEDBACK, act="version", **form).text
    assert words in post(owner, f"{BASE}/phases/new", **{**form, "key": "more"}).text
    protocol = {"name": "any_way_any_shot", "ways": [1, 5]} if "query" not in setting else {"query": 0}
    refused = owner.call(
        "PATCH", PHASE, json={"tasks": {"protocol": {"name": "any_way_any_shot", **protocol}}}
    )
    assert refused.status_code == 422 and words in json.dumps(refused.json())
    training = {"name": "any_way_any_shot", "ways": [1, 5]}  # which nobody scores
    assert owner.call("PATCH", PHASE, json={"tasks": {"train_protocol": training}}).status_code == 200


def two_tested(site: Site, **version: Any) -> Person:
    """The phase tests on two datasets, not dataset by dataset."""
    by_dataset(site)
    site.set_version(each_dataset=False, protocol={"name": "any_way_any_shot"}, tasks=10, **version)
    return site.owner()


def test_legacy_is_saved_with_the_tasks_of_all_its_datasets(site: Site) -> None:
    """By the defaults every task was of the first dataset, and the board looked sound."""
    owner = two_tested(site)
    form = phase_form(**{"tasks.protocol.name": "legacy", "tasks.count": "100"})
    words = "makes 200 tasks of this pool; found 100. Set the number of tasks to 200, or another"
    assert words in page_text(post(owner, FEEDBACK, **form).text)
    assert words in page_text(post(owner, FEEDBACK, act="version", **form).text)
    body: dict[str, Any] = {"protocol": {"name": "legacy"}, "count": 6000}
    refused = owner.call("PATCH", PHASE, json={"tasks": body}).json()
    assert "tasks.count" in json.dumps(
        refused
    ) and "found 6000. Set the number of tasks to 200" in json.dumps(refused)
    body["protocol"]["tasks_per_dataset"] = 3000
    assert owner.call("PATCH", PHASE, json={"tasks": body}).status_code == 200
    site.set_version(tasks=100)
    assert "makes 6000 tasks of this pool; found 100." in page_text(page(owner, BASE).text)


def test_dataset_by_dataset_each_has_a_task(site: Site) -> None:
    """One without ended the whole run, for settings that said nothing wrong."""
    by_dataset(site)
    owner = site.owner()
    refused = owner.call("PATCH", PHASE, json={"tasks": {"count": 1}})
    assert "each dataset needs a task: found 1 for 2 datasets." in json.dumps(refused.json())
    assert owner.call("PATCH", PHASE, json={"tasks": {"count": DATASETS}}).status_code == 200
    site.set_version(tasks=1)
    assert "each dataset needs a task: found 1 for 2 datasets." in page_text(page(owner, BASE).text)


SPLIT = {"ways": 2, "shots": 1, "query": 2}
MIXED = {"name": "base_novel", "shares": [0.5, 0, 0.5], **SPLIT}
VALID = {"name": "class_side", "side": "valid", "images": "all", **SPLIT}


@pytest.fixture
def split(site: Site, tmp_path: Path) -> Site:
    """A pool to train and to test on, of eight classes, and another one that has three."""
    pool_of(site, "split", write_pack(tmp_path, "Eight", seed=1, classes=8, images=12))
    pool_of(site, "scant", write_pack(tmp_path, "Three", seed=2, classes=3, images=12))
    tasks = {"meta_train": "split", "meta_test": "split", "protocol": MIXED}
    saved = site.owner().call("PATCH", PHASE, json={"tasks": tasks})
    assert saved.status_code == 200, saved.text
    return site


def test_a_side_of_a_split_without_classes_is_said_in_words(split: Site) -> None:
    """Saving answered with an error page."""
    owner = split.owner()
    refused = act(owner, "add-evaluation", evaluation="validation")
    assert refused.status_code == 409 and "Eight: found 0 valid classes; expected at least 2" in refused.text
    refused = owner.call("PATCH", PHASE, json={"tasks": {"evaluations": "validation"}})
    assert refused.status_code == 422 and "Evaluation validation: Eight: found 0 valid" in refused.text
    validated = {**VALID, "shares": [0.5, 0, 0.5]}
    refused = owner.call("PATCH", PHASE, json={"tasks": {"validation_protocol": validated}})
    assert refused.status_code == 422, refused.text
    words = "found 0 valid classes among 8, by class_side with the shares 0.5, 0, 0.5."
    assert f"Eight: {words}" in refused.text
    scant = {
        "meta_train": "scant",
        "protocol": {**MIXED, "shares": [0.5, 0.25, 0.25]},
        "validation_protocol": VALID,
    }
    refused = owner.call("PATCH", PHASE, json={"tasks": scant})
    assert refused.status_code == 422 and "Three: found 0 valid classes among 3" in refused.text
    split.set_version(validation_protocol=validated)
    assert words in page_text(page(owner, BASE).text)
    assert flash(post(owner, f"{BASE}/state", state="draft", confirm="small"))
    assert words in flash(post(owner, f"{BASE}/state", state="published"))
