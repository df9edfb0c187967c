"""`python -m benchmarks.calibration`: Brier score and reliability diagram of the boards' probabilities.

Beside the model of the board stands the share of bootstrap draws in which a submission is ahead: no probability.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.reliability import POPULATIONS, Population, model_board, resample
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from benchmarks.calibration.boards import FAMILIES, SimulatedBoard, simulate

RESULTS = Path(__file__).parent.parent / "results" / "calibration.json"
SIZES = ((5, 6), (20, 10), (30, 10))  # submissions, datasets
BINS = 10


def judge(board: SimulatedBoard) -> dict[str, NDArray[np.float64]]:
    """Stated and true: `first` of the leader, and `ahead` of the neighbours on the board, `[n, 3]` each.

    Columns: the model's probability, the share of bootstrap draws, and what is true.
    """
    drawn = resample(board.matrix, Population.DATASETS, replicates=2_000, rule=board.rule, one_stage=True)
    matrix = board.matrix
    scores = find_rule(board.rule).points(matrix.run_means(), matrix.run_dataset_means())
    model = model_board(scores, drawn, len(board.matrix.datasets))
    assert not isinstance(model, Undefined)
    best = float(board.truth.argmax() == 0)
    pairs = range(len(scores) - 1)
    ahead = [
        (model.better[i, i + 1], (drawn[:, i] > drawn[:, i + 1]).mean(), board.truth[i] > board.truth[i + 1])
        for i in pairs
    ]
    shown = (model.first[0], (drawn.argmax(axis=1) == 0).mean(), best)
    return {"first": np.array([shown], float), "ahead": np.array(ahead, float)}


def diagram(stated: NDArray, true: NDArray) -> list[dict[str, float]]:
    """Reliability diagram: in each tenth, what was stated, what was true, with two standard errors."""
    place = np.minimum((stated * BINS).astype(int), BINS - 1)
    return [
        {
            "stated": round(float(stated[place == b].mean()), 4),
            "true": round(float(true[place == b].mean()), 4),
            "error": round(
                2
                * float(
                    np.sqrt(
                        max(stated[place == b].mean() * (1 - stated[place == b].mean()), 1e-4)
                        / (place == b).sum()
                    )
                ),
                4,
            ),
            "boards": int((place == b).sum()),
        }
        for b in range(BINS)
        if (place == b).any()
    ]


def measure(family: str, submissions: int, datasets: int, boards: int) -> dict[str, Any]:
    """Brier scores and diagrams over so many simulated boards."""
    found = [judge(simulate(family, submissions, datasets, seed)) for seed in range(boards)]
    result: dict[str, Any] = {
        "family": family,
        "submissions": submissions,
        "datasets": datasets,
        "boards": boards,
    }
    for question in ("first", "ahead"):
        rows = np.concatenate([each[question] for each in found])
        true = rows[:, 2]
        result[question] = {
            "brier": {"model": _brier(rows[:, 0], true), "bootstrap share": _brier(rows[:, 1], true)},
            "stated": {"model": _mean(rows[:, 0]), "bootstrap share": _mean(rows[:, 1])},
            "true": _mean(true),
            "model": diagram(rows[:, 0], true),
            "bootstrap share": diagram(rows[:, 1], true),
        }
    return result


def _brier(stated: NDArray, true: NDArray) -> float:
    return _mean((stated - true) ** 2)


def _mean(values: NDArray) -> float:
    return round(float(values.mean()), 4)


def main() -> None:
    """Measure all families and write the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--boards", type=int, default=400)
    boards = options.parse_args().boards
    rows = [measure(family, *size, boards) for family in FAMILIES for size in SIZES]
    for row in rows:
        first = row["first"]
        print(
            row["family"], row["submissions"], row["datasets"], first["true"], first["stated"], first["brier"]
        )
    population = POPULATIONS[Population.DATASETS]
    RESULTS.write_text(
        json.dumps({"population": population, "rows": rows}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
