"""Initialization by adaptation, and how far layers move: MAML, USL and MAML adapted, on one Gaussian benchmark."""

import numpy as np
import torch

from anyshot_analysis.diversity.hellinger import GaussianBenchmark
from anyshot_analysis.gaussian.maml import (
    MamlSettings,
    adapt,
    adapted_hits,
    head_names,
    meta_train,
    tasks_of,
    tensors,
)
from anyshot_analysis.gaussian.perceptron import Parameters, draw_parameters, hidden
from anyshot_analysis.gaussian.usl import UslSettings, regression_hits, train_union
from anyshot_analysis.gaussian.world import GaussianTasks, draw_tasks, draw_world
from anyshot_analysis.pages import PageTable, ReportPage, points
from anyshot_analysis.representations import Similarities, compare
from anyshot_analysis.undefined import require
from anyshot_core.charts import draw_curves, draw_heat_map
from anyshot_core.report.estimates import Estimate, exact, mean
from anyshot_scoring.summary import Group
from anyshot_studies.reproduce.material import Material

WIDTHS = (4, 8, 16, 32)
ITERATIONS, TASKS = 800, 200
BENCHMARK = GaussianBenchmark(0, 10, 1, 0.01)
STARTS = ("random", "MAML", "USL")
OVER = "other tasks of one draw of test classes, one seed of training"
ADAPTATIONS = ("none", "MAML steps", "MAML, 10 steps", "head only")


def hits_of(start: Parameters, tasks: GaussianTasks) -> np.ndarray:
    """Accuracies `[adaptations, tasks]` of one start; head only is logistic regression on frozen features."""
    steps = [adapted_hits(start, tasks, count, 0.1) for count in (0, 5, 10)]
    return np.stack([*steps, regression_hits(start, tasks)])


def estimates_of(hits: np.ndarray, moved: list[float]) -> list[Estimate]:
    """Each cell of the grid `[starts, adaptations, tasks]` at the largest width, and MAML's start beside USL's."""
    made = [
        mean(f"{start}, {adaptation}", hits[i, j], "points", OVER, scale=100)
        for i, start in enumerate(STARTS)
        for j, adaptation in enumerate(ADAPTATIONS)
    ]
    head, steps, ten = (ADAPTATIONS.index(name) for name in ("head only", "MAML steps", "MAML, 10 steps"))
    gaps = {
        "MAML minus USL, head only": hits[1, head] - hits[2, head],
        "MAML minus USL, MAML steps": hits[1, steps] - hits[2, steps],
        "MAML minus random, head only": hits[1, head] - hits[0, head],
        "MAML, 10 steps minus 5": hits[1, ten] - hits[1, steps],
    }
    made += [mean(name, gap, "points", OVER, scale=100) for name, gap in gaps.items()]
    one = "one task: how far one adaptation moved"
    layers = [
        exact(f"layer {i + 1} moved", m, "Procrustes distance", "these points", one)
        for i, m in enumerate(moved)
    ]
    return made + layers


def with_head(body: Parameters, seed: int) -> Parameters:
    """USL's body with a fresh 5-way head in place of its union head."""
    width = body["weight1"].shape[0]
    fresh = draw_parameters((1, width, width, 5), seed)
    return {name: fresh[name] if name in head_names(fresh) else body[name] for name in fresh}


def layer_distances(one: Parameters, two: Parameters, x: torch.Tensor) -> list[Similarities]:
    """Layer by layer on the same points."""
    with torch.no_grad():
        return [compare(a.numpy(), b.numpy()) for a, b in zip(hidden(one, x), hidden(two, x), strict=True)]


def make(material: Material) -> ReportPage:
    """The grid at every width, layer distances at the largest."""
    world = draw_world(BENCHMARK, 0)
    tasks = draw_tasks(world.split("test"), np.random.default_rng(1), TASKS)
    grid = np.zeros((len(WIDTHS), len(STARTS), len(ADAPTATIONS)))
    hits = np.zeros((*grid.shape[1:], 0))
    for i, width in enumerate(WIDTHS):
        settings = MamlSettings(iterations=ITERATIONS)
        maml = meta_train(tasks_of(world.split("train")), (1, width, width, 5), 0, settings).parameters
        usl = with_head(
            train_union(
                world.split("train"), (1, width, width), 0, UslSettings(iterations=6 * ITERATIONS)
            ).parameters,
            0,
        )
        starts = (draw_parameters((1, width, width, 5), 0), maml, usl)
        hits = np.stack([hits_of(start, tasks) for start in starts])
        grid[i] = hits.mean(axis=2)
    x = torch.from_numpy(world.split("test")[:, :20].reshape(-1, 1))
    sx, sy, _, _ = tensors(draw_tasks(world.split("test"), np.random.default_rng(2), 1))
    pairs = {
        "MAML - USL": layer_distances(maml, usl, x),  # pyright: ignore[reportPossiblyUnboundVariable]
        "MAML - adapted MAML": layer_distances(maml, adapt(maml, sx[0], sy[0], 5, 0.1), x),  # pyright: ignore[reportPossiblyUnboundVariable]
    }
    rows = [
        [name, i + 1, c.cka, c.procrustes, c.svcca, c.pwcca, c.images_a_column]
        for name, cs in pairs.items()
        for i, c in enumerate(cs)
    ]
    series = {
        f"{s}, {a}": [Group(w, float(100 * grid[k, i, j]), None, TASKS) for k, w in enumerate(WIDTHS)]
        for i, s in enumerate(STARTS)
        for j, a in enumerate(ADAPTATIONS)
    }
    moved = [require(c.procrustes, "the distance of the layers") for c in pairs["MAML - adapted MAML"]]
    return ReportPage(
        name="reproduce-initialization",
        title="Initialization by adaptation, and feature reuse",
        finding=(
            f"At width {WIDTHS[-1]}, the head alone brings MAML's start to {points(grid[-1, 1, -1])} "
            f"per cent, five steps of all layers to {points(grid[-1, 1, 1])} and ten to "
            f"{points(grid[-1, 1, 2])}; adaptation moves its layers by "
            f"{', '.join(f'{m:.3f}' for m in moved)} (Procrustes), "
            "first to last."
        ),
        population="other tasks of one draw of test classes; one seed; unit: the task.",
        estimates=estimates_of(hits, moved),
        charts=[
            draw_heat_map(
                grid[-1],
                STARTS,
                f"Accuracy at width {WIDTHS[-1]}",
                "accuracy of start and adaptation",
                columns=ADAPTATIONS,
            ),
            draw_curves(series, "Accuracy by width", "width", "Accuracy (points)", intervals=False),
        ],
        listings=[PageTable("Layers", ("pair", "layer", "CKA", "Procrustes", "SVCCA", "PWCCA", "N/D"), rows)],
        notes=[
            f"One Gaussian benchmark (0, 10, 1, 0.01), up to {ITERATIONS} meta-batches of 8 tasks, one seed, {TASKS} "
            "test tasks."
        ],
        result={
            "accuracy": {str(w): grid[k] for k, w in enumerate(WIDTHS)},
            "layers": {n: [c.to_dict() for c in cs] for n, cs in pairs.items()},
        },
        table={
            "width": np.repeat(WIDTHS, grid[0].size),
            "start": np.tile(np.repeat(STARTS, len(ADAPTATIONS)), len(WIDTHS)),
            "adaptation": np.tile(ADAPTATIONS, len(STARTS) * len(WIDTHS)),
            "accuracy": grid.ravel(),
        },
    )
