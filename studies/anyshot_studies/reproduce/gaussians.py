"""MAML and USL over the seven Gaussian benchmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from anyshot_analysis.diversity.coefficient import MeanWithInterval, diversity
from anyshot_analysis.diversity.distance import task2vec_distances
from anyshot_analysis.diversity.hellinger import (
    PUBLISHED_SIGMA_M,
    PUBLISHED_TASK2VEC,
    hellinger_diversity,
    published_benchmarks,
)
from anyshot_analysis.diversity.task2vec import embed_task
from anyshot_analysis.gaussian.perceptron import draw_parameters
from anyshot_analysis.gaussian.report import Parameters
from anyshot_analysis.gaussian.report import make as compare_learners
from anyshot_analysis.gaussian.world import World, draw_tasks, draw_world
from anyshot_analysis.jobs.inputs import Inputs, silent
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.undefined import require
from anyshot_core.charts import Chart, draw_curves, draw_distributions, draw_heat_map
from anyshot_core.report.estimates import Estimate, around, resampled
from anyshot_scoring.reliability.agreement import tau_b
from anyshot_scoring.summary import Group
from anyshot_studies.reproduce.material import Material

WIDTH, TASKS = 128, 500  # the paper's
SHOWN = 15  # tasks of a heat map, as in the paper's figure 12
UNION_ITERATIONS = 16_000  # the union learner ends long before, when its loss stops falling


@dataclass(frozen=True)
class Size:
    """Meta-batches of MAML at most, tasks of each, and tasks that are embedded."""

    iterations: int
    meta_batch: int
    embedded: int


SMALL, FULL = Size(100, 100, 60), Size(14_000, 100, 500)


def embed_world(world: World, seed: int = 0, tasks: int = SMALL.embedded) -> np.ndarray:
    """Task2Vec embeddings `[tasks, filters]`, support and query merged; a random 1-128-128 probe as in the papers."""
    import torch
    from torch import nn

    probe = nn.Sequential(nn.Linear(1, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
    drawn = draw_parameters((1, 128, 128), seed)
    probe.load_state_dict(
        {f"{2 * i}.{kind}": drawn[f"{kind}{i}"] for i in range(2) for kind in ("weight", "bias")}
    )
    found = draw_tasks(world.split("train"), np.random.default_rng(seed), tasks)
    x = np.concatenate([found.support_x, found.query_x], axis=1) * world.scale
    y = np.concatenate([found.support_y, found.query_y], axis=1)
    return np.stack(
        [
            embed_task(probe, torch.from_numpy(xs.astype(np.float32)), ys, 125)
            for xs, ys in zip(x, y, strict=True)
        ]
    )


def correlation_of(exact: list[float], measured: list[MeanWithInterval]) -> Estimate:
    """Pearson's correlation of both diversities over the benchmarks, with the error of the embedded tasks."""
    means = np.array([one.mean for one in measured])
    errors = np.array([require(one.half_width, "the error of a diversity") for one in measured]) / 1.96
    redrawn = means + errors * np.random.default_rng(0).standard_normal((2000, len(means)))
    return resampled(
        "correlation of Hellinger and Task2Vec diversity",
        float(np.corrcoef(exact, means)[0, 1]),
        [float(np.corrcoef(exact, row)[0, 1]) for row in redrawn],
        "correlation",
        "other tasks of these seven benchmarks",
    )


def conditions_of(size: Size, reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the printed numbers stand under, whether it is met, and what was found here."""
    found = {
        f"meta-batches of {FULL.meta_batch} tasks": (size.meta_batch == FULL.meta_batch, size.meta_batch),
        f"{FULL.embedded} tasks embedded": (size.embedded >= FULL.embedded, size.embedded),
        "the paper's random probe": (False, "another draw of its weights"),
    }
    for sigma, own in zip(PUBLISHED_SIGMA_M, reports, strict=True):
        for name, done in own["converged"].items():
            words = f"{'' if done else 'not '}after {own['steps'][name]:,} steps"
            found[f"{name} converged, sigma_m {sigma:g}"] = (done, words)
    return {name: {"met": met, "found": str(words)} for name, (met, words) in found.items()}


def learn(sigma_m: float, size: Size) -> ReportPage:
    """MAML and USL on one benchmark."""
    training = Parameters(
        sigma_m=sigma_m,
        width=WIDTH,
        iterations=size.iterations,
        meta_batch=size.meta_batch,
        union_iterations=UNION_ITERATIONS,
        tasks=TASKS,
    )
    return compare_learners(Inputs({}), training, silent)


def draw_losses(reports: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """How each learner's training loss falls, one curve a benchmark."""
    return [
        draw_curves(
            {
                f"sigma_m {sigma:g}": [Group(step, value, None, 1) for step, value in own["losses"][name]]
                for sigma, own in zip(PUBLISHED_SIGMA_M, reports, strict=True)
            },
            f"Training loss of {name} by benchmark",
            "step",
            "Loss",
            intervals=False,
        )
        for name in reports[0]["losses"]
    ]


def draw_distances(distances: Sequence[np.ndarray]) -> list[Chart]:
    """Task2Vec distances of all pairs of tasks by benchmark, and of a few tasks each with each on one scale."""
    named = {f"sigma_m {sigma:g}": one for sigma, one in zip(PUBLISHED_SIGMA_M, distances, strict=True)}
    pairs = {name: one[np.triu_indices(len(one), 1)] for name, one in named.items()}
    highest, few = max(float(one.max()) for one in pairs.values()), [str(i + 1) for i in range(SHOWN)]
    return [
        draw_distributions(pairs, "Distances of tasks by benchmark", "Task2Vec distance"),
        *[
            draw_heat_map(
                one[:SHOWN, :SHOWN],
                few[: len(one)],
                f"Distances of tasks, {name}",
                "Task2Vec distance of two tasks",
                low=0.0,
                high=highest,
            )
            for name, one in named.items()
        ],
    ]


def make(material: Material, size: Size = SMALL) -> ReportPage:
    """Seven benchmarks, one seed."""
    exact = [hellinger_diversity(b) for b in published_benchmarks()]
    pages = [learn(sigma, size) for sigma in PUBLISHED_SIGMA_M]
    reports = [page.result for page in pages]
    distances = [
        task2vec_distances(embed_world(draw_world(b, 0), tasks=size.embedded)) for b in published_benchmarks()
    ]
    measured = [diversity(one) for one in distances]
    embedded = [one.mean for one in measured]
    gaps = [r["verdict"]["mean"] for r in reports]
    rows = [
        [
            s,
            h,
            t,
            p,
            points(r["accuracy"]["MAML"]),
            points(r["accuracy"]["MAML, 10 steps"]),
            points(r["accuracy"]["USL"]),
            points(g),
            r["verdict"]["verdict"],
            *(f"{count:,}" for count in r["steps"].values()),
        ]
        for s, h, t, p, r, g in zip(
            PUBLISHED_SIGMA_M, exact, embedded, PUBLISHED_TASK2VEC, reports, gaps, strict=True
        )
    ]
    learners = {
        name: [Group(i + 1, 100 * r["accuracy"][name], None, TASKS) for i, r in enumerate(reports)]
        for name in reports[0]["accuracy"]
    }
    pearson = float(np.corrcoef(exact, embedded)[0, 1])
    order = require(tau_b(embedded, PUBLISHED_TASK2VEC), "the order of the benchmarks")
    done = sum(r["converged"]["MAML"] for r in reports)
    more = [r["accuracy"]["MAML, 10 steps"] - r["accuracy"]["MAML"] for r in reports]
    low = max(abs(g) for g, h in zip(gaps, exact, strict=True) if h < 0.6)
    return ReportPage(
        name="reproduce-gaussians",
        title="MAML and USL over seven Gaussian benchmarks",
        finding=(
            f"Below Hellinger diversity 0.6 MAML and USL differ by at most {points(low)} points; at the "
            f"most diverse benchmark MAML minus USL is {points(gaps[-1])} points. Ten inner steps at test time "
            f"instead of five bring MAML {points(min(more))} to {points(max(more))} points. Hellinger and "
            f"Task2Vec diversity correlate "
            f"by {pearson:.3f}; the published order of the Task2Vec column has tau "
            f"{order:.2f} with ours. MAML had converged on {done} of {len(reports)} benchmarks."
        ),
        population="other tasks of one draw of 100 test classes; one seed; unit of resampling: the task, paired.",
        estimates=[
            *[
                replace(one, name=f"{one.name}, sigma_m {s:g}")
                for s, page in zip(PUBLISHED_SIGMA_M, pages, strict=True)
                for one in page.estimates
            ],
            *[
                around(
                    f"Task2Vec diversity, sigma_m {s:g}", d.mean, d.half_width, "mean distance", "other tasks"
                )
                for s, d in zip(PUBLISHED_SIGMA_M, measured, strict=True)
            ],
            correlation_of(exact, measured),
        ],
        charts=[
            draw_curves(
                learners,
                "Accuracy by benchmark, least diverse first",
                "benchmark",
                "Accuracy (points)",
                intervals=False,
            ),
            *draw_losses(reports),
            *draw_distances(distances),
        ],
        listings=[
            PageTable(
                "Benchmarks",
                (
                    *("sigma_m", "Hellinger", "Task2Vec found", "published", "MAML", "MAML, 10 steps", "USL"),
                    *("gap", "verdict"),
                    *("steps of MAML", "steps of USL"),
                ),
                rows,
            )
        ],
        notes=[
            f"The paper's network (width {WIDTH}), optimizer, inner steps and {TASKS} test tasks. At most "
            f"{size.iterations:,} meta-batches of {size.meta_batch} tasks (the paper: {FULL.iterations:,} of "
            f"{FULL.meta_batch}), one seed, {size.embedded} embedded tasks ({FULL.embedded}) with a random probe of "
            "the paper's size. Learners end when their loss stops falling.",
            "MAML trains with five inner steps; its column of ten steps is the same start after ten at test time.",
            "Inputs of the learners are divided by the benchmark's overall deviation; the papers do "
            "not say that they do.",
        ],
        result={
            "hellinger": exact,
            "task2vec": embedded,
            "gaps": gaps,
            "learners": reports,
            "conditions": conditions_of(size, reports),
            "correlation": pearson,
            "tau": order,
        },
        table={"sigma_m": PUBLISHED_SIGMA_M, "hellinger": exact, "task2vec": embedded, "gap": gaps},
    )
