"""`python -m benchmarks.calibration`: Brier score and reliability diagram of the boards' probabilities.

Beside the crossed model of the board stand the model that was fitted to each population alone, and the share of
bootstrap draws in which a submission is ahead: no probability.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from anyshot_analysis.studies.reproduce.sources import code_from
from anyshot_core.charts import Chart, ReliabilityBin, draw_reliability
from anyshot_scoring.reliability import (
    POPULATIONS,
    Population,
    fit_crossed,
    model_populations,
    resample,
)
from anyshot_scoring.rules import find_rule
from anyshot_scoring.undefined import Undefined
from benchmarks.calibration.boards import FAMILIES, SimulatedBoard, simulate
from benchmarks.calibration.separate import model_alone

RESULTS = Path(__file__).parent.parent / "results"
FIGURES = Path(__file__).parents[2] / "docs" / "reproductions" / "calibration" / "figures.json"
SIZES = ((5, 6), (20, 10), (30, 10))  # submissions, datasets
BINS = 10
FEWEST_BOARDS = 10  # in a bin; with fewer, its error is unknown
SOURCES = ("model", "fitted alone", "bootstrap share")
QUESTIONS = {
    "first": "The leader is truly the best",
    "ahead": "The upper of two neighbours is truly better",
    "here": "The leader is truly the best on these datasets",
    "again": "The leader leads another phase of this size",
}


def judge(board: SimulatedBoard) -> dict[str, NDArray[np.float64]]:
    """Stated and true, `[n, 4]` for each of `QUESTIONS`; `here` is over other tasks, all else over other datasets.

    Columns: the probabilities of `SOURCES`, and what is true.
    """
    matrix, rule = board.matrix, find_rule(board.rule)
    scores = rule.points(matrix.run_means(), matrix.run_dataset_means())
    units = {Population.DATASETS: len(matrix.datasets), Population.TASKS: len(matrix.scores)}
    drawn = {
        p: resample(matrix, p, replicates=2_000, rule=rule, one_stage=p is Population.DATASETS) for p in units
    }
    models = model_populations(fit_crossed(matrix), scores, rule, units)
    alone = {p: model_alone(scores, drawn[p], units[p]) for p in units}
    stated: dict[str, list[tuple[float, ...]]] = {question: [] for question in QUESTIONS}
    for question, population, truth in (
        ("first", Population.DATASETS, board.truth),
        ("here", Population.TASKS, board.here),
    ):
        model, share = models[population], (drawn[population].argmax(axis=1) == 0).mean()
        assert not isinstance(model, Undefined)
        stated[question].append((model.first[0], alone[population].first[0], share, truth.argmax() == 0))
        if population is Population.DATASETS:
            leads = board.again.argmax() == 0
            stated["again"].append((model.first_again, alone[population].first_again, share, leads))
            for i in range(len(scores) - 1):
                ahead = (drawn[population][:, i] > drawn[population][:, i + 1]).mean()
                better = (m.better[i, i + 1] for m in (model, alone[population]))
                stated["ahead"].append((*better, ahead, truth[i] > truth[i + 1]))
    return {question: np.array(rows, float) for question, rows in stated.items()}


def diagram(found: Sequence[NDArray[np.float64]], column: int) -> list[ReliabilityBin]:
    """Reliability diagram of one column of what `judge` found a board: what was stated and true in each tenth.

    The error is of stated minus true, over boards (neighbours on one board depend on each other), and holds for all
    bins together at 95 % (Bonferroni).
    """
    board = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    rows = np.concatenate(found)
    stated, true = rows[:, column], rows[:, -1]
    place = np.minimum((stated * BINS).astype(int), BINS - 1)
    full = [b for b in range(BINS) if len(np.unique(board[place == b])) >= FEWEST_BOARDS]
    return [_bin(stated[place == b], true[place == b], board[place == b], len(full)) for b in full]


def _bin(stated: NDArray[Any], true: NDArray[Any], board: NDArray[Any], bins: int) -> ReliabilityBin:
    _, own = np.unique(board, return_inverse=True)
    boards = int(own.max()) + 1
    gaps = np.bincount(own, true - stated)
    known = np.bincount(
        own, stated * (1 - stated)
    )  # never taken for more certain than independent events are
    deviation = np.sqrt(max(float((gaps**2).sum()), float(known.sum()))) / len(stated)
    factor = float(stats.t.ppf(1 - 0.025 / bins, boards - 1))
    return ReliabilityBin(float(stated.mean()), float(true.mean()), factor * deviation, boards)


def is_flat(bins: Sequence[ReliabilityBin]) -> bool:
    """Whether no bin is farther from the diagonal than its error."""
    return all(abs(b.stated - b.true) <= b.error for b in bins)


def measure(family: str, sizes: Sequence[tuple[int, int]], boards: int) -> dict[str, Any]:
    """Brier scores and diagrams over so many simulated boards of each size."""
    found = [judge(simulate(family, *size, seed)) for size in sizes for seed in range(boards)]
    return {
        "family": family,
        "sizes": [list(size) for size in sizes],
        "boards": len(found),
        **{question: _measure([each[question] for each in found]) for question in QUESTIONS},
    }


def _measure(found: Sequence[NDArray[np.float64]]) -> dict[str, Any]:
    rows = np.concatenate(found)
    result: dict[str, Any] = {"true": _rounded(rows[:, -1].mean())}
    for column, source in enumerate(SOURCES):
        bins = diagram(found, column)
        result[source] = {
            "stated": _rounded(rows[:, column].mean()),
            "brier": _rounded(((rows[:, column] - rows[:, -1]) ** 2).mean()),
            "flat": is_flat(bins),
            "diagram": [{name: _rounded(value) for name, value in vars(b).items()} for b in bins],
        }
    return result


def _rounded(value: float) -> float:
    return round(float(value), 4)


def draw(rows: Sequence[dict[str, Any]], question: str, source: str) -> Chart:
    """The diagrams of all families, in one chart."""
    series = {row["family"]: [ReliabilityBin(**b) for b in row[question][source]["diagram"]] for row in rows}
    return draw_reliability(series, f"{QUESTIONS[question]}: {source}")


def main() -> None:
    """Measure all families and write the results and their figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--boards", type=int, default=250, help="of each family and size")
    boards = options.parse_args().boards
    with ProcessPoolExecutor(len(FAMILIES)) as pool:
        rows = list(pool.map(measure, FAMILIES, [SIZES] * len(FAMILIES), [boards] * len(FAMILIES)))
    for row in rows:
        for question in QUESTIONS:
            told = {source: tuple(row[question][source].values())[:3] for source in SOURCES}
            print(row["family"], question, "true", row[question]["true"], told)
    code = code_from("benchmarks.calibration.__main__")  # a test fails where one of them has changed since
    record = {"population": POPULATIONS[Population.DATASETS], "code": code, "rows": rows}
    (RESULTS / "calibration.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    charts = [draw(rows, question, source).data for question in QUESTIONS for source in SOURCES]
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"charts": charts, "tables": []}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
