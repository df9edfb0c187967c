"""`anyshot experiment baselines --evaluate`: each kind tests the trained learner on what it says, or is refused."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from anyshot_core.data.pack import pack_dataset
from anyshot_core.evaluations import EVALUATIONS
from anyshot_studies.experiment.command import experiment
from tests.core.tinydata import write_dataset

SIDES = "ways=2-3 shots=1-2 query=2 held_back=0.4"
BY_CLASSES = (
    *("--protocol", f"class_side side=novel images=all {SIDES}"),
    *("--train-protocol", f"class_side side=base {SIDES}"),
    *("--validation-protocol", f"class_side side=valid images=all {SIDES}"),
)
BY_WRITERS = ("--protocol", "writers sizes=6,3,3", "--train-protocol", "writers sizes=6,3,3 part=meta_train")
PAIRS = "attribute_pairs least_images=4 shots=1 query=2 among=second"
BY_PAIRS = ("--protocol", PAIRS, "--train-protocol", PAIRS)
HELD_OUT = "held_out_domains domains=Plants ways=2-3 shots=1 query=2"
BY_DOMAINS = ("--protocol", HELD_OUT, "--train-protocol", f"{HELD_OUT} part=meta_train")
FREE = ("--train", "FERNS", "--test", "CARS", "--ways", "2", "--shots", "1", "--query", "2")
HALVES = ("--within", "halves", "--ways", "2", "--shots", "1", "--query", "2")

# Answers rightly for classes that it was trained on, which it knows by their colour, and wrongly for all others. It
# fails where it is tested on an image that it was trained on.
KNOWING = """
import json
import torch
from api import Learner, MetaLearner, Predictor

def colours(images): return [round(255 * image.mean().item()) for image in images]
def prints(images): return [image.double().pow(2).sum().item() for image in images]

class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        learner = MyLearner()
        for task in train(200):
            for images in (task.support_set[0], task.query_set[0]):
                learner.known |= set(colours(images))
                learner.seen |= set(prints(images))
        return learner

class MyLearner(Learner):
    def __init__(self): self.known, self.seen = set(), set()
    def save(self, path): json.dump([list(self.known), list(self.seen)], open(path + "/known", "w"))
    def load(self, path): self.known, self.seen = map(set, json.load(open(path + "/known")))
    def fit(self, support):
        assert not self.seen & set(prints(support[0])), "tested on an image of training"
        labels = dict(zip(colours(support[0]), support[1].tolist()))
        return MyPredictor(self, labels, support[3])

class MyPredictor(Predictor):
    def __init__(self, learner, labels, ways): self.learner, self.labels, self.ways = learner, labels, ways
    def predict(self, query):
        assert not self.learner.seen & set(prints(query)), "tested on an image of training"
        found = colours(query)
        right = torch.tensor([self.labels[min(self.labels, key=lambda one: abs(one - colour))] for colour in found])
        wrong = torch.tensor([int(colour not in self.learner.known) for colour in found])
        return ((right + wrong) % self.ways).numpy()
"""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two datasets of two domains, 14 and 13 classes with writers and attributes, and a third elsewhere; few of their
    classes have equal colours."""
    folder = tmp_path_factory.mktemp("pool")
    for seed, (name, domain) in enumerate((("FERNS", "Plants"), ("CARS", "Vehicles"), ("BIRDS", "Animals"))):
        place = folder / ("elsewhere" if domain == "Animals" else "own")
        source = write_dataset(folder / name, classes=14 - seed, images=14, seed=seed)
        annotate(source, domain, seed)
        place.mkdir(exist_ok=True)
        pack_dataset(source, place / f"{name}.anyshot-pack")
    (folder / "own" / "info").mkdir()
    splits = {"meta-train": [], "meta-test": ["FERNS", "CARS"]}
    (folder / "own" / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    return folder


def annotate(source: Path, domain: str, seed: int) -> None:
    """A writer of twelve for each image, and four attributes: the first two go together, and the last two."""
    random = np.random.default_rng(seed)
    head, *rows = csv.reader((source / "labels.csv").read_text().splitlines())
    kinds = random.random((len(rows), 1)) < 0.5
    has = random.random((len(rows), 4)) < np.where(kinds, [0.9, 0.9, 0.1, 0.1], [0.1, 0.1, 0.9, 0.9])
    with (source / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerow([*head, "WRITER", *"abcd"])
        for row, own in zip(rows, has.astype(int).tolist(), strict=True):
            csv.writer(file).writerow([*row, f"w{random.integers(12)}", *own])
    info = json.loads((source / "info.json").read_text())
    info |= {"annotation_columns": ["WRITER", *"abcd"], "domain": domain}
    (source / "info.json").write_text(json.dumps(info))


def run(
    folder: Path, pool: Path, protocols: Sequence[str], *evaluations: str, same_images: bool = False
) -> Result:
    bundle = folder / "knowing"
    bundle.mkdir(exist_ok=True)
    (bundle / "model.py").write_text(KNOWING.replace("assert not", "assert" if same_images else "assert not"))
    words = [
        "baselines",
        str(bundle),
        "--pool",
        str(pool / "own"),
        "--seeds",
        "1",
        "--tasks",
        "6",
        "--cpus",
        "1",
    ]
    words += [*protocols, *(word for text in evaluations for word in ("--evaluate", text))]
    return CliRunner().invoke(experiment, [*words, "-o", str(folder / "out")])


def points_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Of each point, by the name of its file: the datasets, ways and shots of its tasks, and how many there are."""
    found = {}
    for path in (folder / "out" / "runs").rglob("*.parquet"):
        if name := ".".join(path.name.split(".")[1:-2]):
            table = pq.read_table(path).to_pydict()
            found[name] = {key: set(table[key]) for key in ("dataset", "ways", "shots")}
            found[name]["tasks"] = len(table["ways"])
    return found


@pytest.mark.slow("a training, and a run for each of its evaluations")
def test_every_kind_that_a_class_split_allows_tests_what_it_says(pool: Path, tmp_path: Path) -> None:
    """One training; base, validation and novel classes, mixtures, numbers of shots, each domain, another pool."""
    own = ("base", "validation", "novel tasks=9", "mixtures steps=0,1", "shots numbers=1,2", "domains")
    elsewhere = (f"pool pool={pool / 'elsewhere'}", f"shots key=there numbers=2 pool={pool / 'elsewhere'}")
    done = run(tmp_path, pool, BY_CLASSES, *own, *elsewhere)
    assert done.exit_code == 0, done.output
    found, both = points_of(tmp_path), {"FERNS", "CARS"}
    assert {name: (point["dataset"], point["tasks"]) for name, point in found.items()} == {
        **dict.fromkeys(("base", "validation", "mixtures-0", "mixtures-1", "shots-1", "shots-2"), (both, 6)),
        "novel": (both, 9),
        "domains-plants": ({"FERNS"}, 6),
        "domains-vehicles": ({"CARS"}, 6),
        "pool": ({"BIRDS"}, 6),
        "there-2": ({"BIRDS"}, 6),
    }
    one, two = ({1}, {2})
    assert [found[name]["shots"] for name in ("shots-1", "shots-2", "there-2")] == [one, two, two]
    rows = json.loads((tmp_path / "out" / "evaluations.json").read_text())
    scores = {f"{row['evaluation']}-{row['point']}": row["mean"] for row in rows}
    assert all(row["message"] == "" for row in rows), rows
    known, unknown = {"base-base", "mixtures-0"}, scores.keys() - {"base-base", "mixtures-0"}
    assert {scores[name] for name in known} == {1.0}, scores
    assert all(scores[name] < 0.5 for name in unknown), scores


@pytest.mark.slow("three trainings, and a run for each of their evaluations")
@pytest.mark.parametrize(
    ("protocols", "evaluation", "point", "datasets"),
    [
        (BY_WRITERS, "unseen_writers", "unseen_writers", {"FERNS", "CARS"}),
        (BY_PAIRS, "unseen_pairs", "unseen_pairs", {"FERNS", "CARS"}),
        (BY_DOMAINS, "domains", "domains-plants", {"FERNS"}),
    ],
)
def test_unseen_writers_pairs_and_domains_are_tested(
    protocols: Sequence[str], evaluation: str, point: str, datasets: set[str], pool: Path, tmp_path: Path
) -> None:
    """No image of theirs was trained on; but pairs of the other half of the attributes are on the same images."""
    done = run(tmp_path, pool, protocols, evaluation, same_images=evaluation == "unseen_pairs")
    assert done.exit_code == 0, done.output
    found = points_of(tmp_path)
    assert found.keys() == {point}
    assert (found[point]["dataset"], found[point]["tasks"]) == (datasets, 6)


REFUSED = {
    "base": (FREE, "base needs classes split into base, validation and novel ones"),
    "validation": (HALVES, "validation: within_domain split=halves has no such classes"),
    "novel": (FREE, "novel needs classes split into base, validation and novel ones"),
    "mixtures": (HALVES, "mixtures needs classes split into base, validation and novel ones"),
    "shots": (BY_WRITERS, "writers has no setting `shots` that shots could change"),
    "domains pool=own": (BY_CLASSES, "would be trained on (class_side) and tested on"),
    "pool": (FREE, "pool needs a pool: write pool pool=NAME"),
    "unseen_pairs": (
        BY_CLASSES,
        "unseen_pairs needs training by attribute_pairs among=first or among=second",
    ),
    "unseen_writers": (BY_PAIRS, "unseen_writers needs the protocol writers in training or test"),
}


def test_a_refusal_of_each_kind_is_tried() -> None:
    assert [text.split()[0] for text in REFUSED] == list(EVALUATIONS)


@pytest.mark.seconds("whole commands, of which the first imports torch")
@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_tested_is_refused_before_anything_runs(
    text: str, pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words that say what it needs, or what would be tested that was trained on."""
    monkeypatch.chdir(pool)
    protocols, words = REFUSED[text]
    refused = run(tmp_path, pool, protocols, text)
    assert refused.exit_code == 2 and words in " ".join(refused.output.split()), refused.output
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_without_a_dataset_to_train_on_nothing_is_run(pool: Path, tmp_path: Path) -> None:
    refused = run(tmp_path, pool, ("--ways", "2", "--shots", "1", "--query", "2"), "domains")
    assert refused.exit_code == 2 and "There is no dataset to train on" in refused.output, refused.output
