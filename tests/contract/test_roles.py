"""A phase names protocols for training and validation too: what they do not show reaches no submission's code."""

from __future__ import annotations

import re
from typing import Any

import pytest

from anyshot_core.data.pack import Pack
from anyshot_core.wire.jobs import LogPolicy
from anyshot_platform.judging import releases
from anyshot_platform.organizers.phases.leaks import leaks
from anyshot_platform.phases.models import Phase
from tests.contract.stage import PROTOCOL, Stage
from tests.contract.test_jobs import submit
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


def test_a_phase_that_trains_on_what_it_tests_is_refused_in_words(stage: Stage) -> None:
    one_pool_for_all(stage, "meta_test")
    (words,) = problems(stage)
    assert TEST[0] in words and "would be trained on" in words and "tested on" in words


def test_a_worker_that_would_show_everything_gets_no_such_run(stage: Stage) -> None:
    one_pool_for_all(stage, "meta_train")
    submit(stage, "alice", SEEING)
    worker = stage.worker()
    older = worker.announced.model_copy(update={"version": releases.ROLES - 1})
    assert worker.client.claim(older) is None
    newer = stage.worker("newer")
    assert newer.client.claim(newer.announced) is not None


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
