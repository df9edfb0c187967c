"""What submissions of 2022 rely on, written as submissions that check it themselves."""

import re
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from anyshot_core.bundle import check_bundle
from anyshot_core.bundle.pack import pack_folder
from anyshot_core.protocols import AnyWayAnyShot, Range
from anyshot_core.protocols.legacy import Legacy
from anyshot_core.taskserver.scores import collect
from anyshot_core.taskserver.server import serve
from anyshot_core.taskserver.tasks import PoolTasks
from tests.core.conftest import HONEST, Runs

BUNDLES = Path(__file__).parents[2] / "bundles"
META_FIT = "        return MyLearner()\n"
GUIDE = Path(__file__).parents[3] / "docs/participants/submission.md"


def checking(code: str, prelude: str = "") -> str:
    """A submission whose meta_fit runs `code`."""
    body = "\n".join(f"        {line}" for line in code.strip().splitlines())
    return prelude + HONEST.replace(META_FIT, f"{body}\n{META_FIT}")


@pytest.mark.seconds("a submission in a child process")
def test_the_model_of_the_guide_runs_as_it_stands_on_its_page(runs: Runs) -> None:
    """Who copies it begins with a submission that trains and answers every task."""
    (model,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len([line for line in model.splitlines() if line.strip()]) < 30
    few_images = '{"train_config": {"query_images_per_class": 5}}'  # the data have twelve a class
    outcome = runs.run(model, files={"config.json": few_images})
    assert outcome.failure is None, outcome.failure
    assert len(outcome.results) == 6


PLACES = """
import os, sys
program = os.path.dirname(os.path.abspath(__file__))
assert sys.path[1] == program, sys.path
assert os.path.basename(program) == "program" and os.path.dirname(program) == os.getcwd()
assert open("notes.txt").read() == open("program/notes.txt").read() == "hello"
open("scratch.bin", "w").write("x")
open(program + "/own.bin", "w").write("x")
open(program + "/../../log.txt", "w").write("x")
home = os.path.expanduser("~")
for folder in (home, os.environ["TORCH_HOME"], os.environ["XDG_CACHE_HOME"], os.environ["TMPDIR"], logger.logs_dir):
    open(os.path.join(folder, "probe"), "w").write("x")
assert os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] == "1"
import helper, api
assert helper.__file__ == os.path.join(program, "helper.py")
assert api.MetaLearner is MetaLearner
"""


def test_places(runs: Runs) -> None:
    model = checking("assert True").replace(
        "class MyMetaLearner(MetaLearner):",
        "class MyMetaLearner(MetaLearner):\n    def __init__(self, train_classes, total_classes, logger):\n"
        "        super().__init__(train_classes, total_classes, logger)\n"
        + "\n".join(f"        {line}" for line in PLACES.strip().splitlines())
        + "\n",
    )
    outcome = runs.run(model, files={"notes.txt": "hello", "helper.py": "x = 1\r\ny = 2\r\n"})
    assert outcome.failure is None, outcome.failure


TASKS = """
import inspect
assert self.train_classes == 2 and self.total_classes == 5, (self.train_classes, self.total_classes)
first, second = list(meta_train_generator(4)), list(meta_train_generator(3))
assert len(first) == 4 and len(second) == 3
assert all(torch.equal(a.support_set[0], b.support_set[0]) for a, b in zip(first, second))
task = first[0]
assert task.num_ways == 2 and task.num_shots == 1 and task.original_class_idx.shape == (2,)
for images, labels, original in (task.support_set, task.query_set):
    assert images.dtype == torch.float32 and images.shape[1:] == (3, 128, 128)
    assert 0 <= images.min() and images.max() <= 1
    assert labels.dtype == torch.int64 and original.dtype == torch.int64
    assert [int(task.original_class_idx[l]) for l in labels] == original.tolist()
assert len(task.query_set[0]) == 4
assert task.dataset in ("Dataset 1", "Dataset 2")
valid = list(meta_valid_generator(2))
assert [t.num_ways for t in valid] == [3, 3]
"""


def test_task_format(runs: Runs) -> None:
    config = """{"validation_datasets": 1, "train_config": {"N": 2, "k": 1, "query_images_per_class": 2},
                 "valid_config": {"N": 3, "k": 1, "query_images_per_class": 2}, "own": 5}"""
    outcome = runs.run(checking(TASKS), files={"config.json": config})
    assert outcome.failure is None, outcome.failure


PROTOCOLS = """
assert self.train_classes is None and self.total_classes == 10, (self.train_classes, self.total_classes)
seen = list(meta_train_generator(30))
assert {t.dataset for t in seen} == {"Dataset 1", "Dataset 2"}, "validation_datasets took a dataset away"
assert {t.num_ways for t in seen} == {2, 3}, {t.num_ways for t in seen}
assert {(t.num_shots, len(t.query_set[0]) // t.num_ways) for t in seen} == {(2, 3)}
valid = list(meta_valid_generator(20))
assert {t.num_ways for t in valid} == {3, 4} and {t.num_shots for t in valid} == {1}, valid
assert {len(t.query_set[0]) // t.num_ways for t in valid} == {2}
known = {images.numpy().tobytes() for t in seen for images in t.query_set[0]}
assert not known & {images.numpy().tobytes() for t in valid for images in t.query_set[0]}
"""


def test_protocols_of_a_phase_and_the_wishes_within_them(runs: Runs, packs: tuple[Path, ...]) -> None:
    """Each generator has the phase's ranges, narrowed to what config.json asks for; no dataset is taken away."""
    config = """{"validation_datasets": 1,
                 "train_config": {"N": null, "min_N": 1, "max_N": 3, "k": 2, "query_images_per_class": 3},
                 "valid_config": {"min_N": 3, "max_N": 20, "k": 9, "query_images_per_class": 2}}"""
    outcome = runs.run(
        checking(PROTOCOLS),
        files={"config.json": config},
        train_protocol=AnyWayAnyShot(Range(2, 5), Range(1, 3), 4),
        validation_protocol=AnyWayAnyShot(Range(2, 4), Range(1, 1), 5),
        validation_packs=packs[3:],
    )
    assert outcome.failure is None, outcome.failure


def test_more_datasets_held_out_than_there_are_fail_only_where_config_json_decides(
    runs: Runs, packs: tuple[Path, ...]
) -> None:
    """A wish that would leave nothing to train on is no fault where the phase says what is validated on."""
    config, few = {"config.json": '{"validation_datasets": 2}'}, AnyWayAnyShot(Range(2, 2), Range(1, 1), 2)
    outcome = runs.run(files=config, validation_protocol=few, validation_packs=packs[3:])
    assert outcome.failure is None, outcome.failure
    refused = runs.run(files=config)
    assert refused.failure is not None and "validation_datasets is 2" in refused.failure.message


BATCHES = """
assert self.train_classes == self.total_classes == 10
assert meta_valid_generator is None
seen, sizes = [], []
for count in (3, 4, 3):
    for batch in meta_train_generator(count):
        assert isinstance(batch, list) and batch[0].dtype == torch.float32
        assert batch[1].dtype == torch.int64 and batch[1].shape == (len(batch[0]),)
        sizes.append(len(batch[0]))
        seen += batch[1].tolist()
assert sizes == [16] * 7 + [8] + [16] * 2, sizes
assert sorted(seen[:120]) == sorted(list(range(10)) * 12)
"""


def test_batch_format_goes_on_from_call_to_call(runs: Runs) -> None:
    outcome = runs.run(checking(BATCHES), files={"config.json": '{"train_data_format": "batch"}'})
    assert outcome.failure is None, outcome.failure


def test_random_numbers_start_from_the_training_seed(runs: Runs) -> None:
    draw = "import random\nprint('drawn', random.random(), np.random.rand(), torch.rand(1).item())\n"

    def drawn(seed: int) -> list[str]:
        runs.lines.clear()
        outcome = runs.run(
            HONEST.replace("class MyMetaLearner", f"{draw}\nclass MyMetaLearner"), train_seed=seed
        )
        assert outcome.failure is None, outcome.failure
        (line,) = [line.text for line in runs.lines if line.text.startswith("drawn")]
        return line.split()[1:]

    first, again, other = drawn(1), drawn(1), drawn(2)
    assert first == again
    assert len(first) == 3 and not set(first) & set(other)


def test_a_trial_run_yields_no_more_than_it_may(runs: Runs) -> None:
    code = "assert len(list(meta_train_generator(30000))) == 2"
    outcome = runs.run(checking(code), files={"config.json": '{"train_data_format": "batch"}'}, max_items=2)
    assert outcome.failure is None, outcome.failure


ONE_PROCESS = """
import os
import torch
pid = os.getpid()
torch.manual_seed(98)
drawn = [torch.rand(1).item() for _ in range(3)]
torch.manual_seed(98)
seen = []
"""


def test_one_process_from_import_to_the_last_prediction(runs: Runs) -> None:
    """By the protocol of 2022 random numbers run on from the import; by others they start anew with each task."""
    model = ONE_PROCESS + HONEST.replace(
        "        X, y, original_y",
        "        assert os.getpid() == pid\n        seen.append(torch.rand(1).item())\n"
        "        assert seen == drawn[: len(seen)] or len(seen) > 3\n        X, y, original_y",
    )
    model = model.replace(
        "        means = torch.stack",
        "        assert torch.equal(y, original_y)\n        means = torch.stack",
    )
    legacy = replace(runs.tasks, protocol=Legacy(3, Range(2, 3), Range(1, 2), 3))
    assert runs.run(model, tasks=legacy).failure is None
    anew = runs.run(model).failure
    assert anew is not None and "AssertionError" in anew.message


PICKLED = HONEST.replace(
    'open(path_to_save + "/learner", "w").close()', 'torch.save(helper.Net(), path_to_save + "/net.pt")'
).replace(
    'open(path_to_load + "/learner").close()',
    'assert type(torch.load(path_to_load + "/net.pt")).__module__ == "helper"',
)


def test_whole_modules_are_pickled_under_top_level_names(runs: Runs) -> None:
    helper = "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n"
    assert runs.run("import helper\n" + PICKLED, files={"helper.py": helper}).failure is None
    assert runs.run("import helper\n" + PICKLED, files={"helper.py": helper}, isolated=True).failure is None


def test_predictor_without_base_class_and_learner_without_super(runs: Runs) -> None:
    model = HONEST.replace("class MyPredictor(Predictor)", "class Odd").replace(
        "MyPredictor(means)", "Odd(means)"
    )
    assert runs.run(model).failure is None


@pytest.mark.parametrize("folder", sorted(path.name for path in BUNDLES.iterdir() if path.is_dir()))
@pytest.mark.parametrize("top", ["", "my_submission/"], ids=["flat", "in a folder"])
def test_sample_bundles_end_as_they_state(runs: Runs, tmp_path: Path, folder: str, top: str) -> None:
    expected = tomllib.loads((BUNDLES / folder / "expected.toml").read_text())
    flat = tmp_path / "flat.zip"
    pack_folder(BUNDLES / folder, flat)
    path = tmp_path / "sample.zip"
    with zipfile.ZipFile(flat) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(top + name, source.read(name))
    assert check_bundle(path).ok is (expected["verdict"] != "BAD_ARCHIVE")
    if expected["verdict"] == "BAD_ARCHIVE":
        return
    job = replace(runs.job, bundle=path, packs=runs.job.packs * 2)
    channel = runs.open_channel()
    try:
        outcome = serve(channel, job)
    finally:
        channel.close()
    assert outcome.verdict == expected["verdict"], outcome.failure
    if outcome.failure is None:
        assert isinstance(job.tasks, PoolTasks)
        pool = job.tasks.pool
        table = collect(outcome.results, job.tasks, pool.names, [p.domain for p in pool]).score()
        assert (table.normalized_accuracy.mean() > 0.2) == expected["above_chance"]


KEEPS = """
kept = list(meta_train_generator(6))
sums = [t.support_set[0].double().sum().item() + t.query_set[0].double().sum().item() for t in kept]
for task in meta_train_generator(6):
    task.support_set[0].zero_()
again = [t.support_set[0].double().sum().item() + t.query_set[0].double().sum().item() for t in kept]
assert sums == again
"""

KEEPS_TESTED = """
import torch
KEPT = []


def same(images):
    KEPT.append((images, images.clone()))
    assert all(torch.equal(now, then) for now, then in KEPT)


"""


def test_images_may_be_kept_for_as_long_as_a_submission_likes(runs: Runs) -> None:
    """Memory is used again between tasks, but never while somebody holds a tensor on it."""
    model = KEEPS_TESTED + checking(KEEPS)
    model = model.replace(
        "def fit(self, support_set):", "def fit(self, support_set):\n        same(support_set[0])"
    )
    model = model.replace(
        "def predict(self, query_set):", "def predict(self, query_set):\n        same(query_set)"
    )
    assert model.count("        same(") == 2
    config = """{"train_config": {"N": 2, "k": 1, "query_images_per_class": 2}}"""
    outcome = runs.run(model, files={"config.json": config})
    assert outcome.failure is None, outcome.failure
    assert len(outcome.results) > 1
