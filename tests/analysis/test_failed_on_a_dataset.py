"""A submission that failed on a dataset makes no report on its board impossible: who or what is left out is said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyshot_analysis.jobs import run
from anyshot_analysis.jobs.inputs import SAME_TASKS, BadAnalysis
from anyshot_core.results import Identity, write_predictions, write_results
from anyshot_scoring.predictions import Predictions

DATASETS = ("D0", "D1", "D2")
SKILLS = {"0192-a": 0.9, "0192-b": 0.7, "0192-c": 0.5, "0192-z": 0.8}
NAMES = {"0192-a": "Ada", "0192-b": "Bo", "0192-c": "Cy", "0192-z": "Zoe"}
FLIPS = {"rule": "dataset_ranks_worst", "replicates": 1000, "names": NAMES}


def answers(skill: float, seed: int, lacks: str = "", tasks: int = 60, drawn_by: int = 0) -> Predictions:
    """3-way tasks of 8 classes, the same for all, over three datasets but `lacks`; right with probability `skill`."""
    draw, rng = np.random.default_rng(drawn_by), np.random.default_rng(seed)
    classes = [draw.permutation(8)[:3] for _ in range(tasks)]
    labels = np.repeat(np.arange(3), 5)
    right = rng.random((tasks, len(labels))) < skill
    kept = [place for place in range(tasks) if DATASETS[place % 3] != lacks]
    return Predictions.from_tasks(
        task=np.array(kept),
        dataset=[DATASETS[place % 3] for place in kept],
        domain=[""] * len(kept),
        ways=[3] * len(kept),
        shots=[1] * len(kept),
        predictions=[np.where(right[place], labels, (labels + 1) % 3) for place in kept],
        labels=[labels] * len(kept),
        classes=[classes[place] for place in kept],
    )


def give(
    folder: Path, *, runs: int = 1, lacks: Mapping[tuple[str, int], str], others: tuple[str, ...] = ()
) -> dict[str, list[Path]]:
    """Results and predictions of a board; `lacks` is by submission and run, `others` met fewer tasks."""
    given: dict[str, list[Path]] = {"results": [], "predictions": []}
    for place, (key, skill) in enumerate(SKILLS.items()):
        for number in range(runs):
            tasks = 30 if key in others else 60
            made = answers(skill, 10 * place + number, lacks.get((key, number), ""), tasks)
            who = Identity(who=key, run=str(number), same_test_tasks=runs > 1)
            paths = [folder / f"{key}-{number}-{role}.parquet" for role in given]
            write_results(paths[0], made.score(), who)
            write_predictions(paths[1], made, who)
            for role, path in zip(given, paths, strict=True):
                given[role].append(path)
    return given


def without(given: Mapping[str, list[Path]], key: str) -> dict[str, list[Path]]:
    return {role: [path for path in paths if key not in path.name] for role, paths in given.items()}


def same_but_for_words(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (
        one["estimates"] == other["estimates"]
        and {name: value for name, value in one["result"].items() if name != "left_out"} == other["result"]
    )


@pytest.mark.seconds("judges several boards whole")
@pytest.mark.parametrize("runs", [1, 2])
def test_the_order_is_that_of_those_who_met_the_same_tasks(tmp_path: Path, runs: int) -> None:
    """All figures are those of a board without Zoe, whose last run failed on D2; by classes and of shared tasks too."""
    given = give(tmp_path, runs=runs, lacks={("0192-z", runs - 1): "D2"})
    found = run("flips", given, FLIPS, tmp_path / "out")
    alone = run("flips", without(given, "0192-z"), FLIPS, tmp_path / "alone")
    assert found["result"]["keys"] == ["0192-a", "0192-b", "0192-c"]
    assert found["result"]["left_out"] == {"0192-z": ["D2"]} and "left_out" not in alone["result"]
    assert same_but_for_words(found, alone)
    assert found["finding"].startswith("Ada leads a board of 3 submissions (1 left out, see the notes); ")
    assert found["notes"][0] == "Left out, failed on a dataset: Zoe (D2)."
    assert "of the other submissions alone" in found["notes"][1]
    assert (SAME_TASKS in found["notes"]) == (runs > 1) == (SAME_TASKS in alone["notes"])
    page = (tmp_path / "out" / "page.html").read_text()
    assert "Left out, failed on a dataset: Zoe (D2)." in page


@pytest.mark.parametrize("runs", [1, 2])
def test_a_plan_is_that_of_those_who_met_the_same_tasks(tmp_path: Path, runs: int) -> None:
    given = give(tmp_path, runs=runs, lacks={("0192-z", 0): "D0"})
    plan = {"rule": "dataset_ranks_worst", "names": NAMES}
    found = run("plan", given, plan, tmp_path / "out")
    alone = run("plan", without(given, "0192-z"), plan, tmp_path / "alone")
    assert same_but_for_words(found, alone) and found["finding"] == alone["finding"]
    assert "the difference of Ada and Bo" in found["result"]["source"]
    assert "Left out, failed on a dataset: Zoe (D0)." in found["notes"]
    assert not any("left out" in note.lower() for note in alone["notes"])


@pytest.mark.parametrize("runs", [1, 2])
def test_difficulty_is_of_the_datasets_that_all_have(tmp_path: Path, runs: int) -> None:
    """D0 and D1 come out as without Zoe's failure on D2, with the same intervals, those of shared tasks too."""
    given = give(tmp_path, runs=runs, lacks={("0192-z", runs - 1): "D2"})
    (tmp_path / "whole").mkdir()
    whole = run("difficulty", give(tmp_path / "whole", runs=runs, lacks={}), {"names": NAMES}, tmp_path / "w")
    found = run("difficulty", given, {"names": NAMES}, tmp_path / "out")
    assert [row["dataset"] for row in found["result"]["difficulty"]] == ["D0", "D1"]
    assert found["result"]["difficulty"] == whole["result"]["difficulty"][:2]
    assert found["estimates"] == whole["estimates"][:4]
    assert "Left out, since not all submissions have results there: D2 (Zoe failed)." in found["notes"]
    assert found["result"]["left_out"] == {"D2": ["0192-z"]}
    assert "hardest of 2 datasets (1 left out, see the notes): its" in found["finding"]
    assert (SAME_TASKS in found["notes"]) == (runs > 1)


def test_other_tasks_are_no_failure_and_the_largest_group_is_kept(tmp_path: Path) -> None:
    """Two met all tasks, one failed on a dataset, one met half of the tasks: two are left, the reasons apart."""
    given = give(tmp_path, lacks={("0192-b", 0): "D1"}, others=("0192-c",))
    found = run("plan", given, {"names": NAMES}, tmp_path / "out")
    assert found["result"]["left_out"] == {"0192-b": ["D1"], "0192-c": []}
    assert "Left out, failed on a dataset: Bo (D1)." in found["notes"]
    assert "Left out, without the tasks of the others: Cy." in found["notes"]
    assert "the difference of Ada and Zoe" in found["result"]["source"]


def test_most_of_a_board_that_failed_is_still_a_board(tmp_path: Path) -> None:
    """Three failed on D1: they are the group, and who did not fail there is no failure."""
    failed = {(key, 0): "D1" for key in ("0192-b", "0192-c", "0192-z")}
    found = run("plan", give(tmp_path, lacks=failed), {"names": NAMES}, tmp_path / "out")
    assert found["result"]["left_out"] == {"0192-a": []}
    assert "Left out, without the tasks of the others: Ada." in found["notes"]


def test_where_nobody_shares_anything_the_report_says_who(tmp_path: Path) -> None:
    keys = list(SKILLS)[:3]
    given = without(give(tmp_path, lacks=dict(zip(((k, 0) for k in keys), DATASETS, strict=True))), "0192-z")
    for name in ("flips", "plan"):
        with pytest.raises(BadAnalysis, match="runs and tasks: Ada, Bo, Cy"):
            run(name, given, {"names": NAMES}, tmp_path / "out")
    with pytest.raises(BadAnalysis, match="no dataset that all of these submissions"):
        run("difficulty", given, {"names": NAMES}, tmp_path / "out")
