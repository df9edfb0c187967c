"""`python -m benchmarks.calibration`: Brier score and reliability diagram of the boards' probabilities.

Beside the crossed model of the board stand the model that was fitted to each population alone, and the share of
bootstrap draws in which a submission is ahead: no probability. Of two submissions on these datasets, the paired t test
stands beside it, by the tasks of the runs that count where these are the same ones: what boards stated before.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from anyshot_core.charts import Chart, ReliabilityBin, draw_reliability
from anyshot_scoring.reliability import (
    POPULATIONS,
    Population,
    ScoreMatrix,
    fit_crossed,
    model_populations,
    resample,
)
from anyshot_scoring.reliability.board_pairs import know_board
from anyshot_scoring.reliability.differences import weigh_differences
from anyshot_scoring.reliability.shared_tasks import where_all_count
from anyshot_scoring.rules import Rule, find_rule
from anyshot_scoring.undefined import Undefined
from anyshot_studies.reproduce.sources import code_from
from benchmarks.calibration.boards import FAMILIES, SimulatedBoard, simulate
from benchmarks.calibration.separate import model_alone

RESULTS = Path(__file__).parent.parent / "results"
FIGURES = Path(__file__).parents[2] / "docs" / "reproductions" / "calibration" / "figures.json"
SIZES = ((5, 6), (20, 10), (30, 10))  # submissions, datasets
SIZES_OF_TWO = ((2, 6), (2, 10))
BINS = 10
FEWEST_BOARDS = 10  # in a bin; with fewer, its error is unknown
SOURCES = ("model", "fitted alone", "bootstrap share")
QUESTIONS = {
    "first": "The leader is truly the best",
    "ahead": "The upper of two neighbours is truly better",
    "here": "The leader is truly the best on these datasets",
    "again": "The leader leads another phase of this size",
}
PAIR = "The upper of two neighbours is truly better on these datasets"
SOURCES_OF_PAIRS = ("model", "paired test")
TOLD_OF_PAIRS = ("brier", "flat", "called", "wrongly")


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


def judge_pairs(board: SimulatedBoard) -> NDArray[np.float64]:
    """Of each two neighbours, `[S - 1, 5]`: stated by `SOURCES_OF_PAIRS`, verdicts of both, and what is true.

    A verdict is 1 where one is called better and is, -1 where it is not better, 0 where none is called so.
    """
    rule = find_rule(board.rule)
    known, gaps = know_board(board.matrix, rule), np.diff(-board.here)
    rows = []
    for i, gap in enumerate(gaps):
        found = known.judge(board.matrix.keys[i], board.matrix.keys[i + 1])
        assert not isinstance(found.better, Undefined)
        stated, paired = _paired(board.matrix.submissions([i, i + 1]), rule)
        own = 0.0 if found.verdict != "different" else np.sign(found.better - 0.5)
        rows.append((found.better, stated, own * np.sign(gap), paired * np.sign(gap), gap > 0))
    return np.array(rows, float)


def _paired(two: ScoreMatrix, rule: Rule) -> tuple[float, float]:
    """Probability by the paired t test that the first is better, and which one its verdict calls so (1, -1 or 0)."""
    differences = np.subtract(*(where_all_count(two, rule) or two).scores.T)
    found = weigh_differences(differences)
    if found.difference_p is None:
        return 0.5, 0.0
    sign = float(np.sign(found.mean))
    return 0.5 + sign * (1 - found.difference_p) / 2, sign if found.verdict == "different" else 0.0


def measure_pairs(family: str, sizes: Sequence[tuple[int, int]], boards: int) -> dict[str, Any]:
    """Brier scores, diagrams, and shares of pairs in which one is called better, and wrongly."""
    found = [judge_pairs(simulate(family, *size, seed)) for size in sizes for seed in range(boards)]
    rows = np.concatenate(found)
    stated = [each[:, [0, 1, -1]] for each in found]
    result = {"family": family, "sizes": [list(size) for size in sizes], "boards": len(found)}
    for column, source in enumerate(SOURCES_OF_PAIRS):
        called = rows[:, 2 + column]
        shares = {"called": _rounded((called != 0).mean()), "wrongly": _rounded((called < 0).mean())}
        result[source] = _told(stated, column) | shares
    return result


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
    return result | {source: _told(found, column) for column, source in enumerate(SOURCES)}


def _told(found: Sequence[NDArray[np.float64]], column: int) -> dict[str, Any]:
    rows, bins = np.concatenate(found), diagram(found, column)
    return {
        "stated": _rounded(rows[:, column].mean()),
        "brier": _rounded(((rows[:, column] - rows[:, -1]) ** 2).mean()),
        "flat": is_flat(bins),
        "diagram": [{name: _rounded(value) for name, value in vars(b).items()} for b in bins],
    }


def _rounded(value: float) -> float:
    return round(float(value), 4)


def draw(rows: Sequence[dict[str, Any]], question: str, source: str) -> Chart:
    """The diagrams of all families, in one chart."""
    told = {row["family"]: row[question][source]["diagram"] for row in rows}
    return _draw(told, f"{QUESTIONS[question]}: {source}")


def _draw(told: Mapping[str, Sequence[Mapping[str, Any]]], title: str) -> Chart:
    series = {family: [ReliabilityBin(**b) for b in bins] for family, bins in told.items()}
    return draw_reliability(series, title)


def main() -> None:
    """Measure all families and write the results and their figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--boards", type=int, default=250, help="of each family and size")
    boards = options.parse_args().boards
    with ProcessPoolExecutor(len(FAMILIES)) as pool:
        rows = list(pool.map(measure, FAMILIES, [SIZES] * len(FAMILIES), [boards] * len(FAMILIES)))
        pairs = [
            list(pool.map(measure_pairs, FAMILIES, [sizes] * len(FAMILIES), [boards] * len(FAMILIES)))
            for sizes in (SIZES, SIZES_OF_TWO)
        ]
    for row in rows:
        for question in QUESTIONS:
            told = {source: tuple(row[question][source].values())[:3] for source in SOURCES}
            print(row["family"], question, "true", row[question]["true"], told)
    for row in (*pairs[0], *pairs[1]):
        told = {source: [row[source][name] for name in TOLD_OF_PAIRS] for source in SOURCES_OF_PAIRS}
        print(row["family"], row["sizes"], told)
    code = code_from("benchmarks.calibration.__main__")  # a test fails where one of them has changed since
    record = {"population": POPULATIONS[Population.DATASETS], "code": code, "rows": rows}
    record |= {"pairs": pairs[0], "boards_of_two": pairs[1]}
    (RESULTS / "calibration.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    charts = [draw(rows, question, source).data for question in QUESTIONS for source in SOURCES]
    charts += [
        _draw({row["family"]: row[source]["diagram"] for row in pairs[0]}, f"{PAIR}: {source}").data
        for source in SOURCES_OF_PAIRS
    ]
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(json.dumps({"charts": charts, "tables": []}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
