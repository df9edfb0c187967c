"""The figures of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anyshot_analysis.studies.experiment.arms import PRETRAINED
from anyshot_analysis.studies.experiment.tables import BaselineTasks, group
from anyshot_core.charts import Bar, Chart, draw_bars, draw_curves, draw_difficulty
from anyshot_scoring.difficulty import measure_difficulty


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and a sentence on how to read it."""

    chart: Chart
    words: str


def draw_figures(entries: Sequence[BaselineTasks]) -> dict[str, Figure]:
    """Bars, curves over ways and shots, and the difficulty of the datasets; by file name."""
    totals = [(entry.label, group(entry.table, "all")[0]) for entry in entries]
    bars = [Bar(label, total.mean, total.half_width) for label, total in totals]
    figures = {
        "bars": Figure(
            draw_bars(bars, "Baselines on this pool"),
            "Mean over all tasks of all seeds; 0 is chance, 1 is perfect. The intervals are over tasks: overlapping"
            " ones may still differ, which only the paired differences tell.",
        ),
        "ways": Figure(
            _curves(entries, "ways"), "Mean over the tasks with so many classes; bands are 95 % intervals."
        ),
        "shots": Figure(
            _curves(entries, "shots"),
            "Mean over the tasks with so many labelled images a class; bands are 95 % intervals.",
        ),
    }
    parts = {
        entry.name: group(entry.table, "dataset")
        for entry in entries
        if entry.name != "random" and entry.seeds == entry.of
    }
    scores = {name: {str(g.key): g.mean for g in own} for name, own in parts.items()}
    halves = {name: {str(g.key): g.half_width for g in own} for name, own in parts.items()}
    if scores:
        best, worst = _extremes(scores)
        figures["difficulty"] = Figure(
            draw_difficulty(measure_difficulty(scores, best, worst, halves), who="baseline"),
            f"Intrinsic: what {best or 'the best baseline on it'} leaves to win. Modelling: by how much it is above"
            f" {worst or 'the worst'}. The intervals are 95 % over tasks; those of a difference take its two for"
            " independent, which is the wider side.",
        )
    return figures


def _curves(entries: Sequence[BaselineTasks], by: str) -> Chart:
    return draw_curves({entry.label: group(entry.table, by) for entry in entries}, f"By number of {by}", by)


def _extremes(scores: Mapping[str, object]) -> tuple[str | None, str | None]:
    """The paper's two baselines where they are here, else the best and worst on each dataset."""
    best = f"metadelta ({PRETRAINED})"
    return best if best in scores else None, "train_from_scratch" if "train_from_scratch" in scores else None
