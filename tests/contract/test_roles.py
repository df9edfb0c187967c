"""A phase names protocols for training and validation too: what they do not show reaches no submission's code."""

import html
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from anyshot_core.data.pack import Pack
from anyshot_core.protocols import protocol_from_dict
from anyshot_core.wire.jobs import LogPolicy
from anyshot_platform.contest.phases.actions.leaks import leaks
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.database import now
from tests.contract.stage import PROTOCOL, Stage
from tests.contract.test_jobs import submit, text_of
from tests.platform.admin.test_manage import phase_form, post
from tests.platform.site import SLUG, Person, make_zip
from tests.services.material import TEST, TRAIN
from tests.worker.test_query_order import COUNTING

SEEING = COUNTING.replace(
    "def meta_fit(self, train, valid): return MyLearner()",
    "def meta_fit(self, train, valid):\n"
    "        print('SEEN', sorted({task.dataset for task in train(40)}))\n"
    "        return MyLearner()",
)
TASKS = {"ways": [2, 5], "shots": [1, 3], "query": 10}


def domain_of(stage: Stage, name: str) -> str:
    return Pack.open(stage.packs[name], verify=False).domain


def one_pool_for_all(stage: Stage, part: str | None) -> str:
    """All datasets in one pool, to train and to test on; the domain that is held out for the test."""
    pool, domain = stage.make_pool("all", TRAIN + TEST), domain_of(stage, TEST[0])
    held = {"name": "held_out_domains", "domains": [domain], **TASKS}
    stage.site.set_version(
        meta_train_pool_version_id=pool,
        meta_test_pool_version_id=pool,
        protocol=held,
        train_protocol={**held, "part": part} if part else {},
    )
    return domain


def problems(stage: Stage) -> list[str]:
    with stage.site.services.database.reading() as session:
        version = session.get_one(Phase, stage.site.phase_id).versions[0]
        return [words for _, words in leaks(session, version)]


def test_training_sees_nothing_of_a_domain_that_is_held_out(stage: Stage) -> None:
    domain = one_pool_for_all(stage, "meta_train")
    stage.site.set_phase(hide_dataset_names=False, log_policy=LogPolicy.EVERYTHING)
    assert problems(stage) == []
    alice, entry = submit(stage, "alice", SEEING)
    worker = stage.worker()
    worker.work()
    (job,) = worker.wire.jobs
    assert job.train_protocol.part == "meta_train"
    assert stage.shown(alice, entry)["status"] == "finished", stage.shown(alice, entry)
    seen = re.search(r"SEEN \[(.*?)\]", stage.page(f"/submissions/{entry}", alice).replace("&#39;", "'"))
    assert seen is not None
    known = {name for name in TRAIN + TEST if domain_of(stage, name) != domain}
    assert {name.strip(" '") for name in seen[1].split(",")} == known and TEST[0] not in seen[1]


@pytest.mark.parametrize("published", [False, True])
def test_the_log_never_calls_a_training_set_as_a_hidden_one_is_called(stage: Stage, published: bool) -> None:
    """Public training sets keep their names; others have names that no results page gives to a hidden set."""
    stage.site.set_phase(hide_dataset_names=True, log_policy=LogPolicy.META_TRAIN)
    with stage.site.services.database.writing() as session:
        session.scalars(select(Pool).where(Pool.slug == "train")).one().published_at = (
            now() if published else None
        )
    alice, entry = submit(stage, "alice", SEEING)
    stage.worker().work()
    page = html.unescape(stage.page(f"/submissions/{entry}", alice))
    seen = re.search(r"SEEN \[(.*?)\]", page)
    assert seen is not None
    names = {name.strip(" '") for name in seen[1].split(",")}
    assert names == (set(TRAIN) if published else {f"Dataset {k + 1}" for k in range(len(TRAIN))})
    assert "Hidden 1" in page and not [name for name in TEST if name in page]


def test_a_phase_that_trains_on_what_it_tests_is_refused_in_words(stage: Stage) -> None:
    one_pool_for_all(stage, "meta_test")
    (words,) = problems(stage)
    assert TEST[0] in words and "would be trained on" in words and "tested on" in words


@pytest.mark.parametrize("role", ["train_protocol", "validation_protocol"])
def test_a_role_is_set_by_json_and_refused_with_a_split_of_its_own(stage: Stage, role: str) -> None:
    owner, path = stage.site.owner(), "/api/v1/competitions/small/manage/phases/feedback"
    kept = owner.call("GET", path).json()
    assert kept["settings"]["tasks"][role] == {}
    settings = kept["settings"]

    def put(protocol: dict[str, Any]) -> Any:
        return owner.call("PUT", path, json={**settings, "tasks": {**settings["tasks"], role: protocol}})

    changed = put(PROTOCOL)
    assert changed.status_code == 200, changed.text
    assert owner.call("GET", path).json()["settings"]["tasks"][role] == PROTOCOL
    wrong = {"name": "within_domain", "split_seed": 7}
    refused = put(wrong)
    assert refused.status_code == 422 and "the split is that of `protocol`" in refused.text
    page = stage.page("/competitions/small/phases/feedback")
    assert ("Training tasks" if role == "train_protocol" else "Validation tasks") in page


SPLIT = {"name": "class_side", "shares": [0.5, 0.25, 0.25], "query": 3}
THREE: dict[str, dict[str, Any]] = {
    "protocol": {**SPLIT, "side": "novel", "images": "all", "ways": [2, 2], "shots": [1, 1]},
    "train_protocol": {**SPLIT, "side": "base", "images": "trained", "ways": [3, 4], "shots": [2, 2]},
    "validation_protocol": {**SPLIT, "side": "valid", "images": "all", "ways": [2, 2], "shots": [1, 3]},
}
SHOWING = SEEING.replace(
    SEEING[SEEING.index("        print('SEEN'") : SEEING.index("        return MyLearner()")],
    "        def told(word, tasks):\n"
    "            ways, shots = ({getattr(task, name) for task in tasks} for name in ('num_ways', 'num_shots'))\n"
    "            print(word, sorted(ways), sorted(shots), len({task.dataset for task in tasks}), 'datasets')\n"
    "            return {image.numpy().tobytes() for task in tasks for image in task.query_set[0]}\n"
    "        both = told('TRAINED', list(train(60))) & told('VALIDATED', list(valid(60)))\n"
    "        print('CLASSES', self.total_classes, 'IMAGES OF BOTH', len(both))\n",
)
WISHES = '{"train_config": {"N": null, "min_N": 2, "max_N": 20}, "valid_config": {"N": null}}'
FILE = """\
anyshot: 1
slug: filed
title: Filed
pages:
  - {title: Overview, file: overview.md}
pools:
  - name: all
leagues:
  - {key: free, title: Free}
phases:
  - key: feedback
    title: Feedback
    start: 2026-01-01
    end: 2090-01-01
    budget: {run: 1min}
    tasks:
      meta_train: all
      meta_test: all
      count: 6
"""


def by_file(stage: Stage, owner: Person) -> str:
    """A competition of its own, whose file says the three."""
    rows = "".join(f"      {role}: {json.dumps(protocol)}\n" for role, protocol in THREE.items())
    content = make_zip({"competition.yaml": (FILE + rows).encode(), "overview.md": b"# Hello"})
    made = owner.call(
        "POST",
        "/organize/import",
        files={"bundle": ("filed.zip", content)},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert made.status_code == 303, made.text
    opened = owner.call("POST", "/api/v1/competitions/filed/manage/acts/publish")
    assert opened.status_code == 200, opened.text
    return "filed"


def by_api(stage: Stage, owner: Person) -> str:
    """The phase's JSON says the three."""
    path = f"/api/v1/competitions/{SLUG}/manage/phases/feedback"
    settings = owner.call("GET", path).json()["settings"]
    tasks = {**settings["tasks"], "meta_train": "all", "meta_test": "all", **THREE}
    sent = owner.call("PUT", path, json={**settings, "tasks": tasks})
    assert sent.status_code == 200, sent.text
    return SLUG


def by_form(stage: Stage, owner: Person) -> str:
    """The phase's page says the three."""
    fields: dict[str, object] = {"tasks.meta_train": "all", "tasks.meta_test": "all", "tasks.count": "6"}
    for role, protocol in THREE.items():
        fields[f"tasks.{role}.name"] = protocol["name"]
        for name, value in protocol.items():
            place = f"tasks.{role}.class_side.{name}"
            if name in ("ways", "shots"):
                fields |= {f"{place}.low": str(value[0]), f"{place}.high": str(value[1])}
            elif name == "shares":
                fields[place] = ", ".join(map(str, value))
            elif name != "name":
                fields[place] = str(value)
    sent = post(owner, f"/competitions/{SLUG}/manage/phases/feedback", **phase_form(**fields))
    assert sent.status_code == 303, text_of(sent.text)
    return SLUG


@pytest.mark.seconds("a site and a worker for each way")
@pytest.mark.parametrize("way", [by_file, by_api, by_form])
def test_three_protocols_reach_the_code_whichever_way_they_are_set(
    stage: Stage, way: Callable[[Stage, Person], str]
) -> None:
    """File, JSON and form: the job has the three with one secret split, and each is what the code sees of it."""
    stage.make_pool("all", TRAIN + TEST)
    slug = way(stage, stage.site.owner())
    alice = stage.site.person("alice")
    joined = alice.call("POST", f"/api/v1/competitions/{slug}/join", json={"accepts_terms": True})
    assert joined.status_code == 200, joined.text
    upload = alice.upload(make_zip({"model.py": SHOWING.encode(), "config.json": WISHES.encode()}))
    path = f"/api/v1/competitions/{slug}/phases/feedback/submissions"
    sent = alice.call("POST", path, json={"upload_id": upload})
    assert sent.status_code == 201, sent.text
    worker = stage.worker()
    worker.work()
    (job,) = worker.wire.jobs
    split = job.protocol.split_seed
    for role, protocol in THREE.items():
        assert {**getattr(job, role).to_dict(), "split_seed": split} == {
            **protocol_from_dict(protocol).to_dict(),
            "split_seed": split,
        }
        assert getattr(job, role).split_seed == split != 0
    entry = sent.json()["id"]
    assert stage.shown(alice, entry)["status"] == "finished", stage.shown(alice, entry)
    page = text_of(stage.page(f"/submissions/{entry}", alice))
    assert "TRAINED [3, 4] [2] 4 datasets" in page, page
    assert "VALIDATED [2] [1, 2, 3] 4 datasets" in page
    assert "CLASSES 16 IMAGES OF BOTH 0" in page  # half of the classes of each dataset


def test_the_page_of_a_phase_says_which_classes_each_role_shows(stage: Stage) -> None:
    stage.site.set_version(meta_train_pool_version_id=stage.pools["test"], **THREE)
    page = text_of(stage.page("/competitions/small/phases/feedback"))
    for role, side in (("Protocol", "novel"), ("Training tasks", "base"), ("Validation tasks", "validation")):
        assert f"{role} classes split into base and novel ones, {side} classes, " in page
