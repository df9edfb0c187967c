"""How different datasets look to a learner, by features whose distances are known; flips by tasks within classes."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse
from anyshot_analysis.diversity.images import GroupDistances, group_distances, half_width
from anyshot_analysis.jobs import BadAnalysis
from anyshot_analysis.jobs.registry import run
from anyshot_core.results import write_predictions, write_results
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.undefined import Undefined
from tests.analysis.test_predictions_of_runs import write_runs


def write_layers(path: Path, features: np.ndarray, dataset: np.ndarray, classes: np.ndarray) -> Path:
    np.savez(path, features=features, image_dataset=dataset, image_class=classes)
    return path


def three_datasets(folder: Path) -> Path:
    """Images of one dataset are alike but for their class; datasets are at right angles, or half way between."""
    corners = np.eye(4)
    rows = [corners[0]] * 4 + [corners[1]] * 4 + [corners[2], corners[2], corners[3], corners[3]]
    return write_layers(
        folder / "layers.npz", np.array(rows), np.repeat([0, 1, 2], 4), np.tile([0, 0, 1, 1], 3)
    )


def test_distances_are_those_of_the_corners(tmp_path: Path) -> None:
    """0 and 1 are 1 apart. Within 2, two of six pairs are alike: 4/6; so it is 1 - 2/6 from the others."""
    three_datasets(tmp_path)
    done = CliRunner().invoke(analyse, ["feature-diversity", str(tmp_path), "--out", str(tmp_path / "r")])
    assert done.exit_code == 0, done.output
    assert "of two of 3 datasets, beyond that within them, is 0.7778 (" in done.output
    found = json.loads((tmp_path / "r" / "result.json").read_text())["result"]
    assert found["between"][0] == pytest.approx([0, 1, 2 / 3])
    assert found["within"] == pytest.approx([0, 0, 2 / 3])
    assert found["classes"] == pytest.approx([0, 0, 1])


def test_halves_of_one_dataset_are_no_further_apart_than_chance(tmp_path: Path) -> None:
    features = np.random.default_rng(1).normal(size=(80, 6))
    path = write_layers(tmp_path / "layers.npz", features, np.repeat([0, 1, 2, 3], 20), np.zeros(80, int))
    found = run("feature-diversity", {"arrays": [path]}, {}, tmp_path / "r")
    low, high = found["result"]["chance"]
    assert low < found["result"]["distance"] < high and "no more than with images dealt" in found["finding"]
    assert low < 0 < high


def test_the_distance_is_unbiased() -> None:
    """Over all ways to deal six images to two groups of three, halves of one sample are 0 apart on average."""
    features = np.random.default_rng(2).normal(size=(6, 3))
    means = []
    for chosen in itertools.combinations(range(6), 3):
        found = group_distances(features, np.isin(np.arange(6), chosen).astype(int))
        assert isinstance(found, GroupDistances)
        means.append(found.mean)
    assert np.mean(means) == pytest.approx(0, abs=1e-12)


def test_an_interval_over_datasets_is_the_jackknife_of_all_that_are_left_out() -> None:
    rng = np.random.default_rng(3)
    features, groups = (
        rng.normal(size=(40, 4)) + np.repeat(rng.normal(size=(5, 4)), 8, axis=0),
        np.repeat(np.arange(5), 8),
    )
    whole = group_distances(features, groups)
    assert isinstance(whole, GroupDistances)
    means = [group_distances(features[groups != g], groups[groups != g]).mean for g in range(5)]  # pyright: ignore
    spread = np.sqrt(4 / 5 * np.sum((np.array(means) - np.mean(means)) ** 2))
    assert half_width(whole) == pytest.approx(2.7764451 * spread, rel=1e-6)
    two = group_distances(features[:16], groups[:16])
    assert isinstance(two, GroupDistances) and isinstance(half_width(two), Undefined)


@pytest.mark.parametrize(
    ("arrays", "parameters", "words"),
    [
        ({"features": np.ones((4, 2))}, {}, "no layers.npz of a run"),
        ({}, {"layer": "head"}, "no layer 'head'; it has features"),
        ({"image_dataset": np.zeros(12, int)}, {}, "too few datasets"),
        ({"image_class": np.zeros(3, int)}, {}, "different lengths"),
    ],
)
def test_other_files_are_refused_in_words(
    arrays: dict[str, np.ndarray], parameters: dict[str, str], words: str, tmp_path: Path
) -> None:
    with np.load(three_datasets(tmp_path)) as stored:
        known = {name: stored[name] for name in stored.files}
    bad: dict[str, Any] = arrays if words.startswith("no layers") else known | arrays
    np.savez(tmp_path / "bad.npz", **bad)
    with pytest.raises(BadAnalysis, match=words):
        run("feature-diversity", {"arrays": [tmp_path / "bad.npz"]}, parameters, tmp_path / "r")


def write_pair(folder: Path, better: set[int]) -> list[Path]:
    """Two submissions on every 2-way task of six classes: the first is right where a class of `better` is asked."""
    tasks = [np.array(pair) for pair in itertools.combinations(range(6), 2)]
    files = []
    for name in ("ours", "theirs"):
        right = [[(c in better) == (name == "ours") for c in task for _ in range(2)] for task in tasks]
        labels = [np.array([0, 0, 1, 1])] * len(tasks)
        drawn = Predictions.from_tasks(
            task=np.arange(len(tasks)),
            dataset=["one"] * len(tasks),
            domain=[""] * len(tasks),
            ways=[2] * len(tasks),
            shots=[1] * len(tasks),
            predictions=[np.where(hit, y, 1 - y) for hit, y in zip(right, labels, strict=True)],
            labels=labels,
            classes=tasks,
        )
        meta = {"run": "0", "protocol_digest": "p", "who": name}
        files += [folder / f"{name}-results.parquet", folder / f"{name}-predictions.parquet"]
        write_results(files[-2], drawn.score(), meta)
        write_predictions(files[-1], drawn, meta)
    return files


def test_an_order_flips_for_as_many_sets_of_classes_as_there_are_that_turn_it(tmp_path: Path) -> None:
    """Ours is better on four of six classes. Of the 20 sets of three, 4 hold both others: there theirs leads."""
    files = [str(path) for path in write_pair(tmp_path, better={0, 1, 2, 3})]
    done = CliRunner().invoke(
        analyse, ["n-way-flips", *files, "--share", "0.5", "--draws", "4000", "--out", str(tmp_path / "r")]
    )
    assert done.exit_code == 0, done.output
    assert "ours leads theirs by 66.67 points, datasets alike, on all 15 tasks. Judged" in " ".join(
        done.output.split()
    )
    found = json.loads((tmp_path / "r" / "result.json").read_text())["result"]
    assert found["flip"] == pytest.approx(4 / 20, abs=0.02)
    assert (found["leader"], found["tasks"], found["of"]) == ("ours", 3, 15)


def test_the_leader_over_sets_of_classes_is_who_leads_on_the_tasks_that_fit(tmp_path: Path) -> None:
    """one leads by 5 points on 140 3-way tasks, and trails by far on 60 18-way ones, which no 15 of 20 classes hold."""
    rng, ways = np.random.default_rng(0), [3] * 140 + [18] * 60
    labels = [np.repeat(np.arange(n), 10) for n in ways]
    wrong = {"one": [0] * 140 + [90] * 60, "two": [1] * 140 + [0] * 60}  # queries of each task
    classes, files = [rng.permutation(20)[:n] for n in ways], {}
    for name, counts in wrong.items():
        drawn = Predictions.from_tasks(
            task=np.arange(200),
            dataset=["D"] * 200,
            domain=[""] * 200,
            ways=ways,
            shots=[1] * 200,
            predictions=[
                np.where(np.arange(len(y)) < k, (y + 1) % n, y)
                for y, k, n in zip(labels, counts, ways, strict=True)
            ],
            labels=labels,
            classes=classes,
        )
        files[name] = (tmp_path / f"{name}-results.parquet", tmp_path / f"{name}-predictions.parquet")
        meta = {"run": "0", "protocol_digest": "p", "who": name}
        write_results(files[name][0], drawn.score(), meta)
        write_predictions(files[name][1], drawn, meta)
    for order in (("one", "two"), ("two", "one")):
        given = {
            role: [files[name][i] for name in order] for i, role in enumerate(("results", "predictions"))
        }
        found = run("n-way-flips", given, {"draws": 1000}, tmp_path / "-".join(order))
        assert found["result"]["leader"] == "one"
        assert found["result"]["lead"] == pytest.approx(0.05) and found["result"]["flip"] == 0
        assert found["title"].startswith("Flips of one and two over")
        fitting = "the 140 of 200 tasks whose classes fit into a set"
        assert f"one leads two by 5.0 points, datasets alike, on {fitting}." in found["finding"]
        assert any(f"than on {fitting} by over half a point" in note for note in found["notes"])
        chart = (tmp_path / "-".join(order) / "figures.json").read_text()
        assert "one minus two" in chart and "two minus one" not in chart


def test_flips_need_two_submissions_and_their_predictions(tmp_path: Path) -> None:
    results, predictions = write_runs(tmp_path, tasks=20)
    with pytest.raises(BadAnalysis, match="predictions"):
        run("n-way-flips", {"results": results}, {}, tmp_path / "r")
    with pytest.raises(BadAnalysis, match="between two submissions, found 1"):
        run("n-way-flips", {"results": results[:2], "predictions": predictions[:2]}, {}, tmp_path / "r")
    with pytest.raises(BadAnalysis, match="larger share"):
        run(
            "n-way-flips", {"results": results, "predictions": predictions}, {"share": 0.5}, tmp_path / "r"
        )  # 5 of 10 classes hold one 5-way task in 252
