"""MAML against USL on one Gaussian benchmark, fairly: same network, optimizer and stopping rule, paired tasks.

MAML trains with five inner steps and is tested with five, and with ten as the papers' MAML10 is.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from anyshot_analysis.comparison.equivalence import Equivalence, compare_paired
from anyshot_analysis.diversity.hellinger import GaussianBenchmark, hellinger_diversity
from anyshot_analysis.gaussian.maml import MamlSettings, Trained, adapted_hits, meta_train, tasks_of
from anyshot_analysis.gaussian.usl import UslSettings, regression_hits, train_union
from anyshot_analysis.gaussian.world import draw_tasks, draw_world, optimal_hits
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, counter
from anyshot_analysis.jobs.options import Tasks
from anyshot_analysis.pages import PageTable, ReportPage, bar_of, points
from anyshot_core.charts import draw_bars, draw_curves, draw_distributions
from anyshot_core.report.estimates import around, exact, mean
from anyshot_core.report.storage import estimate_words
from anyshot_core.wire.reports import Seed
from anyshot_core.words import count_of
from anyshot_scoring.summary import Group

TASKS = "other tasks of these test classes, one training seed"
TEST_STEPS = {"MAML": 5, "MAML, 10 steps": 10}  # inner steps at test time
PLACES = 40  # of a loss curve


@dataclass(frozen=True)
class Parameters:
    """The benchmark (standard deviations), and the scale of the experiment; the papers' width is 128."""

    mu_m: Annotated[float, Field(description="Mean of the means of the classes.")] = 0.0
    sigma_m: Annotated[float, Field(description="Standard deviation of the means of the classes.")] = 10.0
    mu_s: Annotated[float, Field(description="Mean of the standard deviations of the classes.")] = 1.0
    sigma_s: Annotated[
        float, Field(description="Standard deviation of the standard deviations of the classes.")
    ] = 0.01
    width: Annotated[int, Field(description="Neurons of each hidden layer; the papers have 128.")] = 64
    iterations: Annotated[
        int, Field(description="Meta-batches of MAML at most; it ends when its loss stops falling.")
    ] = 1000
    meta_batch: Annotated[int, Field(description="Tasks of each meta-batch; the papers have 100.")] = 8
    union_iterations: Annotated[
        int, Field(description="Batches of the union learner at most; it ends when its loss stops falling.")
    ] = 4000
    tasks: Tasks = 500
    seed: Seed = 0


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Train both, test on the same tasks."""
    p = parameters
    benchmark = GaussianBenchmark(p.mu_m, p.sigma_m, p.mu_s, p.sigma_s)
    world = draw_world(benchmark, p.seed)
    body = (1, p.width, p.width)
    maml = meta_train(
        tasks_of(world.split("train")),
        (*body, 5),
        p.seed,
        MamlSettings(iterations=p.iterations, meta_batch=p.meta_batch),
        counter(progress, "MAML", p.iterations),
    )
    union = train_union(
        world.split("train"),
        body,
        p.seed,
        UslSettings(iterations=p.union_iterations),
        counter(progress, "USL", p.union_iterations),
    )
    tasks = draw_tasks(world.split("test"), np.random.default_rng([p.seed, 1]), p.tasks)
    hits = {
        **{name: adapted_hits(maml.parameters, tasks, steps, 0.1) for name, steps in TEST_STEPS.items()},
        "USL": regression_hits(union.parameters, tasks),
        "Bayes rule": optimal_hits(world, tasks),
    }
    verdict = compare_paired(hits["MAML"], hits["USL"])
    if not isinstance(verdict, Equivalence):
        raise BadAnalysis(verdict.reason)
    gap = around("MAML minus USL", 100 * verdict.mean, 100 * verdict.half_width, "points", TASKS)
    diversity = hellinger_diversity(benchmark)
    trained = {"MAML": maml, "USL": union}
    late = [name for name, own in trained.items() if not own.converged]
    return ReportPage(
        name="gaussian",
        title="MAML against union supervised learning",
        finding=(
            f"At Hellinger diversity {diversity:.3f}, the accuracy of MAML minus that of union supervised learning "
            f"(USL) is {estimate_words(gap)}: {verdict.verdict.value} (margin "
            f"{count_of(100 * verdict.margin, 'point')})."
            + (f" The training loss of {' and '.join(late)} still fell when training ended." if late else "")
        ),
        population=f"{TASKS}; unit of resampling: the task, paired.",
        estimates=[
            *[mean(f"accuracy of {n}", h, "points", TASKS, scale=100) for n, h in hits.items()],
            gap,
            mean(
                "MAML, 10 steps, minus USL", hits["MAML, 10 steps"] - hits["USL"], "points", TASKS, scale=100
            ),
            exact("Hellinger diversity", diversity, "squared distance", "the benchmark itself"),
        ],
        charts=[
            draw_bars([bar_of(n, h) for n, h in hits.items()], "Accuracy", "Accuracy (points)"),
            draw_distributions(
                {"MAML minus USL": 100 * (hits["MAML"] - hits["USL"])},
                "Paired differences",
                "Difference a task (points)",
            ),
            *[
                draw_curves(
                    {name: loss_curve(own.losses)},
                    f"Training loss of {name}",
                    "step",
                    "Loss (nats)",
                    intervals=False,
                )
                for name, own in trained.items()
            ],
        ],
        listings=[
            PageTable(
                "Accuracy (points)", ("learner", "accuracy"), [[n, points(h.mean())] for n, h in hits.items()]
            )
        ],
        notes=[
            "Tasks are 5-way 10-shot. Hellinger diversity: the expected squared Hellinger distance of two classes, "
            "from 0 (all classes are the same) to 1. Bayes rule: what is best where the classes' distributions are "
            "known.",
            "Points are divided by the benchmark's overall deviation. USL standardises its features by the mean and "
            "the deviation of each task's support set; MAML does not.",
            steps_words(p, maml, union),
        ],
        result={
            "diversity": diversity,
            "verdict": verdict.to_dict(),
            "accuracy": {n: float(h.mean()) for n, h in hits.items()},
            "converged": {name: own.converged for name, own in trained.items()},
            "steps": {name: len(own.losses) for name, own in trained.items()},
            "losses": {
                name: [[g.key, g.mean] for g in loss_curve(own.losses)] for name, own in trained.items()
            },
        },
        table={"task": np.arange(p.tasks), **hits},
    )


def loss_curve(losses: NDArray[np.float64]) -> list[Group]:
    """Means of the training loss over at most forty equal parts of it, each at its last step."""
    parts = np.array_split(np.asarray(losses), min(PLACES, len(losses)))
    ends = np.cumsum([len(part) for part in parts])
    return [
        Group(int(end), float(part.mean()), None, len(part)) for end, part in zip(ends, parts, strict=True)
    ]


def steps_words(p: Parameters, maml: Trained, union: Trained) -> str:
    """How many steps each learner took until its loss stopped falling, or until the last one."""
    return (
        f"Steps taken: MAML {len(maml.losses):,} of {p.iterations:,} meta-batches of {p.meta_batch} tasks, USL "
        f"{len(union.losses):,} of {p.union_iterations:,} batches."
    )
