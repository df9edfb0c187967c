"""The command that repeats a run: what its dry run does is what the run did, and the page says what is not."""

import html
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.demo_data import GENERATED_TEST_DATASETS
from anyshot_core.protocols import AnyWayAnyShot, FixedWaysShots, Range, WithinDomain
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.database import now
from anyshot_starting_kit.cli.dry_run import dry_run
from tests.platform.core.test_each_dataset import by_dataset
from tests.platform.site import MODEL, Person, Site, make_zip


def failed(site: Site, person: Person, **told: Any) -> tuple[str, str]:
    """What a failed run's page says beside its command, and the command."""
    shown, worker = person.submit().json(), site.worker()
    job = worker.claim()
    of_task: dict[str, Any] = {"task_index": None, "ways": None, "shots": None} | told
    assert job is not None and worker.fail(job, "RUNTIME_ERROR", **of_task).is_success
    (command, *_) = [
        run["reproduce"]
        for run in person.call("GET", f"/api/v1/submissions/{shown['id']}").json()["runs"]
        if run["reproduce"]
    ]
    page = person.call("GET", f"/submissions/{shown['id']}").text
    return html.unescape(" ".join(re.sub("<[^>]+>", " ", page).split())), command


def parsed(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The settings of a dry run, as its command line is read."""
    monkeypatch.chdir(folder)
    words = shlex.split(command.rpartition("&& ")[2])
    (folder / words[2]).write_bytes(make_zip({"model.py": MODEL}))
    (folder / "data" / "small").mkdir(parents=True)
    return dry_run.make_context("dry-run", words[2:]).params


@pytest.mark.parametrize("whole", [False, True], ids=["shared", "each has all"])
@pytest.mark.parametrize("public", [False, True])
def test_each_dataset_has_the_time_that_it_had(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: bool, whole: bool
) -> None:
    """A part's seconds were divided by the datasets once more."""
    alice = site.member("alice")
    by_dataset(site, budget_each_dataset=whole)
    with site.services.database.writing() as session:
        version = session.get_one(Phase, site.phase_id).versions[0]
        version.meta_train_pool_version_id = version.meta_test_pool_version_id
        assert version.meta_test is not None
        version.meta_test.pool.published_at = now() if public else None
    page, command = failed(site, alice)
    asked, datasets = parsed(command, tmp_path, monkeypatch), 2 if public else GENERATED_TEST_DATASETS
    seconds = 600.0 if whole else 300.0
    assert (asked["each_dataset"], asked["budget"] / datasets) == (True, seconds)
    told = "10 min" if whole else "5 min"
    assert f"In the command below each dataset has the time of this part of the run: {told}." in page
    assert "splits the classes in another way: the phase's split is secret." in page
    assert asked["protocol"] == WithinDomain() and "split_seed" not in command


def test_the_tasks_of_a_phase_with_fixed_ways_and_shots_are_repeated(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were repeated as 2 to 20 ways and 1 to 20 shots."""
    site.set_version(protocol={"name": "fixed", "ways": 6, "shots": 3, "query": 9})
    _, command = failed(site, site.member("alice"))
    asked = parsed(command, tmp_path, monkeypatch)
    assert asked["protocol"] == FixedWaysShots(Range(6, 6), Range(3, 3), 9)


def test_of_a_task_that_failed_ways_and_shots_are_repeated_in_the_protocol(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = site.member("alice")
    site.set_version(protocol={"name": "within_domain", "split": "70/15/15", "split_seed": 7})
    _, command = failed(site, alice, task_index=3, ways=7, shots=2)
    asked = parsed(command, tmp_path, monkeypatch)
    assert asked["protocol"] == WithinDomain(Range(7, 7), Range(2, 2), split="70/15/15")
    assert (asked["tasks"], asked["ways"], asked["shots"]) == (5, None, None)


def test_training_and_validation_protocols_are_repeated(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = {"name": "within_domain", "split": "70/15/15"}
    site.set_version(
        protocol={**parts, "split_seed": 7},
        train_protocol={**parts, "part": "meta_train"},
        validation_protocol={**parts, "part": "meta_valid"},
    )
    _, command = failed(site, site.member("alice"))
    asked = parsed(command, tmp_path, monkeypatch)
    assert asked["train_protocol"] == WithinDomain(split="70/15/15", part="meta_train")
    assert asked["validation_protocol"] == WithinDomain(split="70/15/15", part="meta_valid")


def test_held_out_domains_stay_hidden_and_the_page_says_what_takes_their_place(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.set_version(protocol={"name": "held_out_domains", "domains": ["secret moths"], "ways": [3, 4]})
    page, command = failed(site, site.member("alice"))
    assert "moths" not in page + command
    assert "cannot repeat the phase's protocol: its tasks are any-way any-shot." in page
    asked = parsed(command, tmp_path, monkeypatch)
    assert (asked["ways"], asked["protocol"]) == (Range(3, 4), None)


def test_the_page_says_that_meta_training_has_no_limit_at_home(site: Site) -> None:
    alice = site.member("alice")
    page, _ = failed(site, alice)
    assert "no limit on meta-training alone" not in page and "The command below" not in page
    site.set_version(meta_train_seconds=120.0)
    page, _ = failed(site, alice)
    assert "The command below has no limit on meta-training alone; this run had 2 min." in page


def test_the_usual_protocol_needs_no_words(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, command = failed(site, site.member("alice"))
    assert "protocol" not in command
    asked = parsed(command, tmp_path, monkeypatch)
    assert (asked["ways"], asked["shots"], asked["query"]) == (None, None, AnyWayAnyShot().query)
