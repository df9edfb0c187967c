"""Organizer's report: accuracy of heads on base, validation and novel classes, and along their mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from anyshot_analysis.equivalence import Verdict, compare_paired
from anyshot_analysis.jobs.heads import features_of, heads_of
from anyshot_analysis.jobs.inputs import Inputs, Progress, counter
from anyshot_analysis.pages import Listing, Report, points
from anyshot_analysis.shift import LAMBDAS, LambdaPoint, lambda_curves, split_sides
from anyshot_analysis.undefined import Undefined
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group
from anyshot_starting_kit.charts import draw_curves


@dataclass(frozen=True)
class Parameters:
    """`mixing` is `weighted` (the papers' code, the default) or `coin` (their text)."""

    heads: tuple[str, ...] = ("protonet", "r2d2", "metaoptnet-svm")
    backbone: str = "conv4"
    pixels: int | None = None
    weights: str | None = None
    cache: str | None = None
    ways: int = 5
    shots: int = 3
    query: int = 5
    tasks: int = 200
    mixing: str = "weighted"
    seed: int = 0


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> Report:
    """Draw the curves."""
    p = parameters
    features = features_of(inputs.test_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    curve = lambda_curves(
        split_sides(features, seed=p.seed),
        heads_of(p.heads),
        LAMBDAS,
        p.ways,
        p.shots,
        p.query,
        p.tasks,
        p.seed,
        p.mixing,
        counter(progress, "Mixtures", len(LAMBDAS)),
    )
    return describe(curve, parameters)


def describe(curve: list[LambdaPoint], parameters: Parameters) -> Report:
    """The page."""
    names = list(curve[0].hits)
    series = {name: [group(point, name) for point in curve] for name in names}
    base, novel = curve[0].hits, curve[-1].hits
    orders = [sorted(names, key=lambda n, hits=hits: -hits[n].mean()) for hits in (base, novel)]
    flips = [
        (a, b)
        for a, b in combinations(names, 2)
        if (base[a].mean() - base[b].mean()) * (novel[a].mean() - novel[b].mean()) < 0
    ]
    verdicts = [
        [a, b, *[verdict(hits[a], hits[b]) for hits in (base, novel)]] for a, b in combinations(names, 2)
    ]
    settled = [(a, b) for a, b in flips if all(is_settled(hits[a], hits[b]) for hits in (base, novel))]
    changed = f"{len(flips)} pair(s) change their order ({len(settled)} of them settled on both sides)"
    same = changed if flips else "The order is the same"
    return Report(
        name="shift",
        title="In and out of distribution",
        finding=f"{same} between base classes ({', '.join(orders[0])}) and novel ones ({', '.join(orders[1])}).",
        population="other tasks of these base and novel classes; unit of resampling: the task. Not: other classes.",
        charts=[
            draw_curves(series, "Accuracy from BaseGen (0) to NovelGen (10)", "ten times lambda", "Accuracy")
        ],
        listings=[
            Listing(
                "In-distribution and out-of-distribution score (points)",
                ("head", "BaseGen", "NovelGen", "lost"),
                [
                    [
                        n,
                        points(base[n].mean()),
                        points(novel[n].mean()),
                        points(base[n].mean() - novel[n].mean()),
                    ]
                    for n in names
                ],
            ),
            Listing("Pairs, from paired differences", ("first", "second", "BaseGen", "NovelGen"), verdicts),
        ],
        notes=[
            "The backbone may have been trained on the base classes or none: it decides what the gap means.",
            f"Mixtures drawn by the rule {parameters.mixing!r}; support and query are disjoint.",
        ],
        result={
            "curves": {n: {f"{p.share:g}": float(p.hits[n].mean()) for p in curve} for n in names},
            "order_base": orders[0],
            "order_novel": orders[1],
            "changed_pairs": flips,
            "settled_pairs": settled,
        },
        table={
            "lambda": np.concatenate([np.full(len(p.hits[n]), p.share) for p in curve for n in names]),
            "head": np.concatenate([np.full(len(p.hits[n]), n) for p in curve for n in names]),
            "task": np.concatenate([np.arange(len(p.hits[n])) for p in curve for n in names]),
            "accuracy": np.concatenate([p.hits[n] for p in curve for n in names]),
        },
    )


def group(point: LambdaPoint, name: str) -> Group:
    """A point of a curve; the axis counts tenths, so that its ticks are whole."""
    mean, half = t_interval(point.hits[name])
    return Group(round(10 * point.share), mean, half, len(point.hits[name]))


def is_settled(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether paired differences tell the two apart."""
    found = compare_paired(first, second)
    return not isinstance(found, Undefined) and found.verdict is Verdict.DIFFERENT


def verdict(first: np.ndarray, second: np.ndarray) -> str:
    """Which of two heads leads by how much, and whether that is settled."""
    found = compare_paired(first, second)
    if isinstance(found, Undefined):
        return str(found)
    return f"{points(found.mean)} ± {points(found.half_width)}, {found.verdict.value}"
