"""Every protocol that a phase may have is chosen by an organizer and carried out by a real worker."""

from typing import Any

import numpy as np
import pytest

from anyshot_core.data.pack import pack_dataset
from anyshot_core.protocols import NUMBER_MAKERS, PROTOCOLS
from tests.contract.stage import Stage
from tests.contract.test_jobs import text_of
from tests.contract.test_kinds import ask, shown_score
from tests.core.protocols.test_roles import annotate
from tests.core.tinydata import write_dataset
from tests.platform.site import make_zip
from tests.worker.test_query_order import COUNTING

TASKS = 4
SMALL = {"ways": [2, 2], "shots": [1, 1], "query": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "any_way_any_shot": SMALL,
    "fixed": SMALL,
    "held_out_domains": {**SMALL, "domains": ["Plants"]},
    "within_domain": SMALL,
    "legacy": {**SMALL, "tasks_per_dataset": 2},
    "class_side": {**SMALL, "side": "novel", "images": "all"},
    "base_novel": SMALL,
    "fixed_supports": {**SMALL, "shots": 1},
    "attribute_pairs": {"shots": 1, "query": 2, "least_images": 5},
    "writers": {"sizes": [6.0, 3.0, 3.0]},
}


@pytest.fixture
def annotated(stage: Stage) -> Stage:
    """The phase tests on two datasets of two domains, whose images have a writer and attributes."""
    for seed, domain in enumerate(("Plants", "Vehicles")):
        source = write_dataset(stage.folder / "data" / domain.upper(), classes=14, images=14, seed=seed)
        annotate(source, domain, np.random.default_rng(seed))
        stage.packs = {**stage.packs, domain: pack_dataset(source, stage.folder / f"{domain}.pack").path}
    stage.site.set_version(meta_test_pool_version_id=stage.make_pool("annotated", ("Plants", "Vehicles")))
    return stage


def add_phase(stage: Stage, protocol: dict[str, Any], status: int = 201) -> Any:
    """An organizer adds a phase with this protocol."""
    settings = ask(stage, "GET", "/phases/feedback")["settings"]
    tasks = {**settings["tasks"], "protocol": protocol, "count": TASKS}
    key = protocol["name"].replace("_", "-")
    return ask(stage, "POST", "/phases", {**settings, "key": key, "title": key, "tasks": tasks}, status)


@pytest.mark.slow("a real run for each protocol")
def test_every_protocol_on_offer_runs(annotated: Stage) -> None:
    assert set(SETTINGS) == set(PROTOCOLS)
    alice, worker = annotated.site.member("alice"), annotated.worker()
    for name, settings in SETTINGS.items():
        add_phase(annotated, {"name": name, **settings})
        phase = name.replace("_", "-")
        sent = alice.submit(make_zip({"model.py": COUNTING.encode()}), phase=phase)
        assert sent.status_code == 201, sent.text
        worker.work()
        seen = annotated.shown(alice, sent.json()["id"])
        assert (seen["status"], seen["verdict"]) == ("finished", "OK"), (name, seen)
        assert seen["runs"][0]["tasks_done"] == TASKS
        page = text_of(annotated.page(f"/competitions/small/leaderboard?phase={phase}"))
        assert shown_score(seen["score"]) in page and " alice " in page


@pytest.mark.parametrize("name", NUMBER_MAKERS)
def test_what_only_makes_numbers_is_refused_to_the_organizer_in_words(stage: Stage, name: str) -> None:
    refused = add_phase(stage, {"name": name}, status=422)
    assert "draws no images" in str(refused)
    page = stage.page("/competitions/small/manage/phases/feedback", stage.site.owner())
    assert f'value="{name}"' not in page and all(f'value="{offered}"' in page for offered in PROTOCOLS)
