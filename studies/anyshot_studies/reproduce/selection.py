"""Hyperparameters chosen by BaseGen, by ValGen, by cross-validation over classes, and by a few oracle calls."""

from collections.abc import Callable

import numpy as np

from anyshot_analysis.features import Features
from anyshot_analysis.flips.whitening import Change, moments, whiten_within
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.selection.rules import choose, cross_validate_classes, oracle_calls_lost, score_on
from anyshot_analysis.shift.evaluation import split_sides
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import mean
from anyshot_scoring.reliability import tau_b
from anyshot_scoring.summary import Group
from anyshot_studies.reproduce.material import WORDS, Material

SPLIT_WORDS = "other splits of these base classes; the novel classes stay"
SHRINKAGES = tuple(float(s) for s in np.round(np.geomspace(0.001, 1.0, 16), 4))
SHAPE, TASKS, SPLITS = (5, 3, 5), 600, 20


def configuration(shrinkage: float) -> Callable[[Features], Change]:
    """Whitening by base classes with this shrinkage."""
    return lambda base: whiten_within(moments(base), np.arange(base.classes), shrinkage)


def judge_split(features: Features, elsewhere: Features, seed: int) -> dict[str, np.ndarray]:
    """Scores `[configurations]` of every rule on one split of the base classes, and NovelGen."""
    sides = split_sides(features, (0.75, 0.25), seed=seed)
    fits = [configuration(s) for s in SHRINKAGES]
    changes = [fit(sides.trained) for fit in fits]
    found = {
        name: np.array([score_on(side, change, SHAPE, TASKS, seed) for change in changes])
        for name, side in (
            ("BaseGen", sides.held_back),
            ("ValGen", sides.validation),
            ("NovelGen", elsewhere),
        )
    }
    found["5-fold over classes"] = cross_validate_classes(
        sides.trained, fits, SHAPE, tasks=TASKS // 5, seed=seed
    )
    return found


def make(material: Material) -> ReportPage:
    """Base and validation classes are Set-0's in twenty splits, novel ones those of Set-1 and Set-2."""
    features, novel = material.features(0), material.features(1, 2)
    splits = [judge_split(features, novel, seed) for seed in range(SPLITS)]
    rules = ("BaseGen", "ValGen", "5-fold over classes")
    lost = {r: np.array([choose(r, own[r], own["NovelGen"]).novel_lost for own in splits]) for r in rules}
    calls = {
        k: np.array([oracle_calls_lost(o["NovelGen"], k) for o in splits])
        for k in range(1, len(SHRINKAGES) + 1)
    }
    means = {name: np.mean([own[name] for own in splits], axis=0) for name in (*rules, "NovelGen")}
    best = min(rules, key=lambda rule: lost[rule].mean())
    equal = next((k for k, v in calls.items() if v.mean() <= lost[best].mean()), len(SHRINKAGES))
    rows = [
        [rule, points(v.mean()), points(v.std(ddof=1)), tau_b(means[rule], means["NovelGen"])]
        for rule, v in lost.items()
    ]
    curves = {
        name: [Group(place + 1, float(100 * v), None, SPLITS) for place, v in enumerate(values)]
        for name, values in means.items()
    }
    return ReportPage(
        name="reproduce-selection",
        title="Choosing a hyperparameter without novel classes",
        finding=(
            f"Novel lost: {', '.join(f'{points(lost[r].mean())} points by {r}' for r in rules)}; {equal} oracle "
            f"call(s) of {len(SHRINKAGES)} lose no more than the best of them ({best})."
        ),
        population=f"other splits of these base classes ({SPLITS}); novel classes are the same in all.",
        estimates=[
            *[mean(f"novel lost by {r}", lost[r], "points", SPLIT_WORDS, scale=100) for r in rules],
            *[
                mean(f"novel lost by {k} oracle call(s)", calls[k], "points", SPLIT_WORDS, scale=100)
                for k in (1, 2, 4, len(SHRINKAGES))
            ],
            mean(
                "novel lost, BaseGen minus ValGen",
                lost["BaseGen"] - lost["ValGen"],
                "points",
                SPLIT_WORDS,
                scale=100,
            ),
        ],
        charts=[
            draw_curves(
                curves,
                "Accuracy by configuration",
                "configuration, weakest shrinkage first",
                "Accuracy (points)",
                intervals=False,
            ),
            draw_curves(
                {"novel lost": [Group(k, float(100 * v.mean()), None, SPLITS) for k, v in calls.items()]},
                "Expected loss by number of oracle calls",
                "oracle calls",
                "Novel lost (points)",
                intervals=False,
            ),
        ],
        listings=[
            PageTable(
                "Novel lost by rule (points)", ("rule", "mean", "sd over splits", "tau-b with NovelGen"), rows
            )
        ],
        notes=[
            WORDS,
            "Reduced: the hyperparameter is the shrinkage of a whitening learned in closed form from the base classes; "
            f"{TASKS} tasks of 5 ways and 3 shots a score. The backbone saw all classes of Set-0, so BaseGen, ValGen "
            "and cross-validation are optimistic alike.",
        ],
        result={
            "novel_lost": {r: float(v.mean()) for r, v in lost.items()},
            "oracle_calls": {str(k): float(v.mean()) for k, v in calls.items()},
            "scores": {name: v.tolist() for name, v in means.items()},
            "shrinkages": list(SHRINKAGES),
        },
        table={
            "split": np.repeat(np.arange(SPLITS), len(SHRINKAGES)),
            "shrinkage": np.tile(SHRINKAGES, SPLITS),
            **{n.replace(" ", "_"): np.concatenate([own[n] for own in splits]) for n in (*rules, "NovelGen")},
        },
    )
