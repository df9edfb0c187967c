"""MAML and USL over the seven Gaussian benchmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anyshot_analysis.diversity.coefficient import Interval, diversity
from anyshot_analysis.diversity.distance import task2vec_distances
from anyshot_analysis.diversity.hellinger import (
    PUBLISHED_SIGMA_M,
    PUBLISHED_TASK2VEC,
    hellinger_diversity,
    published_benchmarks,
)
from anyshot_analysis.diversity.task2vec import embed_task
from anyshot_analysis.gaussian.perceptron import draw_parameters
from anyshot_analysis.gaussian.world import World, draw_tasks, draw_world
from anyshot_analysis.jobs.gaussians import Parameters
from anyshot_analysis.jobs.gaussians import make as compare_learners
from anyshot_analysis.jobs.inputs import Inputs, silent
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.studies.reproduce.material import Material
from anyshot_analysis.undefined import require
from anyshot_core.charts import draw_curves
from anyshot_core.report.estimates import Estimate, around, resampled
from anyshot_scoring.reliability.agreement import tau_b
from anyshot_scoring.summary import Group

WIDTH, ITERATIONS, TASKS, EMBEDDED = 128, 4000, 500, 60


def embed_world(world: World, seed: int = 0, tasks: int = EMBEDDED) -> np.ndarray:
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


def correlation_of(exact: list[float], measured: list[Interval]) -> Estimate:
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


def make(material: Material) -> ReportPage:
    """Seven benchmarks, one seed."""
    exact = [hellinger_diversity(b) for b in published_benchmarks()]
    pages = [
        compare_learners(Inputs({}), Parameters(0.0, sigma, 1.0, 0.01, WIDTH, ITERATIONS, TASKS), silent)
        for sigma in PUBLISHED_SIGMA_M
    ]
    reports = [page.result for page in pages]
    late = [
        f"sigma_m {s:g}: {note}"
        for s, page in zip(PUBLISHED_SIGMA_M, pages, strict=True)
        for note in page.notes
    ]
    measured = [diversity(task2vec_distances(embed_world(draw_world(b, 0)))) for b in published_benchmarks()]
    embedded = [one.mean for one in measured]
    gaps = [r["verdict"]["mean"] for r in reports]
    rows = [
        [
            s,
            h,
            t,
            p,
            points(r["accuracy"]["MAML"]),
            points(r["accuracy"]["USL"]),
            points(g),
            r["verdict"]["verdict"],
        ]
        for s, h, t, p, r, g in zip(
            PUBLISHED_SIGMA_M, exact, embedded, PUBLISHED_TASK2VEC, reports, gaps, strict=True
        )
    ]
    learners = {
        name: [Group(i + 1, r["accuracy"][name], None, TASKS) for i, r in enumerate(reports)]
        for name in reports[0]["accuracy"]
    }
    pearson = float(np.corrcoef(exact, embedded)[0, 1])
    order = require(tau_b(embedded, PUBLISHED_TASK2VEC), "the order of the benchmarks")
    low = max(abs(g) for g, h in zip(gaps, exact, strict=True) if h < 0.6)
    return ReportPage(
        name="reproduce-gaussians",
        title="MAML and USL over seven Gaussian benchmarks",
        finding=(
            f"Below Hellinger diversity 0.6 MAML and USL differ by at most {points(low)} points; at the "
            f"most diverse benchmark MAML minus USL is {points(gaps[-1])} points. Hellinger and "
            f"Task2Vec diversity correlate "
            f"by {pearson:.3f}; the published order of the Task2Vec column has tau "
            f"{order:.2f} with ours."
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
        charts=[draw_curves(learners, "Accuracy by benchmark, least diverse first", "benchmark", "Accuracy")],
        listings=[
            PageTable(
                "Benchmarks",
                ("sigma_m", "Hellinger", "Task2Vec found", "published", "MAML", "USL", "gap", "verdict"),
                rows,
            )
        ],
        notes=[
            f"The paper's network (width {WIDTH}), optimizer, inner steps and {TASKS} test tasks. Reduced: at most "
            f"{ITERATIONS:,} meta-batches of 8 tasks (the paper: 14,000 of 100), one seed, {EMBEDDED} embedded tasks "
            "(500) with a random probe of the paper's size.",
            "Inputs of the learners are divided by the benchmark's overall deviation; the papers do "
            "not say that they do.",
            *late,
        ],
        result={
            "hellinger": exact,
            "task2vec": embedded,
            "gaps": gaps,
            "learners": reports,
            "conditions": {
                f"{learner} converged, sigma_m {s:g}": done
                for s, r in zip(PUBLISHED_SIGMA_M, reports, strict=True)
                for learner, done in r["converged"].items()
            },
            "correlation": pearson,
            "tau": order,
        },
        table={"sigma_m": PUBLISHED_SIGMA_M, "hellinger": exact, "task2vec": embedded, "gap": gaps},
    )
