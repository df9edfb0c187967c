"""Which findings of the NeurIPS'22 competition paper hold on this pool, by paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anyshot_scoring.reliability import Interval, Population, ScoreMatrix, align, compare
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.experiment.carry_out import Done
from anyshot_starting_kit.experiment.tables import group

LEARNED = ("prototypical_networks", "matching_networks", "fine_tuning")
FLOORS = ("train_from_scratch", "nearest_prototype")
PAPER = (
    "train_from_scratch",
    "fine_tuning",
    "matching_networks",
    "prototypical_networks",
    "fo_maml",
    "metadelta",
)
PRETRAINED, REPLICATES = "pretrained", 2_000


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the paper or of our aims, whether it holds here, and the evidence.

    `verdict` is "holds", "does not hold", "undecided" (the interval contains 0) or "not tested".
    """

    claim: str
    verdict: str
    evidence: str


def find(done: Sequence[Done]) -> list[Finding]:
    """All findings that the runs at hand can speak to."""
    matrix = _matrix(done)
    if matrix is None:
        return [Finding("Any comparison", "not tested", "no two baselines finished on the same seeds")]
    tables = {run.name: run.table for run in done if run.table is not None and run.name in matrix.keys}
    return [
        *[_above(matrix, learned, floor) for learned in LEARNED for floor in FLOORS],
        *_order(matrix),
        *_pretrained(matrix),
        *[_monotone(done, name, by) for name in tables for by in ("ways", "shots")],
    ]


def difference(
    matrix: ScoreMatrix, first: str, second: str
) -> tuple[float, Interval | None, Interval | None]:
    """Mean paired difference and its 95 % intervals over other tasks and over other datasets."""
    result = compare(matrix, first, second, replicates=REPLICATES)
    intervals = [result.bootstrap[p] for p in (Population.TASKS, Population.DATASETS)]
    tasks, datasets = (part if isinstance(part, Interval) else None for part in intervals)
    return result.mean, tasks, datasets


def _matrix(done: Sequence[Done]) -> ScoreMatrix | None:
    """Baselines that finished on every seed."""
    seeds = sorted({run.seed for run in done})
    found: dict[str, dict[int, TaskTable]] = {}
    for run in done:
        if run.table is not None:
            found.setdefault(run.name, {})[run.seed] = run.table
    complete = {name: [own[s] for s in seeds] for name, own in found.items() if len(own) == len(seeds)}
    return align(complete) if len(complete) > 1 else None


def _above(matrix: ScoreMatrix, first: str, second: str) -> Finding:
    claim = f"{_shown(first)} is above {_shown(second)}"
    if first not in matrix.keys or second not in matrix.keys:
        return Finding(claim, "not tested", "one of them is not in this experiment")
    mean, tasks, datasets = difference(matrix, first, second)
    return Finding(claim, _verdict(tasks), _words(mean, tasks, datasets, matrix))


def _order(matrix: ScoreMatrix) -> list[Finding]:
    """With random weights prototypical networks are first of the paper's six."""
    others = [name for name in PAPER if name in matrix.keys and name != "prototypical_networks"]
    if "prototypical_networks" not in matrix.keys or not others:
        return []
    best = max(others, key=lambda name: float(matrix.column(name).mean()))
    mean, tasks, datasets = difference(matrix, "prototypical_networks", best)
    claim = f"With random weights, prototypical networks are first of the paper's (next best here: {_shown(best)})"
    return [Finding(claim, _verdict(tasks), _words(mean, tasks, datasets, matrix))]


def _pretrained(matrix: ScoreMatrix) -> list[Finding]:
    found = []
    for name in PAPER:
        other = f"{name} ({PRETRAINED})"
        if name in matrix.keys and other in matrix.keys:
            part = _above(matrix, other, name)
            extra = " (the paper: not for FO-MAML)" if name == "fo_maml" else ""
            found.append(Finding(part.claim + extra, part.verdict, part.evidence))
    return found or [
        Finding(
            "Pretrained weights beat random ones", "not tested", "no pretrained weights in this experiment"
        )
    ]


def _monotone(done: Sequence[Done], name: str, by: str) -> Finding:
    """Normalized accuracy falls with ways, rises with shots: the slope over all tasks and its interval."""
    table = TaskTable.concatenate([run.table for run in done if run.name == name and run.table is not None])
    wanted, word = (-1.0, "falls with the ways") if by == "ways" else (1.0, "rises with the shots")
    claim = f"{_shown(name)}: normalized accuracy {word}"
    x, y = getattr(table, by).astype(float), table.normalized_accuracy
    if len(np.unique(x)) < 2 or len(y) < 4:
        return Finding(claim, "not tested", f"all tasks have the same {by}")
    low, slope, high = _slope(x - x.mean(), y - y.mean())
    sides = sorted((wanted * low, wanted * high))
    verdict = "holds" if sides[0] > 0 else "does not hold" if sides[1] < 0 else "undecided"
    parts = group(table, by)
    ends = f"{parts[0].mean:.3f} at {parts[0].key}, {parts[-1].mean:.3f} at {parts[-1].key}"
    return Finding(
        claim, verdict, f"slope {slope:+.4f} [{low:+.4f}, {high:+.4f}] a step over {len(y)} tasks; {ends}"
    )


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Least squares with a 95 % interval that allows unequal variances (HC1), over other tasks of these datasets."""
    slope = float(x @ y / (x @ x))
    residuals = y - slope * x
    error = float(np.sqrt(len(x) / (len(x) - 2) * np.sum((x * residuals) ** 2)) / (x @ x))
    return slope - 1.96 * error, slope, slope + 1.96 * error


def _verdict(interval: Interval | None) -> str:
    if interval is None or interval.holds(0.0):
        return "undecided"
    return "holds" if interval.low > 0 else "does not hold"


def _words(mean: float, tasks: Interval | None, datasets: Interval | None, matrix: ScoreMatrix) -> str:
    def shown(interval: Interval | None) -> str:
        return "undefined" if interval is None else f"[{interval.low:+.3f}, {interval.high:+.3f}]"

    return (
        f"difference {mean:+.3f}, 95 % over other tasks of these datasets {shown(tasks)},"
        f" over other datasets {shown(datasets)}; {len(matrix.scores)} tasks, {matrix.runs} seeds"
    )


def _shown(name: str) -> str:
    return name.replace("_", " ")
