"""What a dry run exports is what `anyshot analyse` reads, straight from its folder: answers known beforehand."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from anyshot_core.baselines import find_baselines, pack_baseline
from anyshot_core.command import main
from anyshot_core.protocols.keys import draw_mark
from anyshot_core.results import read_predictions
from anyshot_studies.experiment.arms import Arm
from tests.baselines.trial import FOLDER
from tests.core.conftest import HONEST
from tests.core.tinydata import write_dataset

pytestmark = [
    pytest.mark.rotating(together=True),  # on runs of real runners, which the file shares
    pytest.mark.seconds("real runners export what is read"),
]

LEARNED = ("train_from_scratch", "fine_tuning")  # whose model is the backbone itself
SPLIT = "ways=2 shots=4 query=2 held_back=0.3"
# Three moments of training: useless, good, overtrained, while the loss falls. The layers are known functions of images.
TRAINED = """
import numpy as np
import torch
from api import Learner, MetaLearner, Predictor
from anyshot_starting_kit.snapshots import checkpoint

TURN = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))[0]


class MyMetaLearner(MetaLearner):
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        for good, loss in ((False, 0.9), (True, 0.5), (False, 0.1)):
            checkpoint(MyLearner(good), loss)
        return MyLearner(True)


class MyLearner(Learner):
    def __init__(self, good=False):
        self.good = good

    def features(self, images):
        corners = torch.stack([images[:, :, 0, 0], images[:, :, 9, 9], images[:, :, 99, 99]], dim=2)
        return {"corners": corners.flatten(1)[:, :3] @ MATRIX, "pixels": images[:, 0, 0, :5]}

    def fit(self, support_set):
        X, y, original_y, n_ways, k_shots = support_set
        return MyPredictor(torch.stack([X[y == label].mean() for label in range(n_ways)]), self.good)

    def save(self, path_to_save):
        open(path_to_save + "/learner", "w").write(str(int(self.good)))

    def load(self, path_to_load):
        self.good = open(path_to_load + "/learner").read() == "1"


class MyPredictor(Predictor):
    def __init__(self, means, good):
        self.means, self.good = means, good

    def predict(self, query_set):
        logits = -(query_set.mean((1, 2, 3))[:, None] - self.means[None]).abs().numpy()
        return logits if self.good else 0 * logits
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Data, and dry runs of two submissions whose layers are turned against one another.

    Runners are real, and start warm, which is why this takes seconds.
    """
    folder = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.chdir(folder)
        prepare(folder)
        yield folder


def prepare(folder: Path) -> None:
    write_dataset(folder / "data" / "ONE", classes=16, images=20, seed=1)
    write_dataset(folder / "data" / "OTHER", classes=4, images=9, seed=2)
    (folder / "data" / "info").mkdir()
    splits = {"meta-train": ["OTHER"], "meta-test": ["ONE"]}
    (folder / "data" / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    for name, matrix in (("one", "torch.eye(3)"), ("two", "TURN")):
        write_submission(folder / name, TRAINED.replace("MATRIX", matrix))
        done = dry_run(name, "--snapshots", "3", "--features", "--estimates")
        assert done.exit_code == 0, done.output


def write_submission(folder: Path, code: str) -> None:
    folder.mkdir()
    (folder / "model.py").write_text(code)


def dry_run(name: str, *words: str) -> Result:
    protocols = ["--protocol", f"class_side side=novel images=all {SPLIT}"]
    protocols += ["--train-protocol", f"class_side side=base {SPLIT}"]
    words = ("--data", "data", "--tasks", "8", "-o", f"out-{name}", *protocols, *words)
    return CliRunner().invoke(main, ["dry-run", name, *words])


def test_snapshots_are_advised_on_straight_from_the_folder(folder: Path) -> None:
    """The second is perfect on every kind of class, the others guess: it is advised, against the falling loss."""
    advice = CliRunner().invoke(main, ["analyse", "snapshots", "out-one", "--out", "advice"])
    assert advice.exit_code == 0, advice.output
    assert "Take snapshot 2 of 3" in advice.output
    found = json.loads((folder / "advice" / "result.json").read_text())["result"]
    assert found["rules"] == {"last": 3, "lowest training loss": 3, "best BaseGen": 2, "best ValGen": 2}
    assert found["novel_lost"] == {
        "last": 0.5,
        "lowest training loss": 0.5,
        "best BaseGen": 0.0,
        "best ValGen": 0.0,
    }
    with np.load(folder / "out-one" / "snapshots.npz") as stored:
        assert stored["train_loss"].tolist() == [0.9, 0.5, 0.1]
        for kind in ("base", "validation", "novel"):
            assert stored[kind].tolist() == [[0.5] * 8, [1.0] * 8, [0.5] * 8], kind


def test_a_kept_snapshot_can_be_tested_again(folder: Path) -> None:
    kept = sorted(path.name for path in (folder / "out-one" / "snapshots").iterdir())
    assert kept == ["snapshot-01.bin", "snapshot-02.bin", "snapshot-03.bin"]
    done = dry_run("one", "--learner", "out-one/snapshots/snapshot-03.bin", "-o", "third", "--json")
    assert json.loads(done.stdout)["summary"]["mean"] == 0.0


def test_layers_are_compared_straight_from_two_folders(folder: Path) -> None:
    """A rotation changes no similarity: the layers of the two agree entirely."""
    compared = CliRunner().invoke(
        main, ["analyse", "representations", "out-one", "out-two", "--out", "layers"]
    )
    assert compared.exit_code == 0, compared.output
    found = json.loads((folder / "layers" / "result.json").read_text())["result"]
    assert set(found) == {"corners", "pixels"}
    assert found["corners"]["cka"] == pytest.approx(1.0, abs=1e-5)
    assert found["corners"]["procrustes"] == pytest.approx(0.0, abs=1e-5)
    with np.load(folder / "out-one" / "layers.npz") as stored:
        assert stored["pixels"].shape == (80, 5), "all images of the four novel classes"
        assert len(set(stored["image_class"])) == 4
        assert set(stored["image_dataset"]) == {0}


def test_the_support_set_tells_the_accuracy_of_a_learner_that_is_always_right(folder: Path) -> None:
    with np.load(folder / "out-one" / "estimates.npz") as stored:
        found = {name: stored[name].tolist() for name in stored.files}
    assert found["accuracy"] == found["k_fold"] == found["hold_out"] == [1.0] * 8
    assert found["draw"] == [draw_mark(93)] * 8 != [draw_mark(94)] * 8
    assert found["task"] == list(range(8)) and found["ways"] == [2] * 8 and found["shots"] == [4] * 8


STATES = """
    def predict(self, query_set):
        distances = (query_set.mean((1, 2, 3))[:, None] - self.means[None]).abs()
        right, ways = distances.argmin(1), len(self.means)
        ANSWER
"""
ANSWERS = {
    "sharp": "return torch.nn.functional.one_hot(right, ways).float()",  # certain, and always right
    "modest": "return torch.log(0.6 * torch.nn.functional.one_hot(right, ways) + 0.2)",  # logits of 0.8 and 0.2
    "proud": "return torch.tensor([[0.95, 0.05]]).repeat(len(right), 1)",  # right in half of the cases
    "silent": "return right",
}


@pytest.fixture(scope="module")
def stated(folder: Path) -> Path:
    """Runs of four submissions, which state what `ANSWERS` says."""
    for name, answer in ANSWERS.items():
        code = HONEST[: HONEST.index("    def predict")] + STATES.lstrip("\n").replace("ANSWER", answer)
        write_submission(folder / name, code)
        done = dry_run(name, "--probabilities")
        assert done.exit_code == 0, done.output
    return folder


def judge(name: str) -> Result:
    return CliRunner().invoke(main, ["analyse", "calibration", f"out-{name}", "--out", f"judged-{name}"])


def test_overconfident_modest_and_exact_probabilities_are_told_apart(stated: Path) -> None:
    said = {name: judge(name).output for name in ("sharp", "modest", "proud")}
    assert "No miscalibration is seen" in said["sharp"] and "ECE 0 points" in said["sharp"], said["sharp"]
    assert "is underconfident" in said["modest"] and "ECE 20" in said["modest"], said["modest"]
    assert "is overconfident" in said["proud"] and "ECE 45" in said["proud"], said["proud"]
    found = {
        name: json.loads((stated / f"judged-{name}" / "result.json").read_text())["result"] for name in said
    }
    assert found["sharp"]["nll"] == pytest.approx(0, abs=1e-6)
    assert found["modest"]["nll"] == pytest.approx(-np.log(0.8), abs=1e-6)
    assert found["proud"]["nll"] == pytest.approx(-np.log([0.95, 0.05]).mean(), abs=1e-6)
    assert found["modest"]["accuracy"] == 1.0 and found["proud"]["accuracy"] == 0.5


def test_what_is_exported_of_probabilities_belongs_to_the_answers(stated: Path) -> None:
    with np.load(stated / "out-proud" / "probabilities.npz") as stored:
        found = dict(stored)
    assert found["task"].tolist() == list(range(8)) and found["draw"].tolist() == [draw_mark(93)] * 8
    rows = found["probabilities"].reshape(-1, 2)
    assert len(rows) == found["queries"].sum() == len(found["label"]) == 32 and found["tasks_of_run"] == 8
    assert (found["predicted"] == 0).all() and (found["label"] == 0).mean() == 0.5
    each = -np.log(rows[np.arange(32), found["label"]]).reshape(8, 4).mean(axis=1)
    assert found["nll"] == pytest.approx(each, abs=1e-6)
    drawn = read_predictions(stated / "out-proud" / "predictions.parquet").predictions
    assert found["classes"].tolist() == drawn.classes.tolist()


def test_who_returns_labels_alone_is_told_why_there_are_no_probabilities(stated: Path) -> None:
    """The run is scored as any other, and its folder without the file says what is lacking."""
    done = dry_run("silent", "--probabilities", "--json")
    outcome = json.loads(done.stdout)
    assert done.exit_code == 0 and outcome["summary"]["mean"] == 1.0 and outcome["exports"] == []
    assert "predict returned labels alone" in " ".join(outcome["notes"])
    refused = judge("silent")
    assert refused.exit_code == 1 and "probabilities.npz of a run" in refused.output


def test_what_cannot_be_exported_is_said_and_the_score_stays(folder: Path) -> None:
    """No method `features`, no snapshot taken, a single labelled image a class: a note each, and exit 0."""
    write_submission(folder / "plain", HONEST)
    one_shot = SPLIT.replace("shots=4", "shots=1")
    done = dry_run(
        "plain",
        *("--protocol", f"class_side side=novel images=all {one_shot}"),
        *("--train-protocol", f"class_side side=base {one_shot}"),
        *("--snapshots", "3", "--features", "--estimates", "--json"),
    )
    outcome = json.loads(done.stdout)
    assert done.exit_code == 0 and outcome["summary"]["mean"] == 1.0 and outcome["exports"] == []
    words = " ".join(outcome["notes"])
    for said in ("0 snapshot(s) were taken", "no method `features`", "none can be set aside"):
        assert said in words


@pytest.mark.parametrize("name", ["random", "nearest_prototype", *LEARNED])
def test_layers_of_baselines_are_exported_but_of_the_one_that_has_none(folder: Path, name: str) -> None:
    baseline = find_baselines((name,), FOLDER)[0]
    small = Arm(changes={"method": {"width": 8, "stem_pool": 8, "iterations": 4, "test_steps": 2}})
    changes = small.changes_of(baseline, "quick") if name in LEARNED else {}
    pack_baseline(baseline, folder / f"{name}.zip", "quick", changes)
    done = dry_run(f"{name}.zip", "--features", "--json", "-o", f"of-{name}")
    assert done.exit_code == 0, done.output
    outcome = json.loads(done.stdout)
    if name == "random":
        assert outcome["exports"] == [] and "no method `features`" in " ".join(outcome["notes"])
    else:
        with np.load(folder / f"of-{name}" / "layers.npz") as stored:
            assert len(stored["features"]) == 80 and stored["features"].std() > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--snapshots", "3", "--protocol", "any_way_any_shot ways=2 shots=1 query=2"),
            "base needs classes split",
        ),
        (("--snapshots", "3", "--learner", "data/info/meta_splits.txt"), "which --learner skips"),
    ],
)
def test_snapshots_need_base_and_novel_classes_and_a_training(
    folder: Path, words: tuple[str, ...], said: str
) -> None:
    refused = CliRunner().invoke(main, ["dry-run", "one", "--data", "data", *words])
    assert refused.exit_code == 2 and said in " ".join(refused.stderr.split())
