"""Predictions beside results open the population of classes."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse
from anyshot_analysis.jobs import BadAnalysis
from anyshot_analysis.jobs.inputs import Inputs
from anyshot_core.results import write_predictions, write_results
from tests.scoring.simulated import draw_run_by_class


def write_runs(folder: Path, tasks: int = 40) -> tuple[list[Path], list[Path]]:
    """Two seeded runs each of two submissions, as results and predictions."""
    rng = np.random.default_rng(0)
    results, predictions = [], []
    for place, level in enumerate((0.5, 0.7)):
        skills = np.clip(level + 0.1 * rng.random((3, 10)), 0, 1)
        for run in range(2):
            drawn = draw_run_by_class(10 * place + run, run, skills, tasks=tasks)
            meta = {"run": str(run), "protocol_digest": "p", "who": f"s{place}"}
            results.append(folder / f"s{place}-{run}-results.parquet")
            predictions.append(folder / f"s{place}-{run}-predictions.parquet")
            write_results(results[-1], drawn.score(), meta)
            write_predictions(predictions[-1], drawn, meta)
    return results, predictions


def test_classes_are_those_of_the_runs(tmp_path: Path):
    results, predictions = write_runs(tmp_path)
    classes = Inputs({"results": results, "predictions": predictions}).classes
    assert classes is not None
    assert {name: len(runs) for name, runs in classes.items()} == {"s0": 2, "s1": 2}
    assert all(table.known for runs in classes.values() for table in runs)
    assert Inputs({"results": results}).classes is None


def test_the_command_tells_results_from_predictions_and_speaks_of_classes(tmp_path: Path):
    results, predictions = write_runs(tmp_path)
    files = [str(path) for pair in zip(results, predictions, strict=True) for path in pair]
    done = CliRunner().invoke(
        analyse, ["flips", *files, "--replicates", "1000", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out" / "result.json").read_text())["result"]
    assert found["classes"] == 30
    assert found["populations"]["classes"]["units"] == 30
    assert {row["unit"] for row in found["flips"]} == {"classes", "datasets"}


def test_predictions_of_some_runs_or_of_other_tasks_are_refused(tmp_path: Path):
    results, predictions = write_runs(tmp_path)
    with pytest.raises(BadAnalysis, match="3 predictions and 4 results"):
        _ = Inputs({"results": results, "predictions": predictions[:3]}).classes
    (tmp_path / "fewer").mkdir()
    _, fewer = write_runs(tmp_path / "fewer", tasks=20)
    with pytest.raises(BadAnalysis, match="does not hold the predictions of the tasks"):
        _ = Inputs({"results": results, "predictions": fewer}).classes
