"""Organizer's report: accuracy of heads on base, validation and novel classes, and along their mixtures."""

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy import special

from anyshot_analysis.comparison.equivalence import EquivalenceVerdict, compare_paired
from anyshot_analysis.jobs.excluded_datasets import say_left_out
from anyshot_analysis.jobs.heads import features_of, heads_of
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, counter
from anyshot_analysis.jobs.options import (
    Backbone,
    Cache,
    Heads,
    Mixing,
    Pixels,
    Query,
    Shots,
    Tasks,
    Ways,
    Weights,
)
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.shift.evaluation import LAMBDAS, LambdaPoint, lambda_curves, split_sides_of_pool
from anyshot_analysis.undefined import Undefined
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import Estimate, around, mean
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Seed
from anyshot_core.words import count_of
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group


@dataclass(frozen=True)
class Parameters:
    """`weights` were trained on the base classes of the kit's split by `split_seed`.

    `mixing` is `weighted` (the papers' code, the default) or `coin` (their text).
    """

    heads: Heads = ("protonet", "r2d2", "metaoptnet-svm")
    backbone: Backbone = "conv4"
    pixels: Pixels = None
    weights: Weights = None
    cache: Cache = None
    ways: Ways = 5
    shots: Shots = 3
    query: Query = 5
    tasks: Tasks = 200
    mixing: Mixing = "weighted"
    split_seed: Annotated[
        int, Field(description="Seed of the kit's split of classes, by which the weights were trained.")
    ] = 0
    seed: Seed = 0


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Draw the curves. Raises `BadAnalysis` without trained weights."""
    p = parameters
    if p.weights is None:
        raise BadAnalysis(
            "nothing was trained: base and novel classes are the same to an untrained backbone, and a gap between them "
            "would be the luck of the split. Give weights that were trained on the base classes of the protocol "
            '{"name": "class_side", "side": "base", "images": "trained", "split_seed": SPLIT_SEED}'
        )
    features = features_of(inputs.test_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    sides = split_sides_of_pool(inputs.test_pool, features, p.split_seed)
    curve = lambda_curves(
        sides,
        heads_of(p.heads),
        LAMBDAS,
        p.ways,
        p.shots,
        p.query,
        p.tasks,
        p.seed,
        p.mixing,
        counter(progress, "Mixtures", len(LAMBDAS)),
        within=True,
    )
    return say_left_out(describe(curve, parameters), p.ways, sides.held_back, sides.novel)


def describe(curve: list[LambdaPoint], parameters: Parameters) -> ReportPage:
    """Set the found figures on a page: finding, tables, charts and what they are of."""
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
    apart = [
        (a, b)
        for a, b in combinations(names, 2)
        if all(is_settled(hits[a], hits[b]) for hits in (base, novel))
    ]
    settled = [pair for pair in flips if pair in apart]
    estimates = [one for n in names for one in estimates_of(n, base[n], novel[n])]
    return ReportPage(
        name="shift",
        title="In and out of distribution",
        finding=lost_on_novel(names, estimates) + order_words(orders, flips, settled, len(apart)),
        population=f"other {parameters.ways}-way {parameters.shots}-shot tasks of these base and novel classes; unit "
        "of resampling: the task. Not: other classes.",
        estimates=estimates,
        charts=[
            draw_curves(
                series,
                "Accuracy from BaseGen (0) to NovelGen (10)",
                "share of novel classes in tenths (lambda)",
                "Accuracy (points)",
            )
        ],
        listings=[
            PageTable(
                "In-distribution and out-of-distribution score (points)",
                ("head", "BaseGen (base classes)", "NovelGen (new classes)", "lost, 95 % interval"),
                [
                    [
                        n,
                        points(base[n].mean()),
                        points(novel[n].mean()),
                        lost_words(base[n], novel[n]),
                    ]
                    for n in names
                ],
            ),
            PageTable(
                "First minus second (points), paired by task, with 95 % intervals",
                ("first", "second", "BaseGen", "NovelGen"),
                verdicts,
            ),
        ],
        notes=[
            "Each task is of one dataset. BaseGen: tasks of the classes that the backbone was trained on, with images "
            "that it has not seen; NovelGen: tasks of other classes of these datasets; lambda: share of novel ones.",
            "Heads are in order of their mean accuracy. A pair is told apart where its verdict is `different`: by a "
            "paired test at 5 %, over tasks.",
            f"The split is the kit's (protocol `class_side`), split seed {parameters.split_seed}.",
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


def lost_on_novel(names: list[str], estimates: list[Estimate]) -> str:
    """What each head loses between BaseGen and NovelGen, as a sentence."""
    claims = {one.name: one for one in estimates}
    lost = [f"{n} loses {estimate_words(claims[f'BaseGen minus NovelGen of {n}'])}" for n in names]
    return f"On novel classes {', '.join(lost)}."


def order_words(
    orders: list[list[str]], flips: list[tuple[str, str]], settled: list[tuple[str, str]], apart: int
) -> str:
    """Whether the heads keep their order, and how many pairs (`apart`) can be told apart; nothing of a single head."""
    heads = len(orders[0])
    if heads < 2:
        return ""
    base, novel = (", ".join(order) for order in orders)
    if base == novel:
        words = f" The order of heads is the same on both ({base})."
    else:
        pairs = count_of(len(flips), "pair") if flips else "No pair"
        sure = f", {len(settled) or 'none'} of them settled on both sides" if flips else ""
        words = (
            f" {pairs} of heads changed places between base classes ({base}) and novel ones ({novel}){sure}."
        )
    total = heads * (heads - 1) // 2
    if total == 1:
        return f"{words} The pair {'can' if apart else 'cannot'} be told apart on both sides."
    return f"{words} Of {total} pairs, {apart or 'none'} can be told apart on both sides."


def lost_words(base: np.ndarray, novel: np.ndarray) -> str:
    """BaseGen minus NovelGen in points; the tasks are different ones, so the errors add up."""
    half = lost_half_width(base, novel)
    return f"{points(base.mean() - novel.mean())} ± {'not known' if half is None else points(half)}"


def lost_half_width(base: np.ndarray, novel: np.ndarray) -> float | None:
    """Half the 95 % interval of the difference of two independent means (Welch); None where one is of a single task."""
    if min(len(base), len(novel)) < 2:
        return None
    parts = [own.var(ddof=1) / len(own) for own in (base, novel)]
    if sum(parts) == 0.0:
        return 0.0
    freedom = sum(parts) ** 2 / sum(
        p**2 / (len(own) - 1) for p, own in zip(parts, (base, novel), strict=True)
    )
    return float(special.stdtrit(freedom, 0.975) * np.sqrt(sum(parts)))


def estimates_of(name: str, base: np.ndarray, novel: np.ndarray) -> list[Estimate]:
    """BaseGen, NovelGen and what is lost between them."""
    over = "other tasks of these base and novel classes"
    lost, half = base.mean() - novel.mean(), lost_half_width(base, novel)
    return [
        mean(f"BaseGen of {name}", base, "points", over, scale=100),
        mean(f"NovelGen of {name}", novel, "points", over, scale=100),
        around(
            f"BaseGen minus NovelGen of {name}",
            100 * lost,
            None if half is None else 100 * half,
            "points",
            over,
        ),
    ]


def group(point: LambdaPoint, name: str) -> Group:
    """A point of a curve, in points; the axis counts tenths, so that its ticks are whole."""
    hits = 100 * point.hits[name]
    return Group(round(10 * point.share), *t_interval(hits), len(hits))


def is_settled(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether paired differences tell the two apart."""
    found = compare_paired(first, second)
    return not isinstance(found, Undefined) and found.verdict is EquivalenceVerdict.DIFFERENT


def verdict(first: np.ndarray, second: np.ndarray) -> str:
    """Which of two heads leads by how much, and whether that is settled."""
    found = compare_paired(first, second)
    if isinstance(found, Undefined):
        return str(found)
    return f"{points(found.mean)} ± {points(found.half_width)}, {found.verdict.value}"
