"""A meta-learner that saves itself while it trains: it ends as it would have ended without a break."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.taskserver.job import JobOutcome, Resumed
from anyshot_core.wire.verdicts import Verdict
from tests.core.conftest import Runs
from tests.core.taskserver.test_joined import RANDOM, same

# What it learns follows from the data in their order, from random numbers of each kind, and from how often it looked.
SAVING = RANDOM.replace(
    "    def meta_fit(self, meta_train_generator, meta_valid_generator):\n        return MyLearner()",
    """
    seen = trace = 0.0
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        for item in meta_train_generator(ITEMS):
            images = item[0] if isinstance(item, list) else item.query_set[0]
            self.trace = self.trace / 2 + images.mean().item() + random.random() + torch.rand(1).item()
            self.seen += 1
            self.log(item, images.mean((2, 3)))
            print("item", int(self.seen), flush=True)
            time.sleep(0.05)
        print("trace", self.seen, self.trace, flush=True)
        return MyLearner()
    def checkpoint(self, path):
        random.random()
        np.save(path + "/state.npy", np.array([self.seen, self.trace]))
    def resume(self, path):
        self.seen, self.trace = np.load(path + "/state.npy").tolist()
""",
    1,
).replace("import random\n", "import random, time\n", 1)


class Interrupted:
    """Stops a run when it has saved its training for the n-th time, and keeps what it saved."""

    def __init__(self, folder: Path, after: int) -> None:
        self.folder, self.after, self.count = folder, after, 0
        self.resumed = Resumed()

    def hooks(self) -> dict[str, Any]:
        return {"on_training": self.save, "cancelled": lambda: self.count >= self.after}

    def save(self, file: Path, so_far: JobOutcome) -> None:
        self.count += 1
        if self.count <= self.after:
            kept = shutil.copy(file, self.folder / f"kept-{self.after}.bin")
            self.resumed = Resumed((), so_far.time.participant, Path(kept), so_far.logger_tables)


def run(runs: Runs, model: str, folder: Path, config: str, **changes: Any) -> JobOutcome:
    files = {"config.json": config} if config else {}
    return runs.run(
        model, files=files, keep_training=folder / "training.bin", checkpoint_seconds=0.02, **changes
    )


def traces(runs: Runs) -> list[str]:
    return [line.text for line in runs.lines if line.text.startswith("trace")]


# Both for the tiny pool, whose classes have few images.
BATCHES = '{"train_data_format": "batch", "batch_size": 3, "validation_datasets": 0}'
TASKS = '{"validation_datasets": 0, "train_config": {"N": 2, "k": 1, "query_images_per_class": 2}}'


@pytest.mark.parametrize("config", [BATCHES, TASKS])
@pytest.mark.seconds("runs a submission four times")
def test_training_ends_the_same_whole_and_resumed_twice(runs: Runs, tmp_path: Path, config: str) -> None:
    model = SAVING.replace("ITEMS", "40")
    whole = runs.run(model, files={"config.json": config})
    assert whole.failure is None
    first = Interrupted(tmp_path, 1)
    assert run(runs, model, tmp_path, config, listening=first.hooks()).verdict is Verdict.CANCELLED
    second = Interrupted(tmp_path, 2)
    run(runs, model, tmp_path, config, listening=second.hooks(), resumed=first.resumed)
    last = run(runs, model, tmp_path, config, resumed=second.resumed)
    assert last.failure is None and all(map(same, whole.results, last.results))
    assert len(traces(runs)) == 2 and len(set(traces(runs))) == 1
    assert last.logger_tables == whole.logger_tables
    spent = [one.seconds["meta_fit"] for one in (first.resumed, second.resumed)]
    assert (
        0 < spent[0] < spent[1] < last.time.participant["meta_fit"] < 2 * whole.time.participant["meta_fit"]
    )


@pytest.mark.seconds("runs a submission three times")
def test_a_worker_that_stops_asks_for_a_last_checkpoint(runs: Runs, tmp_path: Path) -> None:
    """Nothing is done twice; code that cannot save itself is stopped at once."""
    model, seen = SAVING.replace("ITEMS", "400"), Interrupted(tmp_path, 1_000)

    def stops() -> bool:
        return any(line.text == "item 3" for line in runs.lines)

    files = {"config.json": BATCHES}
    kept = {"keep_training": tmp_path / "training.bin", "checkpoint_seconds": 60.0}
    outcome = runs.run(model, files=files, listening={"on_training": seen.save, "stops": stops}, **kept)
    assert outcome.verdict is Verdict.CANCELLED and seen.count == 1, outcome.failure
    done = sum(line.text.startswith("item") for line in runs.lines)
    runs.lines.clear()
    short = SAVING.replace("ITEMS", "20")
    assert runs.run(short, files=files, resumed=seen.resumed).failure is None
    items = [line.text for line in runs.lines if line.text.startswith("item")]
    assert items[0] == f"item {done + 1}" and items[-1] == "item 20"
    plain = model.replace("def resume", "def goes_on")
    assert runs.run(plain, files=files, listening={"stops": stops}, **kept).verdict is Verdict.CANCELLED


@pytest.mark.seconds("runs a submission three times")
def test_a_trial_shows_what_is_wrong_with_saving(runs: Runs) -> None:
    """A real run goes on without checkpoints; the trial fails, since `resume` runs only when a worker was lost."""
    model, files = SAVING.replace("ITEMS", "3"), {"config.json": BATCHES}
    assert runs.run(model, files=files, try_checkpoint=True).failure is None
    forgetful = model.replace('np.load(path + "/state.npy")', 'np.load(path + "/other.npy")')
    failure = runs.run(forgetful, files=files, try_checkpoint=True).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR and "other.npy" in failure.message
    broken = SAVING.replace("ITEMS", "30").replace("        random.random()\n", "        1 / 0\n")
    outcome = run(runs, broken, runs.folder, BATCHES)
    assert outcome.failure is None
    assert any("No more checkpoints are taken" in line.text for line in runs.lines)
