"""Which findings of the NeurIPS'22 competition paper hold on this pool, by paired differences."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from scipy import stats

from anyshot_scoring.reliability import ScoreMatrix
from anyshot_scoring.table import TaskTable
from anyshot_studies.experiment import shape
from anyshot_studies.experiment.arms import PRETRAINED
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.comparisons import compare_two, has_single_tasks, make_matrix, shown
from anyshot_studies.experiment.finding import Finding, FindingVerdict, sampled
from anyshot_studies.experiment.tables import group

LEARNED = ("prototypical_networks", "matching_networks", "fine_tuning")
FLOORS = ("train_from_scratch", "nearest_prototype")
PAPER = (
    "train_from_scratch",
    "fine_tuning",
    "matching_networks",
    "prototypical_networks",
    "fo_maml_2022",
    "metadelta",
)
NOT_TESTED = FindingVerdict.NOT_TESTED
LEAST_TASKS = 20  # for a slope


def find(done: Sequence[Done], *, pretrained: bool = False) -> list[Finding]:
    """All findings that the runs at hand can speak to, and one line on what they cannot.

    `pretrained` says that the settings of all runs start from pretrained weights.
    """
    matrix, names = make_matrix(done), {run.name for run in done}
    slopes = [
        _monotone(done, name, by)
        for name in sorted(names - {"random"})
        if any(run.name == name and run.table is not None for run in done)
        for by in ("ways", "shots")
    ]
    if matrix is None:
        why = "; ".join(["no two baselines finished on the same seeds", *_failures(done, names)])
        return [Finding("Any comparison", NOT_TESTED, why), *slopes]
    pairs = [(learned, floor) for learned in LEARNED for floor in FLOORS]
    return [
        *[_above(done, matrix, *pair) for pair in pairs if names >= set(pair)],
        *_order(done, matrix, pretrained),
        *_shape(matrix),
        *[_pretrained(done, matrix, name) for name in PAPER if names >= {name, _with_weights(name)}],
        *slopes,
        *_absent(names, pretrained),
    ]


def _above(done: Sequence[Done], matrix: ScoreMatrix, first: str, second: str) -> Finding:
    claim = f"{_shown(first)} is above {_shown(second)}"
    failures = _failures(done, (first, second))
    if failures:
        return Finding(claim, NOT_TESTED, "; ".join(failures))
    return _finding(claim, matrix, first, second)


def _order(done: Sequence[Done], matrix: ScoreMatrix, pretrained: bool) -> list[Finding]:
    """With random weights prototypical networks are first of the paper's six, with pretrained ones MetaDelta++.

    Runs `(pretrained)` have weights; with `pretrained`, the settings of all say that they have.
    """
    if pretrained:
        return _first(done, matrix, "metadelta", PAPER, "pretrained")
    arms = [_with_weights(name) for name in PAPER]
    return [
        *_first(done, matrix, "prototypical_networks", PAPER, "random"),
        *_first(done, matrix, _with_weights("metadelta"), arms, "pretrained"),
    ]


def _first(
    done: Sequence[Done], matrix: ScoreMatrix, first: str, six: Sequence[str], weights: str
) -> list[Finding]:
    """That a baseline is first of the six, by its difference to the next best; nothing where it was not run."""
    names, others = {run.name for run in done}, [name for name in six if name != first]
    if first not in names:
        return []
    called = {"metadelta": "MetaDelta++ is"}.get(first.partition(" ")[0], f"{_shown(first)} are")
    claim = f"With {weights} weights, {called} first of the paper's"
    absent = [_shown(name) for name in others if name not in names]
    lacking = [*([f"absent: {', '.join(absent)}"] if absent else []), *_failures(done, six)]
    if lacking:
        return [Finding(claim, NOT_TESTED, "; ".join(lacking))]
    best = max(others, key=lambda name: float(matrix.column(name).mean()))
    found = _finding(f"{claim} (next best here: {_shown(best)})", matrix, first, best)
    assert found.estimate is not None  # it is a difference
    name = f"{first.partition(' ')[0]} minus the next best, {weights} weights"
    selected = "the next best is chosen by the same tasks"
    return [replace(found, estimate=replace(found.estimate, name=name, selected=selected))]


def _shape(matrix: ScoreMatrix) -> list[Finding]:
    """What the paper says of all methods together."""
    names = [name for name in matrix.keys if name != "random"]
    if len(names) < 2:
        return []
    found = [
        *(shape.do_not_cross(matrix, names, by) for by in ("ways", "shots")),
        shape.gains_early(matrix, names),
        shape.are_spread(matrix, names),
    ]
    return [one for one in found if one is not None]


def _pretrained(done: Sequence[Done], matrix: ScoreMatrix, name: str) -> Finding:
    part = _above(done, matrix, _with_weights(name), name)
    extra = " (the paper: not for FO-MAML)" if name == "fo_maml_2022" else ""
    return replace(part, claim=part.claim + extra)


def _absent(names: set[str], pretrained: bool) -> list[Finding]:
    """One line for all that the experiment cannot speak to."""
    wanted = [_shown(name) for name in dict.fromkeys((*LEARNED, *FLOORS, *PAPER)) if name not in names]
    if not pretrained and not any(_with_weights(name) in names for name in PAPER):
        wanted.append("pretrained weights")
    if not wanted:
        return []
    return [Finding(f"Claims about {', '.join(wanted)}", NOT_TESTED, "no run of theirs is here")]


def _failures(done: Sequence[Done], names: Sequence[str] | set[str]) -> list[str]:
    failed: dict[str, list[str]] = {}
    for run in done:
        if run.table is None and run.name in names:
            failed.setdefault(run.name, []).append(str(run.seed))
    return [
        f"{_shown(name)} failed on seed{'s' * (len(seeds) > 1)} {', '.join(seeds)}"
        for name, seeds in failed.items()
    ]


def _monotone(done: Sequence[Done], name: str, by: str) -> Finding:
    """Normalized accuracy falls with ways, rises with shots: the slope over all tasks and its interval."""
    table = TaskTable.concatenate([run.table for run in done if run.name == name and run.table is not None])
    wanted, word = (-1.0, "falls with the ways") if by == "ways" else (1.0, "rises with the shots")
    claim = f"{_shown(name)}: normalized accuracy {word}"
    x, y = getattr(table, by).astype(float), table.normalized_accuracy
    if len(y) < LEAST_TASKS:
        return Finding(claim, NOT_TESTED, f"{len(y)} tasks; at least {LEAST_TASKS} are needed")
    if len(np.unique(x)) < 2:
        return Finding(claim, NOT_TESTED, f"all tasks have the same {by}")
    low, slope, high = _slope(x - x.mean(), y - y.mean())
    verdict = FindingVerdict.above_zero(*sorted((wanted * low, wanted * high)))
    parts = group(table, by)
    ends = f"{parts[0].mean:.3f} at {parts[0].key}, {parts[-1].mean:.3f} at {parts[-1].key}"
    words = f"slope {slope:+.4f} [{low:+.4f}, {high:+.4f}] a step over {len(y)} tasks; {ends}"
    estimate = sampled(f"{name}: slope over {by}", slope, (low, high), "normalized accuracy a step")
    return Finding(claim, verdict, words, estimate)


def _slope(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Least squares with a 95 % t-interval that allows unequal variances (HC1), over other tasks of these datasets."""
    slope = float(x @ y / (x @ x))
    residuals = y - slope * x
    error = float(np.sqrt(len(x) / (len(x) - 2) * np.sum((x * residuals) ** 2)) / (x @ x))
    half = cast(float, stats.t.ppf(0.975, len(x) - 2)) * error
    return slope - half, slope, slope + half


def _finding(claim: str, matrix: ScoreMatrix, first: str, second: str) -> Finding:
    result = compare_two(matrix, first, second)
    seeds = f"{matrix.runs} seed{'s' * (matrix.runs > 1)}"
    words = (
        f"difference {result.mean:+.3f}, 95 % over other tasks of these datasets {shown(result.tasks)},"
        f" over other datasets {shown(result.datasets)}; {len(matrix.scores)} tasks, {seeds}"
    )
    words += "; a dataset has a single task in a run" if has_single_tasks(matrix) else ""
    interval = None if result.tasks is None else (result.tasks.low, result.tasks.high)
    return Finding(claim, result.verdict, words, sampled(f"{first} minus {second}", result.mean, interval))


def _with_weights(name: str) -> str:
    return f"{name} ({PRETRAINED})"


def _shown(name: str) -> str:
    return name.replace("_", " ")
