"""Within one domain: whoever trains on a dataset that is tested gets the training classes of it alone."""

import threading
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from anyshot_core.data.pack import Pack
from anyshot_core.protocols.task import dataset_in_turn
from anyshot_core.results import read_results
from anyshot_core.wire.jobs import Budget, Evaluate, JobKind, PackRef
from anyshot_worker.attempt import BadAssignment, Site
from anyshot_worker.carry_out import carry_out
from anyshot_worker.client import WorkerClient
from anyshot_worker.materials import gather_materials
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.scores import expected_tasks
from anyshot_worker.workspace import HeldFiles, Workspace
from tests.services.material import TEST, TRAIN, zip_folder
from tests.worker.paper_platform import PaperPlatform

WITHIN = {"name": "within_domain", "ways": 3, "shots": 2, "query": 5, "split_seed": 7}
LOOKS = """
from api import *
import numpy as np
class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        labels = set()
        for images, targets in train(200):
            labels |= set(np.asarray(targets).tolist())
        print("classes to train on:", len(labels), flush=True)
        return MyLearner()
class MyLearner(Learner):
    def fit(self, support): return Guess(support[3])
    def save(self, path): pass
    def load(self, path): pass
class Guess(Predictor):
    def __init__(self, ways):
        super().__init__()
        self.ways = ways
    def predict(self, query): return np.zeros((len(query), self.ways))
"""


def assignment(platform: PaperPlatform, packs: dict[str, Path], bundle: Path, **changes: Any) -> Evaluate:
    def refs(names: tuple[str, ...]) -> list[PackRef]:
        return [PackRef(name=name, domain="d", blob=platform.keep(packs[name])) for name in names]

    values: dict[str, Any] = {
        "submission": platform.keep(bundle),
        "meta_train": refs(TEST),
        "meta_test": refs(TEST),
        "protocol": WITHIN,
        "tasks": 6,
        "query_key": "5e" * 32,
        "fingerprint": "f1" * 32,
        "budget": Budget(run_seconds=60),
    }
    return platform.job(JobKind.EVALUATE, **(values | changes))


def bundle_of(folder: Path, text: str) -> Path:
    (folder / "code").mkdir()
    (folder / "code" / "model.py").write_text(text)
    (folder / "code" / "config.json").write_text('{"train_data_format": "batch"}')
    return zip_folder(folder / "code", folder / "code.zip")


def test_training_packs_hold_none_of_the_tested_classes(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    platform = PaperPlatform()
    workspace = Workspace(tmp_path / "workspace", 1 << 30, platform)
    bundle = bundle_of(tmp_path, LOOKS)
    job = assignment(platform, demo_packs, bundle)
    materials = gather_materials(job, HeldFiles(workspace))
    tested = {
        (spec.dataset, int(c))
        for spec in job.protocol.tasks(materials.test_pool, 3, 40)
        for c in spec.classes
    }
    for place, path in enumerate(materials.train_packs):
        part, whole = Pack.open(path, verify=True), materials.test_pool[place]
        assert part.name == whole.name
        assert len(part.classes) == 4  # half of eight
        own = {whole.classes[c] for dataset, c in tested if dataset == place}
        assert own
        assert not own & set(part.classes)
    again = gather_materials(assignment(platform, demo_packs, bundle), HeldFiles(workspace))
    assert again.train_packs == materials.train_packs  # made once
    other = gather_materials(
        assignment(platform, demo_packs, bundle, protocol={**WITHIN, "split_seed": 8}), HeldFiles(workspace)
    )
    assert other.train_packs != materials.train_packs


def test_a_dataset_that_is_not_tested_is_given_whole(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    platform = PaperPlatform()
    workspace = Workspace(tmp_path / "workspace", 1 << 30, platform)
    refs = [PackRef(name=name, domain="", blob=platform.keep(demo_packs[name])) for name in TRAIN]
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), meta_train=refs)
    materials = gather_materials(job, HeldFiles(workspace))
    for name, path in zip(TRAIN, materials.train_packs, strict=True):
        np.testing.assert_array_equal(Pack.open(path).labels, Pack.open(demo_packs[name]).labels)


def test_a_split_that_leaves_too_little_is_the_organizers_to_mend(
    demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    platform = PaperPlatform()
    workspace = Workspace(tmp_path / "workspace", 1 << 30, platform)
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), protocol={**WITHIN, "ways": 5})
    with pytest.raises(BadAssignment, match="found 4 classes in meta_test"):
        gather_materials(job, HeldFiles(workspace))


def finish(platform: PaperPlatform, job: Evaluate, folder: Path) -> None:
    """A worker without a sandbox carries a job out."""
    settings = SandboxSettings(
        sandbox="trusted", trust_all_submissions=True, state_folder=folder / "state", pool_size=0
    )
    client = cast(WorkerClient, platform)
    sandboxes = Sandboxes.from_settings(settings)
    try:
        workspace = Workspace(folder / "workspace", 1 << 30, client)
        carry_out(job, Site("tester", client, workspace, sandboxes, threading.Event()))
    finally:
        sandboxes.close()


def test_a_submission_meets_half_of_the_classes_in_training_and_is_scored_on_the_others(
    demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    platform = PaperPlatform()
    finish(platform, assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS)), tmp_path)
    assert not platform.failed, platform.failed[0].message + platform.failed[0].detail
    assert "classes to train on: 8" in platform.artifacts["log.txt"].decode()  # four of each dataset
    assert platform.scored[0].tasks == 6


def test_one_dataset_is_trained_on_and_tested_alone(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    platform = PaperPlatform()
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), dataset=1, tasks=7)
    finish(platform, job, tmp_path)
    assert not platform.failed, platform.failed[0].message + platform.failed[0].detail
    assert "classes to train on: 4" in platform.artifacts["log.txt"].decode()
    (tmp_path / "results.parquet").write_bytes(platform.artifacts["results.parquet"])
    table, _ = read_results(tmp_path / "results.parquet")
    assert isinstance(job.test_seed, int)
    own = [index for index in range(7) if dataset_in_turn(job.test_seed, index, range(len(TEST))) == 1]
    assert table.task.tolist() == own
    assert set(table.dataset.tolist()) == {TEST[1]}


SIDES = {"name": "class_side", "side": "novel", "images": "all", "ways": 2, "shots": 1, "query": 5}
LEGACY = {"name": "legacy", "tasks_per_dataset": 2, "ways": 2, "shots": 1, "query": 5}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"protocol": {**WITHIN, "ways": [1, 3]}},
            "ways must be at least 2 in tasks that are scored; found 1",
        ),
        ({"protocol": {**WITHIN, "query": 0}}, "query must be at least 1 in tasks that are scored; found 0"),
        ({"protocol": LEGACY}, "tasks_per_dataset 2 makes 4 tasks of this pool; found 6"),
        ({"protocol": {**SIDES, "shares": [0, 0, 1]}}, "found 0 base classes among 8, by class_side"),
        (
            {
                "protocol": SIDES,
                "validation_protocol": {**SIDES, "side": "valid", "shares": [0.5, 0, 0.5]},
            },
            "found 0 valid classes among 8, by class_side with the shares 0.5, 0, 0.5",
        ),
    ],
)
def test_tasks_that_cannot_be_drawn_or_scored_are_refused_before_anything_is_trained(
    demo_packs: dict[str, Path], tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Each run of these trained for all of its time, three times over, and ended as a failure of the platform."""
    platform = PaperPlatform()
    workspace = Workspace(tmp_path / "workspace", 1 << 30, platform)
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), **changes)
    with pytest.raises(BadAssignment, match=message) as refused:
        gather_materials(job, HeldFiles(workspace))
    assert refused.value.verdict == "BAD_SETTINGS"


def test_a_dataset_without_a_task_is_said_in_words(demo_packs: dict[str, Path], tmp_path: Path) -> None:
    platform = PaperPlatform()
    seed = next(seed for seed in range(9) if dataset_in_turn(seed, 0, range(len(TEST))) == 0)
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), dataset=1, tasks=1, test_seed=seed)
    finish(platform, job, tmp_path)
    (failed,) = platform.failed
    assert (failed.verdict, failed.message) == (
        "BAD_SETTINGS",
        "There are fewer tasks than datasets: set their number.",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"meta_train": []}, "not in the pool to train on"),
        ({"protocol": {"name": "any_way_any_shot", "ways": 3, "shots": 2, "query": 5}}, "splits no dataset"),
    ],
)
def test_a_dataset_that_leaves_nothing_to_train_on_is_the_organizers_to_mend(
    demo_packs: dict[str, Path], tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    platform = PaperPlatform()
    workspace = Workspace(tmp_path / "workspace", 1 << 30, platform)
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), dataset=0, **changes)
    with pytest.raises(BadAssignment, match=message):
        gather_materials(job, HeldFiles(workspace))


def test_a_shard_that_does_not_start_at_the_first_task_is_scored(
    demo_packs: dict[str, Path], tmp_path: Path
) -> None:
    platform = PaperPlatform()
    job = assignment(platform, demo_packs, bundle_of(tmp_path, LOOKS), shard=(2, 5))
    assert list(expected_tasks(job)) == [2, 3, 4]
