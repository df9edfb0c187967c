"""Several experiments in one report: the paper's figures 1 to 3, and what only a comparison of experiments can tell."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import hypot
from pathlib import Path

from anyshot_analysis.studies.experiment.checks import BadExperiment
from anyshot_analysis.studies.experiment.findings import Finding
from anyshot_analysis.studies.experiment.tables import Row
from anyshot_core.charts import Bar, Chart, draw_bars, draw_curves, draw_difficulty
from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.summary import Group

SCORES = "scores.json"
CLAIM = "Tasks across domains are harder than within a domain"


@dataclass(frozen=True)
class Scores:
    """The tables of one experiment under the title that it has in the report."""

    title: str
    rows: tuple[Row, ...]

    def groups(self, by: str) -> dict[str, list[Group]]:
        """Of each baseline the means by a column, in its order."""
        found: dict[str, list[Group]] = {}
        for row in self.rows:
            if row.by == by:
                key = int(row.key) if by in ("ways", "shots") else row.key
                found.setdefault(row.baseline, []).append(Group(key, row.mean, row.half_width, row.tasks))
        return found


def words_of(text: str) -> tuple[str, Path]:
    """Title and folder of `TITLE=FOLDER`; the folder's name without a title."""
    title, named, folder = text.rpartition("=")
    return (title if named else Path(folder).name), Path(folder)


def read_scores(title: str, folder: Path) -> Scores:
    """What an experiment has written. Raises `BadExperiment`."""
    try:
        rows = json.loads((folder / SCORES).read_text(encoding="utf-8"))
        return Scores(title, tuple(Row(**row) for row in rows))
    except (OSError, ValueError, TypeError) as error:
        raise BadExperiment(
            f"{folder} holds no experiment: `anyshot experiment baselines -o {folder}` writes {SCORES} there ({error})."
        ) from error


def write_joined(experiments: Sequence[Scores], folder: Path) -> Path:
    """Figures as SVG, `scores.json`, `findings.md` and `index.html`, whose path it returns. Raises `BadExperiment`."""
    titles = [one.title for one in experiments]
    if len(set(titles)) < len(titles):
        raise BadExperiment(f"Each experiment needs a title of its own; found {', '.join(titles)}.")
    folder.mkdir(parents=True, exist_ok=True)
    figures, findings = draw_joined(experiments), harder_across(experiments)
    for name, chart in figures.items():
        (folder / f"{name}.svg").write_text(chart.file(), encoding="utf-8")
    lines = [f"- {one.claim}: **{one.verdict}**. {one.evidence}" for one in findings]
    (folder / "findings.md").write_text(
        "\n".join(["# Experiments side by side", "", *lines]) + "\n", encoding="utf-8"
    )
    page = folder / "index.html"
    page.write_text(_page(figures, findings), encoding="utf-8")
    return page


def draw_joined(experiments: Sequence[Scores]) -> dict[str, Chart]:
    """`figure-1`: all scores; `figure-2-ways`, `figure-2-shots`: curves; `figure-3-TITLE`: difficulty of datasets."""
    bars = [
        Bar(f"{name}, {one.title}", total.mean, total.half_width)
        for name in _names(experiments)
        for one in experiments
        for total in one.groups("all").get(name, [])
    ]
    drawn = {"figure-1": draw_bars(bars, "Normalized accuracy, 95 % over tasks")}
    for by in ("ways", "shots"):
        curves = {
            f"{name}, {one.title}": parts for one in experiments for name, parts in one.groups(by).items()
        }
        drawn[f"figure-2-{by}"] = draw_curves(curves, f"By number of {by}", by)
    for one in experiments:
        scores = {
            name: {str(part.key): part.mean for part in parts}
            for name, parts in one.groups("dataset").items()
            if name != "random"
        }
        if scores:
            slug = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-")
            drawn[f"figure-3-{slug}"] = draw_difficulty(measure_difficulty(scores, None, None))
    return drawn


def harder_across(experiments: Sequence[Scores]) -> list[Finding]:
    """For each baseline that ran within and across domains: the difference of its means, whose tasks are not paired."""
    sides = {
        side: [one for one in experiments if one.title.lower().startswith(side)]
        for side in ("within", "cross")
    }
    found = []
    for within in sides["within"]:
        for cross in sides["cross"]:
            if within.title.lower().removeprefix("within") != cross.title.lower().removeprefix("cross"):
                continue  # of other weights
            own, other = within.groups("all"), cross.groups("all")
            found += [
                _harder(name, own[name][0], other[name][0])
                for name in own
                if name in other and name != "random"
            ]
    return found


def _harder(name: str, within: Group, cross: Group) -> Finding:
    claim = f"{CLAIM}: {name.replace('_', ' ')}"
    difference = within.mean - cross.mean
    if within.half_width is None or cross.half_width is None:
        return Finding(claim, "undecided", f"difference {difference:+.3f}, no interval: a single task")
    half = hypot(within.half_width, cross.half_width)
    verdict = "undecided" if abs(difference) <= half else "holds" if difference > 0 else "does not hold"
    words = f"within minus across {difference:+.3f} [{difference - half:+.3f}, {difference + half:+.3f}], 95 % over"
    return Finding(claim, verdict, f"{words} other tasks of both; {within.tasks} and {cross.tasks} tasks")


def _names(experiments: Sequence[Scores]) -> list[str]:
    return list(dict.fromkeys(name for one in experiments for name in one.groups("all")))


def _page(figures: dict[str, Chart], findings: Sequence[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.claim)}</td><td>{escape(one.verdict)}</td><td>{escape(one.evidence)}</td></tr>"
        for one in findings
    )
    table = f"<table><tr><th>Claim</th><th>Verdict</th><th>Evidence</th></tr>{rows}</table>" if rows else ""
    drawn = "".join(
        f"<figure><figcaption>{escape(name)}: {escape(chart.title)}</figcaption>{chart.svg}</figure>"
        for name, chart in figures.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Experiments side by side</title></head>'
        f"<body><h1>Experiments side by side</h1>{table}{drawn}</body></html>\n"
    )
