"""Several experiments in one report: the paper's figures 1 to 3, and what only a comparison of experiments can tell."""

import json
import re
from collections.abc import Sequence
from math import hypot
from pathlib import Path

from anyshot_analysis.pages import figures_of, write_report
from anyshot_core.charts import Bar, Chart, draw_bars, draw_curves, draw_difficulty
from anyshot_core.report.pages import wrap_page
from anyshot_core.report.storage import render_stored
from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.summary import Group
from anyshot_studies.experiment.checks import BadExperiment
from anyshot_studies.experiment.figures import LEAST, together
from anyshot_studies.experiment.finding import (
    FINDINGS,
    Finding,
    FindingVerdict,
    beside_published_of,
    sampled,
)
from anyshot_studies.experiment.join_report import FACTS, SCORES, Scores, manifest_of, portable, report_of
from anyshot_studies.experiment.page import findings_table, markdown_table, published
from anyshot_studies.experiment.report import write_findings
from anyshot_studies.experiment.tables import Row

CLAIM = "Tasks across domains are harder than within a domain"


def words_of(text: str) -> tuple[str, Path]:
    """Title and folder of `TITLE=FOLDER`; the folder's name without a title."""
    title, named, folder = text.rpartition("=")
    return (title if named else Path(folder).name), Path(folder)


def read_scores(title: str, folder: Path) -> Scores:
    """What an experiment has written. Raises `BadExperiment`."""
    try:
        rows = json.loads((folder / SCORES).read_text(encoding="utf-8"))
        own = folder / FINDINGS
        found = json.loads(own.read_text(encoding="utf-8")) if own.is_file() else []
        findings = tuple(Finding.from_dict(one) for one in found)
        run = json.loads((folder / FACTS).read_text(encoding="utf-8")) if (folder / FACTS).is_file() else {}
        facts = portable(run.get("facts", {}))
        return Scores(title, tuple(Row(**row) for row in rows), findings, facts, run.get("packs", {}))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BadExperiment(
            f"{folder} holds no experiment: `anyshot experiment baselines -o {folder}` writes {SCORES} there ({error})."
        ) from error


def write_joined(experiments: Sequence[Scores], sources: Sequence[Path], folder: Path) -> Path:
    """Figures (SVG), `findings.md` and `findings.json`, and the report as `result.json`, `figures.json`,
    `table.parquet` and `index.html`, whose path it returns.

    `sources` are the folders of the experiments. Raises `BadExperiment`.
    """
    titles = [one.title for one in experiments]
    if len(set(titles)) < len(titles):
        raise BadExperiment(f"Each experiment needs a title of its own; found {', '.join(titles)}.")
    folder.mkdir(parents=True, exist_ok=True)
    figures, compared = (
        draw_joined(experiments),
        [*harder_across(experiments), *gains_of_weights(experiments)],
    )
    report = report_of(experiments, compared, list(figures.values()))
    for name, chart in figures.items():
        (folder / f"{name}.svg").write_text(chart.file(), encoding="utf-8")
    found = [Finding.from_dict(one) for one in report.result["findings"]]
    beside = beside_published_of(report.estimates, [one.facts for one in experiments])
    tables = [findings_table(found), published(beside)]
    lines = [f"# {report.title}", *[line for table in tables for line in markdown_table(table)]]
    (folder / "findings.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_findings(found, folder)
    summary = write_report(report, folder, manifest_of(experiments, sources))
    page = (folder / "page.html").rename(folder / "index.html")
    body = render_stored(summary, figures_of(report), published=beside)
    page.write_text(wrap_page(report.title, body), encoding="utf-8")
    return page


def draw_joined(experiments: Sequence[Scores]) -> dict[str, Chart]:
    """`figure-1`: all scores; `figure-2-ways`, `figure-2-shots`: curves; `figure-3-TITLE`: difficulty of datasets."""
    bars = [
        Bar(f"{name}, {one.title}", total.mean, total.half_width)
        for name in _names(experiments)
        for one in experiments
        for total in one.groups("all").get(name, [])
    ]
    drawn = {"figure-1": draw_bars(bars, "Figure 1: normalized accuracy, 95 % over tasks")}
    for by in ("ways", "shots"):
        curves = {
            f"{name}, {one.title}": together(parts)
            for one in experiments
            for name, parts in one.groups(by).items()
            if len(parts) > 1  # tasks of one number say nothing of another
        }
        drawn[f"figure-2-{by}"] = draw_curves(
            curves, f"Figure 2: by number of {by}, {LEAST} tasks a point at least, 95 % over tasks", by
        )
    for one in experiments:
        parts = {name: own for name, own in one.groups("dataset").items() if name != "random"}
        scores = {name: {str(part.key): part.mean for part in own} for name, own in parts.items()}
        halves = {name: {str(part.key): part.half_width for part in own} for name, own in parts.items()}
        if scores:
            slug = re.sub(r"[^a-z0-9]+", "-", one.title.lower()).strip("-")
            drawn[f"figure-3-{slug}"] = draw_difficulty(
                measure_difficulty(scores, halves=halves),
                f"Figure 3: difficulty of the datasets, {one.title}, 95 % over tasks",
                who="baseline",
            )
    return drawn


def harder_across(experiments: Sequence[Scores]) -> list[Finding]:
    """For each baseline that ran within and across domains: the difference of its means, whose tasks are not paired.

    Experiments go together whose titles go on alike after *within* and *cross*.
    """
    by_title = {one.title.lower(): one for one in experiments}
    found = []
    for title, within in by_title.items():
        rest = title.removeprefix("within")
        cross = by_title.get(f"cross{rest}")
        if rest != title and cross is not None:
            found += _differences(within, cross, CLAIM + ": {}", f"{{}}: within minus across{rest}")
    return found


def gains_of_weights(experiments: Sequence[Scores]) -> list[Finding]:
    """For each baseline that ran with pretrained and with random weights, by titles that end in these words."""
    by_title = {one.title.lower(): one for one in experiments}
    found = []
    for title, pretrained in by_title.items():
        side = title.removesuffix("pretrained")
        plain = by_title.get(f"{side}random")
        if side != title and plain is not None:
            where = f", {side.strip(' ,')}" if side.strip(" ,") else ""
            claim = f"Pretrained weights help{where}: {{}}"
            found += _differences(pretrained, plain, claim, f"{{0}} (pretrained) minus {{0}}{where}")
    return found


def _differences(first: Scores, second: Scores, claim: str, name: str) -> list[Finding]:
    """Of each baseline of both, but `random`, that the first mean is above the second."""
    own, other = first.groups("all"), second.groups("all")
    return [
        _difference(own[key][0], other[key][0], claim.format(key.replace("_", " ")), name.format(key))
        for key in own
        if key in other and key != "random"
    ]


def _difference(first: Group, second: Group, claim: str, name: str) -> Finding:
    difference = first.mean - second.mean
    if first.half_width is None or second.half_width is None:
        words = f"difference {difference:+.3f}, no interval: a single task"
        return Finding(claim, FindingVerdict.UNDECIDED, words, sampled(name, difference, None))
    half = hypot(first.half_width, second.half_width)
    ends = difference - half, difference + half
    words = f"difference {difference:+.3f} [{ends[0]:+.3f}, {ends[1]:+.3f}], 95 % over other tasks of both"
    words += f"; {first.tasks} and {second.tasks} tasks"
    return Finding(claim, FindingVerdict.above_zero(*ends), words, sampled(name, difference, ends))


def _names(experiments: Sequence[Scores]) -> list[str]:
    return list(dict.fromkeys(name for one in experiments for name in one.groups("all")))
