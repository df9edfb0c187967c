"""Participant's view: which snapshot of a training run to submit, and how much that choice can be trusted."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyshot_analysis.comparison.equivalence import Equivalence, compare_paired
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress
from anyshot_analysis.pages import PageTable, ReportPage, in_points, points
from anyshot_analysis.shift.evaluation import ShiftChoice, Snapshots, choose_snapshots
from anyshot_analysis.undefined import Quantity, Undefined
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import Estimate, around, mean
from anyshot_core.wire.reports import SnapshotAdvice
from anyshot_core.words import count_of
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.reliability import tau_b
from anyshot_scoring.summary import Group

NEEDED, SCORES = ("train_loss", "base", "validation"), ("base", "validation", "novel")
CHOSEN = "by other validation tasks than these, so without the luck of the best"
SAME = Undefined("the same snapshot")
RULES = {"train_loss": "lowest training loss", "base": "best BaseGen", "validation": "best ValGen"}


class Parameters(SnapshotAdvice):
    """`margin` in accuracy: what is too small to matter when two snapshots are compared task by task."""


def read_scores(path: Path) -> dict[str, NDArray[np.float64]]:
    """`train_loss` `[S]`; `base`, `validation` and perhaps `novel` `[S, tasks]`, the same tasks for every snapshot."""
    with np.load(path, allow_pickle=False) as stored:
        found = {name: np.asarray(stored[name], np.float64) for name in stored.files}
    if missing := [name for name in NEEDED if name not in found]:
        raise BadAnalysis(f"{path.name} lacks {', '.join(missing)}; it holds {', '.join(found) or 'nothing'}")
    count = len(found["train_loss"])
    for name in SCORES:
        if name in found and (found[name].ndim != 2 or len(found[name]) != count or not found[name].size):
            raise BadAnalysis(f"{name} is to be [{count} snapshots, tasks], found {list(found[name].shape)}")
        if name in found and not np.isfinite(found[name]).all():
            raise BadAnalysis(f"{name} holds a value that is no number")
    if found["validation"].shape[1] < 2:
        raise BadAnalysis(
            "validation holds a single task: half of the tasks choose a snapshot, the others judge it"
        )
    if found["train_loss"].ndim != 1 or count < 2:
        raise BadAnalysis("train_loss is a list with one value for each of at least two snapshots")
    return found


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Advice from the file of `snapshots`."""
    (path,) = inputs.paths("snapshots", most=1)
    scores = read_scores(path)
    choosing, judging = scores["validation"][:, ::2], scores["validation"][:, 1::2]
    means = {name: scores[name].mean(axis=1) for name in SCORES if name in scores}
    means["validation"] = choosing.mean(axis=1)
    judged = means.get("novel", means["validation"])
    choices = choose_snapshots(Snapshots(scores["train_loss"], means["base"], means["validation"], judged))
    best = next(choice.snapshot for choice in choices if choice.rule == RULES["validation"])
    verdicts = {c.rule: against(judging, best, c.snapshot, parameters.margin) for c in choices}
    progress("Comparing snapshots", 1, 1)
    return describe(
        scores,
        means,
        choices,
        verdicts,
        best,
        estimates_of(choices, verdicts, judging, best),
        parameters.margin,
    )


def against(tasks: NDArray[np.float64], best: int, other: int, margin: float) -> Equivalence | Undefined:
    """The advised snapshot against another, on validation tasks that had no part in choosing it."""
    if best == other:
        return SAME
    return compare_paired(tasks[best], tasks[other], margin)


def estimates_of(
    choices: list[ShiftChoice],
    verdicts: Mapping[str, Equivalence | Undefined],
    judging: NDArray[np.float64],
    best: int,
) -> list[Estimate]:
    """The advised snapshot, and what it is above those of the other rules, on tasks that chose neither."""
    over = "other tasks of these validation classes"
    found = [mean("advised snapshot", judging[best], "points", over, scale=100, selected=CHOSEN)]
    for choice in choices:
        own = verdicts[choice.rule]
        if isinstance(own, Equivalence):
            name = f"advised minus {choice.rule}"
            found.append(around(name, 100 * own.mean, 100 * own.half_width, "points", over, selected=CHOSEN))
    return found


def describe(
    scores: Mapping[str, NDArray[np.float64]],
    means: Mapping[str, NDArray[np.float64]],
    choices: list[ShiftChoice],
    verdicts: Mapping[str, Equivalence | Undefined],
    best: int,
    estimates: list[Estimate],
    margin: float,
) -> ReportPage:
    """The page; "novel lost" only where scores on novel classes were given."""
    known = "novel" in scores
    agreement: dict[str, Quantity] = {"base and validation": tau_b(means["base"], means["validation"])}
    if known:
        agreement |= {f"{n} and novel": tau_b(means[n], means["novel"]) for n in ("base", "validation")}
    rows = [
        [
            c.rule,
            c.snapshot + 1,
            points(means["base"][c.snapshot]),
            points(means["validation"][c.snapshot]),
            points(c.novel_lost) if known else Undefined("no scores on novel classes"),
            words_of(verdicts[c.rule]),
        ]
        for c in choices
    ]
    curves = {
        name: [in_points(Group(i + 1, *t_interval(row), len(row))) for i, row in enumerate(scores[name])]
        for name in means
    }
    by_base = next(c.snapshot for c in choices if c.rule == RULES["base"])
    turn = "the same as" if by_base == best else f"not snapshot {by_base + 1},"
    return ReportPage(
        name="snapshots",
        title="Which snapshot to take",
        finding=f"Take snapshot {best + 1} of {len(scores['train_loss'])}, best on validation classes: {turn} the one "
        f"that is best on base classes. {beside_last(verdicts['last'])}",
        population="other tasks of these classes; unit of resampling: the task, paired. Not: other classes.",
        estimates=estimates,
        charts=[draw_curves(curves, "Accuracy by snapshot", "snapshot", "Accuracy (points)")],
        listings=[
            PageTable(
                "Rules (points)",
                (
                    "rule",
                    "snapshot",
                    "BaseGen",
                    "ValGen",
                    "novel lost",
                    "advised minus this, on other validation tasks",
                ),
                rows,
            ),
            PageTable(
                "Order of the snapshots, Kendall's tau-b",
                ("between", "tau-b"),
                [[k, v] for k, v in agreement.items()],
            ),
        ],
        notes=[
            "BaseGen: accuracy on base classes, those that were trained on, with images that were not. ValGen: on "
            "validation classes. A snapshot that is best on base classes can be past its best on new ones. "
            "Every second validation task chooses, the others judge: on the tasks "
            "that chose it, the best of many equal snapshots would look better than the rest. The earliest snapshot "
            "wins ties. Neighbouring snapshots depend on each other, so tau-b comes without a p value.",
            "ValGen in the table is of the tasks that choose; the curve is of all. Novel lost: the highest accuracy "
            "on novel classes of any snapshot, less that of the rule's. Equivalent: by a test at 5 % the difference "
            f"is below {count_of(100 * margin, 'point')}.",
        ],
        result={
            "advised": best + 1,
            "rules": {c.rule: c.snapshot + 1 for c in choices},
            "novel_lost": {c.rule: c.novel_lost for c in choices}
            if known
            else Undefined("no scores on novel classes"),
            "tau_b": agreement,
        },
        table={
            "snapshot": np.arange(1, len(scores["train_loss"]) + 1),
            "train_loss": scores["train_loss"],
            **means,
        },
    )


def beside_last(verdict: Equivalence | Undefined) -> str:
    """Whether the choice matters: the advised snapshot beside the last one, which one would take unadvised."""
    if verdict == SAME:
        return "It is the last one."
    if isinstance(verdict, Undefined):
        return f"Whether it is better than the last one cannot be said: {verdict.reason}."
    size, side = abs(100 * verdict.mean), "below" if verdict.mean < 0 else "above"
    words = f"{size:.2f} ± {points(verdict.half_width)} points (95 %) {side}"
    return f"On other validation tasks it is {words} the last one: {verdict.verdict.value}."


def words_of(verdict: Equivalence | Undefined) -> str:
    """A paired comparison in a cell."""
    if isinstance(verdict, Undefined):
        return verdict.reason
    return f"{points(verdict.mean)} ± {points(verdict.half_width)}, {verdict.verdict.value}"
