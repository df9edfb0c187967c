"""The figures and the page of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from anyshot_scoring.difficulty import measure_difficulty
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.charts import Bar, Chart, draw_bars, draw_curves, draw_difficulty
from anyshot_starting_kit.experiment.carry_out import Done
from anyshot_starting_kit.experiment.findings import Finding
from anyshot_starting_kit.experiment.tables import group

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;"
    "vertical-align:top}figure{margin:2rem 0}"
)


def draw_figures(tables: Mapping[str, TaskTable]) -> dict[str, Chart]:
    """Bars, curves over ways and shots, and the difficulty of the datasets; by file name."""
    totals = {name: group(table, "all")[0] for name, table in tables.items()}
    bars = [Bar(name, total.mean, total.half_width) for name, total in totals.items()]
    scores = {
        name: {str(g.key): g.mean for g in group(table, "dataset")}
        for name, table in tables.items()
        if name != "random"
    }
    figures = {
        "bars": draw_bars(bars, "Baselines on this pool"),
        "ways": draw_curves({n: group(t, "ways") for n, t in tables.items()}, "By number of ways", "ways"),
        "shots": draw_curves(
            {n: group(t, "shots") for n, t in tables.items()}, "By number of shots", "shots"
        ),
    }
    if scores:
        best, worst = _extremes(scores)
        figures["difficulty"] = draw_difficulty(measure_difficulty(scores, best, worst))
    return figures


def _extremes(scores: Mapping[str, object]) -> tuple[str | None, str | None]:
    """The paper's two baselines where they are here, else the best and worst on each dataset."""
    best = next((name for name in ("metadelta (pretrained)",) if name in scores), None)
    return best, "train_from_scratch" if "train_from_scratch" in scores else None


def write_page(
    folder: Path,
    tables: Mapping[str, TaskTable],
    findings: Sequence[Finding],
    done: Sequence[Done],
    setting: str,
) -> Path:
    """`index.html` with everything in it, `findings.md`, and each figure as a file of its own."""
    figures = draw_figures(tables)
    for name, chart in figures.items():
        (folder / f"{name}.svg").write_text(chart.file(), encoding="utf-8")
    seconds = sum(run.seconds for run in done)
    compute = (
        f"{setting} Compute of the runs: {seconds:.0f} seconds of participants' time in {len(done)} runs."
    )
    failures = [f"{run.name}, seed {run.seed}: {run.message}" for run in done if run.table is None]
    (folder / "findings.md").write_text(_markdown(tables, findings, failures, compute), encoding="utf-8")
    page = _html(tables, figures, findings, failures, compute)
    (folder / "index.html").write_text(page, encoding="utf-8")
    return folder / "index.html"


def _score_rows(tables: Mapping[str, TaskTable]) -> list[tuple[str, str, str]]:
    rows = []
    for name, table in tables.items():
        total = group(table, "all")[0]
        half = "" if total.half_width is None else f" ± {total.half_width:.3f}"
        rows.append((name, f"{total.mean:.3f}{half}", str(total.tasks)))
    return rows


def _markdown(
    tables: Mapping[str, TaskTable], findings: Sequence[Finding], failures: Sequence[str], compute: str
) -> str:
    lines = ["# Baselines on this pool", "", compute, "", "| baseline | normalized accuracy | tasks |"]
    lines += ["| --- | --- | ---: |", *[f"| {' | '.join(row)} |" for row in _score_rows(tables)]]
    lines += ["", "## Findings", "", "| claim | verdict | evidence |", "| --- | --- | --- |"]
    lines += [f"| {part.claim} | **{part.verdict}** | {part.evidence} |" for part in findings]
    lines += ["", "Intervals of scores are over tasks; only paired differences compare two baselines."]
    lines += ["", *[f"- failed: {text}" for text in failures]]
    return "\n".join(lines).rstrip() + "\n"


def _html(
    tables: Mapping[str, TaskTable],
    figures: Mapping[str, Chart],
    findings: Sequence[Finding],
    failures: Sequence[str],
    compute: str,
) -> str:
    scores = _table(("Baseline", "Normalized accuracy", "Tasks"), _score_rows(tables))
    rows = [(part.claim, part.verdict, part.evidence) for part in findings]
    drawn = "".join(f"<figure>{chart.svg}</figure>" for chart in figures.values())
    failed = "".join(f"<p>Failed: {escape(text)}</p>" for text in failures)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Baselines on this pool</title>'
        f"<style>{_STYLE}</style></head><body><h1>Baselines on this pool</h1><p>{escape(compute)}</p>{scores}{failed}"
        f"{drawn}<h2>Findings</h2>{_table(('Claim', 'Verdict', 'Evidence'), rows)}</body></html>\n"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"
