"""Writes what an experiment has found so far: tables, figures, page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from anyshot_analysis.pages import plain
from anyshot_core.charts import Chart
from anyshot_core.data.layout import read_meta
from anyshot_core.protocols import AnyWayAnyShot, Protocol, Range
from anyshot_core.report.protocol_lines import write_protocol
from anyshot_core.report.storage import FIGURES
from anyshot_core.words import count_of
from anyshot_studies.experiment import facts as words
from anyshot_studies.experiment.carry_out import Done, comparable
from anyshot_studies.experiment.checks import BadExperiment
from anyshot_studies.experiment.comparisons import compare_all, make_matrix
from anyshot_studies.experiment.figures import draw_figures
from anyshot_studies.experiment.finding import FINDINGS, Finding, beside_published
from anyshot_studies.experiment.findings import find
from anyshot_studies.experiment.fingerprints import pack_digest
from anyshot_studies.experiment.further_evaluations import further_scores, gaps, write_further
from anyshot_studies.experiment.join_report import write_facts
from anyshot_studies.experiment.page import Content, make_html, make_markdown
from anyshot_studies.experiment.plan import Experiment
from anyshot_studies.experiment.site import Collected
from anyshot_studies.experiment.tables import BaselineTasks, make_rows, pooled, write_tables

PAGE = "index.html"
GO_ON = "run the same command to go on"


def write_report(
    experiment: Experiment, done: Sequence[Done], notes: Sequence[str] = (), command: str = ""
) -> tuple[str, ...] | None:
    """Tables, figures as pictures and as data, `index.html` and `findings.md` in the output folder.

    Returns the notes that the page has.

    `done` are all runs so far; where none of them finished nothing is written, and None returned.
    """
    runs, total = comparable(experiment, done), len(experiment.runs())
    entries = pooled(runs)
    if not entries:
        return None
    said = [f"{len(done)} of {total} runs are done: {GO_ON}."] if len(done) < total else []
    said += [*capped(experiment, entries), *notes]
    content = make_content(
        runs, facts_of(experiment, done, command), said, "pretrained" in experiment.settings
    )
    _write(replace(content, failures=[run for run in done if run.table is None]), experiment.output)
    packs = {read_meta(p)[0].name: pack_digest(p) for p in (*experiment.data.train, *experiment.data.test)}
    write_facts(dict(content.facts), packs, experiment.output)
    return tuple(said)


def write_collected(found: Collected, folder: Path, command: str, *, pretrained: bool) -> Path:
    """The same report of what a site's workers found; returns the path of its page. Raises `BadExperiment`."""
    entries = pooled(found.done)
    if not entries:
        raise BadExperiment("No run has finished yet: wait, and collect again.")
    tasks = max(len(run.table) for run in found.done if run.table is not None)
    facts = {
        "Carried out by": f"the workers of a site, in the phase {found.phase}",
        words.TESTED: words.names_words(sorted(set(entries[0].table.dataset.tolist()))),
        words.TASKS: words.tasks_words(tasks, ""),
        words.SEEDS: f"{max(entry.of for entry in entries)}, the phase's",
        words.COMMAND: command,
    }
    content = make_content(found.done, facts, (), pretrained)
    folder.mkdir(parents=True, exist_ok=True)
    _write(replace(content, further=found.further), folder)
    write_facts(facts, {}, folder)
    return folder / PAGE


def make_content(
    runs: Sequence[Done], facts: Mapping[str, str], notes: Sequence[str], pretrained: bool
) -> Content:
    """All that a report says of runs of which one has finished."""
    matrix, findings = make_matrix(runs), find(runs, pretrained=pretrained)
    return Content(
        facts=facts,
        notes=notes,
        entries=pooled(runs),
        comparisons=compare_all(matrix) if matrix is not None else [],
        findings=findings,
        failures=[run for run in runs if run.table is None],
        further=further_scores(runs),
        gaps=gaps(runs),
        published=beside_published(findings, [facts]),
    )


def _write(content: Content, folder: Path) -> None:
    write_tables(make_rows(content.entries), folder)
    figures = draw_figures(content.entries)
    for name, figure in figures.items():
        (folder / f"{name}.svg").write_text(figure.chart.file(), encoding="utf-8")
    store_figures([figure.chart for figure in figures.values()], folder)
    write_further(content.further, folder)
    write_findings(content.findings, folder)
    (folder / "findings.md").write_text(make_markdown(content), encoding="utf-8")
    (folder / PAGE).write_text(make_html(content, figures), encoding="utf-8")


def write_findings(findings: Sequence[Finding], folder: Path) -> None:
    """`findings.json`: each claim with its verdict, evidence and estimate."""
    rows = [one.to_dict() for one in findings]
    (folder / FINDINGS).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def store_figures(charts: Sequence[Chart], folder: Path) -> None:
    """`figures.json`: what the charts were drawn from, for the documentation."""
    data = {"charts": [plain(chart.data) for chart in charts], "tables": []}
    (folder / FIGURES).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def capped(experiment: Experiment, entries: Sequence[BaselineTasks]) -> list[str]:
    """The ways and shots that the tasks really have, where they are not those asked for."""
    table = entries[0].table
    tested = _tested(experiment)
    said = []
    for name, had in (("ways", table.ways), ("shots", table.shots)):
        wanted = getattr(tested, name, None)
        if not isinstance(wanted, Range):  # tasks that have as many as there are
            continue
        found = Range(int(had.min()), int(had.max()))
        if found.low < wanted.low or found.high < wanted.high:
            said.append(f"{_range(found)} {name} where {_range(wanted)} were asked for")
    return [f"The tasks have {', '.join(said)}."] if said else []


def page(experiment: Experiment) -> Path:
    """Where the page lies."""
    return experiment.output / PAGE


def _tested(e: Experiment) -> Protocol:
    """What the scores are of."""
    if e.within:
        return e.protocol_within()
    return e.roles.test if e.roles else AnyWayAnyShot(e.ways, e.shots, e.query)


def facts_of(e: Experiment, done: Sequence[Done], command: str) -> dict[str, str]:
    """What was run, in words; `conditions_of_experiments` reads which of the paper's settings it has."""
    changes = e.arms[0].changes.get("method", {})
    seconds, tested = sum(run.seconds for run in done), _tested(e)
    named = {"tested": tested, "trained": e.roles.train, "validated": e.roles.validation} if e.roles else {}
    query = getattr(tested, "query", None)
    facts = {
        words.DATA: words.data_words(e.data.generated, e.within),
        words.TRAINED: _names(e.data.train),
        words.TESTED: _names(e.split_datasets()[0] if e.within else e.data.test),
        words.TASKS: words.tasks_words(e.tasks, e.within),
        words.SEEDS: words.names_words([str(seed) for seed in e.seeds]),
        words.PROTOCOLS: words.names_words(
            [f"{use} by {write_protocol(p)}" for use, p in named.items() if p]
        ),
        words.WAYS: _range(getattr(tested, "ways", None)),
        words.SHOTS: _range(getattr(tested, "shots", None)),
        "Query": f"{query} images a class" if query else "",
        "Further evaluations": ", ".join(one.words for one in e.further),
        "Budget": f"{e.budget_seconds:g} seconds a run",
        words.SETTINGS: words.settings_words(e.settings, changes),
        "Compute": f"{seconds:.0f} seconds of participants' time in {count_of(len(done), 'run')}",
        words.COMMAND: command,
    }
    return {name: value for name, value in facts.items() if value}


def _names(packs: Sequence[Path]) -> str:
    return words.names_words([read_meta(path)[0].name for path in packs])


def _range(found: Range | int | None) -> str:
    if not isinstance(found, Range):
        return "" if found is None else str(found)
    return words.range_words(found.low, found.high)
