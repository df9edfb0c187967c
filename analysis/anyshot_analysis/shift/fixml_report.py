"""FIX-ML against ML: gains on base and novel classes over seeds and networks, paired."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from torch import nn

from anyshot_analysis.episodes import draw_episodes
from anyshot_analysis.heads import ProtoNet
from anyshot_analysis.jobs.heads import features_of
from anyshot_analysis.jobs.inputs import BadAnalysis, Inputs, Progress, counter
from anyshot_analysis.jobs.options import Backbone, Cache, Pixels, Shots, Tasks, Ways, Weights
from anyshot_analysis.pages import Cell, PageTable, ReportPage, bar_of, points
from anyshot_analysis.shift.evaluation import (
    LAMBDAS,
    Sides,
    accuracies,
    joined,
    mixture_episodes,
    split_sides,
)
from anyshot_analysis.shift.fixml import EpisodicSettings, QuerySource, embedded, train_arm
from anyshot_core.charts import draw_bars, draw_curves
from anyshot_core.report.estimates import mean
from anyshot_core.wire.reports import Choices, Seed
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group

SEEDS = "other seeds of training on this split of classes"
QUERIES: dict[QuerySource, str] = {
    "rest": "images outside the support",
    "all": "all images of a class, those of the support among them",
}
Row = dict[str, Any]  # of the Parquet table


@dataclass(frozen=True)
class Parameters:
    """`networks` are hidden and output widths of embeddings trained on cached features."""

    networks: Annotated[
        tuple[tuple[int, ...], ...], Field(description="Widths of the layers of each embedding, as JSON.")
    ] = ((32,), (512, 512))
    seeds: Annotated[int, Field(description="Trainings of each arm, at least three.")] = 3
    episodes: Annotated[int, Field(description="Meta-batches of training, four tasks each.")] = 400
    query_from: Annotated[
        QuerySource,
        Field(
            description="Where queries are drawn: the rest of the images, or all of them as the paper has it."
        ),
        Choices(("rest", "all")),
    ] = "rest"
    backbone: Backbone = "pixels"
    pixels: Pixels = None
    weights: Weights = None
    cache: Cache = None
    ways: Ways = 5
    shots: Shots = 3
    tasks: Tasks = 300
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.seeds < 3:
            raise BadAnalysis("FIX-ML is reported over at least three seeds")


def make(inputs: Inputs, parameters: Parameters, progress: Progress) -> ReportPage:
    """Train both arms of every network and seed; evaluate them on the same tasks."""
    p = parameters
    features = features_of(inputs.train_pool, p.backbone, p.pixels, p.weights, p.cache, progress)
    sides = split_sides(features, seed=p.seed)
    total = len(p.networks) * p.seeds * 2 * p.episodes
    advance = counter(progress, "Training", total)
    rows = []
    for widths in p.networks:
        for seed in range(p.seeds):
            for fixed in (False, True):
                settings = EpisodicSettings(
                    fixed, p.query_from, widths, p.ways, p.shots, 10, p.episodes, seed=p.seed + seed
                )
                run = train_arm(sides.trained, settings, advance)
                rows += [
                    {"network": "-".join(map(str, widths)), "seed": seed, "fixed": fixed, **measured}
                    for measured in measure(run.networks, run.losses, sides, parameters)
                ]
    return describe(rows, parameters)


def measure(
    networks: Sequence[nn.Module], losses: Sequence[float], sides: Sides, parameters: Parameters
) -> list[Row]:
    """Accuracy along lambda of the last snapshot and of the one best on validation classes."""
    p, head = parameters, ProtoNet()
    validation = []
    for network in networks:
        side = embedded(network, sides.validation)
        episodes = draw_episodes(side, p.ways, p.shots, 5, p.tasks, p.seed + 1)
        validation.append(float(accuracies(head, side.values, episodes).mean()))
    found = []
    for snapshot, place in (("last", len(networks) - 1), ("best validation", int(np.argmax(validation)))):
        union, base, novel = joined(
            embedded(networks[place], sides.held_back), embedded(networks[place], sides.novel)
        )
        for share in LAMBDAS:
            episodes = mixture_episodes(union, base, novel, share, p.ways, p.shots, 5, p.tasks, p.seed)
            hits = float(accuracies(head, union.values, episodes).mean())
            found.append({"snapshot": snapshot, "lambda": share, "accuracy": hits, "loss": losses[place]})
    return found


def gains(rows: list[Row], network: str, snapshot: str, share: float, key: str = "accuracy") -> np.ndarray:
    """FIX-ML minus ML, paired by seed, `[seeds]`."""
    own = [r for r in rows if (r["network"], r["snapshot"], r["lambda"]) == (network, snapshot, share)]
    arms = [{r["seed"]: r[key] for r in own if r["fixed"] is fixed} for fixed in (True, False)]
    return np.array([arms[0][seed] - arms[1][seed] for seed in sorted(arms[0])])


def with_half_width(values: np.ndarray) -> list[Cell]:
    """Mean over seeds and the half width of its 95 % t interval, in points."""
    mean, half = t_interval(values)
    return [points(mean), points(0.0 if half is None else half)]


def describe(rows: list[Row], parameters: Parameters) -> ReportPage:
    """The page: gains as found, whichever sign they have."""
    names = list(dict.fromkeys(r["network"] for r in rows))
    series, lines, bars = {}, [], []
    for name in names:
        for snapshot in ("last", "best validation"):
            series[f"{name}, {snapshot}"] = [
                Group(round(10 * s), *t_interval(100 * gains(rows, name, snapshot, s)), parameters.seeds)
                for s in LAMBDAS
            ]
        base, novel = gains(rows, name, "last", 0.0), gains(rows, name, "last", 1.0)
        loss = gains(rows, name, "last", 1.0, "loss")
        bars += [bar_of(f"{name}, BaseGen", base), bar_of(f"{name}, NovelGen", novel)]
        lines.append([name, *with_half_width(base), *with_half_width(novel), float(loss.mean())])
    words = "; ".join(
        f"network {n}: {b} ± {hb} points on base classes, {v} ± {hv} points on novel ones"
        for n, b, hb, v, hv, _ in lines
    )
    return ReportPage(
        name="fixml",
        title="One fixed support a class (FIX-ML) against resampled supports (ML)",
        finding=f"Accuracy with one fixed support a class (FIX-ML) minus that with resampled ones, at the last "
        f"snapshot (95 % intervals over {parameters.seeds} seeds): {words}.",
        population=f"{SEEDS}; unit of resampling: the seed, paired.",
        estimates=[
            mean(f"gain on {side}, network {n}", gains(rows, n, "last", share), "points", SEEDS, scale=100)
            for n in names
            for side, share in (("BaseGen", 0.0), ("NovelGen", 1.0))
        ]
        + [
            mean(
                f"training loss on resampled supports, FIX-ML minus ML, network {n}",
                gains(rows, n, "last", 1.0, "loss"),
                "nats",
                SEEDS,
            )
            for n in names
        ],
        charts=[
            draw_curves(
                series,
                "Gain of FIX-ML from BaseGen (0) to NovelGen (10)",
                "share of novel classes in tenths (lambda)",
                "Gain in accuracy (points)",
            ),
            draw_bars(bars, "Gain of FIX-ML, last snapshot", "Gain in accuracy (points)"),
        ],
        listings=[
            PageTable(
                "FIX-ML minus resampled supports, last snapshot: accuracy in points, loss in nats",
                (
                    "network",
                    "BaseGen",
                    "± (95 %)",
                    "NovelGen",
                    "± (95 %)",
                    "training loss on resampled supports",
                ),
                lines,
            )
        ],
        notes=[
            f"Tasks are {parameters.ways}-way {parameters.shots}-shot. Embeddings are trained on cached features of "
            f"{parameters.backbone}; a network is named by the widths of its layers. In training, queries come from "
            f"{QUERIES[parameters.query_from]}. {parameters.seeds} seeds: intervals have {parameters.seeds - 1} "
            "degrees of freedom.",
            "Supports of validation and test tasks are never fixed. BaseGen: new images of the base classes; NovelGen: "
            "novel classes; best validation: the snapshot with the highest accuracy on validation classes.",
        ],
        result={
            "gains": {
                n: {"BaseGen": b, "BaseGen ±": hb, "NovelGen": v, "NovelGen ±": hv, "unfixed_loss": loss}
                for n, b, hb, v, hv, loss in lines
            }
        },
        table={key: [r[key] for r in rows] for key in rows[0]},
    )
