"""The page of an experiment, as HTML and as Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from anyshot_core.charts import Chart
from anyshot_core.charts.evaluations import draw_evaluation
from anyshot_core.evaluations import PointScore, point_words
from anyshot_core.report.published_values import BesidePublished, published_table
from anyshot_studies.experiment.carry_out import Done
from anyshot_studies.experiment.comparisons import Comparison, shown
from anyshot_studies.experiment.figures import Figure
from anyshot_studies.experiment.finding import Finding, FindingVerdict
from anyshot_studies.experiment.further_evaluations import UNTRAINED, Gap, Scores
from anyshot_studies.experiment.tables import BaselineTasks, group

TITLE = "Baselines on this pool"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884;"
    "vertical-align:top}figure{margin:2rem 0}.wide{overflow-x:auto}"
    "td{overflow-wrap:break-word}pre{overflow-wrap:anywhere;white-space:pre-wrap}"
)
_WORDS = "Intervals of scores are over tasks; only paired differences compare two baselines."


@dataclass(frozen=True, slots=True)
class Content:
    """What the page says: `facts` are names and values of what was run, `notes` what was left out of it."""

    facts: Mapping[str, str]
    notes: Sequence[str]
    entries: Sequence[BaselineTasks]
    comparisons: Sequence[Comparison]
    findings: Sequence[Finding]
    failures: Sequence[Done]
    further: Scores = field(default_factory=dict)
    gaps: Sequence[Gap] = ()
    published: Sequence[BesidePublished] = ()


Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]  # title, head, rows


def make_html(content: Content, figures: Mapping[str, Figure]) -> str:
    """A page that stands alone."""
    drawn = "".join(
        f"<figure><figcaption><h3>{escape(figure.chart.title)}</h3><p>{escape(figure.words)}</p></figcaption>"
        f"{figure.chart.svg}</figure>"
        for figure in figures.values()
    )
    scores, *others = [html_table(table) for table in _tables(content)]
    drawn += "".join(
        f"<figure><figcaption><h3>{escape(chart.title)}</h3></figcaption>{chart.svg}</figure>"
        for chart in _curves(content.further)
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in content.notes)
    failed = "".join(_html_failure(run) for run in content.failures)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title><style>{_STYLE}</style>'
        f"</head><body><h1>{TITLE}</h1>{notes}{scores}<p>{_WORDS}</p>{failed}{''.join(others)}<h2>Figures</h2>{drawn}"
        f"{html_table(_facts(content))}</body></html>\n"
    )


def make_markdown(content: Content) -> str:
    """The same tables, without the figures."""
    lines = [f"# {TITLE}", *[part for note in content.notes for part in ("", note)]]
    scores, *others = _tables(content)
    lines += [*markdown_table(scores), "", _WORDS]
    failed = [f"- failed: {run.name}, seed {run.seed}: {run.message}" for run in content.failures]
    lines += ["", *failed] if failed else []
    for table in (*others, _facts(content)):
        lines += markdown_table(table)
    return "\n".join(lines) + "\n"


def _tables(content: Content) -> list[Table]:
    return [
        _scores(content.entries),
        _further(content.further),
        _gaps(content.gaps),
        _differences(content),
        _by_dataset(content.entries),
        findings_table(content.findings),
        published(content.published),
    ]


def _further(series: Scores) -> Table:
    labels = {
        (score.evaluation, score.point): _label(score) for scores in series.values() for score in scores
    }
    rows = []
    for name, scores in series.items():
        own = {(score.evaluation, score.point): point_words(score) for score in scores}
        rows.append((name, *[own.get(key, "") for key in labels]))
    return "Further evaluations", ("Baseline", *labels.values()), rows


def _label(score: PointScore) -> str:
    return score.title if score.label == score.title else f"{score.title}: {score.label}"


def _gaps(found: Sequence[Gap]) -> Table:
    head = ("Baseline", "Base minus novel", "95 % over other tasks", "These novel classes are harder")
    rows = [(gap.name, f"{gap.difference:+.3f}", shown(gap.interval), gap.verdict.value) for gap in found]
    if not any(gap.beyond for gap in found):
        return "From base to novel classes", head, rows
    head += (f"Beyond {UNTRAINED}, which learns nothing", "95 %", "By training")
    rows = [row + _beyond(gap) for row, gap in zip(rows, found, strict=True)]
    return "From base to novel classes", head, rows


def _beyond(gap: Gap) -> tuple[str, str, str]:
    if gap.beyond is None:
        return "", "", ""
    difference, interval = gap.beyond
    return f"{difference:+.3f}", shown(interval), FindingVerdict.above_zero(interval.low, interval.high).value


def _curves(series: Scores) -> list[Chart]:
    names = dict.fromkeys(score.evaluation for scores in series.values() for score in scores)
    drawn = [
        draw_evaluation({who: [s for s in scores if s.evaluation == name] for who, scores in series.items()})
        for name in names
    ]
    return [chart for chart in drawn if chart is not None]


def _scores(entries: Sequence[BaselineTasks]) -> Table:
    totals = [(entry.label, group(entry.table, "all")[0]) for entry in entries]
    rows = [(label, _plus_minus(total.mean, total.half_width), str(total.tasks)) for label, total in totals]
    return "Scores", ("Baseline", "Normalized accuracy", "Tasks"), rows


def _differences(content: Content) -> Table:
    head = ("Baseline", "Against", "Difference", "95 % over other tasks", "95 % over other datasets")
    rows = [
        (part.first, part.second, f"{part.mean:+.3f}", shown(part.tasks), shown(part.datasets))
        for part in content.comparisons
    ]
    return "Paired differences", head, rows


def _by_dataset(entries: Sequence[BaselineTasks]) -> Table:
    datasets = sorted({str(name) for entry in entries for name in entry.table.dataset})
    means = [
        (entry.label, {str(g.key): f"{g.mean:.3f}" for g in group(entry.table, "dataset")})
        for entry in entries
    ]
    rows = [(label, *[own.get(name, "") for name in datasets]) for label, own in means]
    return "By dataset", ("Baseline", *datasets), rows


def findings_table(findings: Sequence[Finding]) -> Table:
    """Each claim with its verdict and evidence."""
    rows = [(part.claim, part.verdict.value, part.evidence) for part in findings]
    return "Findings", ("Claim", "Verdict", "Evidence"), rows


def published(rows: Sequence[BesidePublished]) -> Table:
    """Found beside published, with the rule's verdict."""
    table = published_table(rows)
    cells = [
        tuple(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        for row in table["rows"]
    ]
    return table["title"], tuple(table["header"]), cells


def _facts(content: Content) -> Table:
    return "What was run", ("", ""), list(content.facts.items())


def _plus_minus(mean: float, half_width: float | None) -> str:
    return f"{mean:.3f}" + ("" if half_width is None else f" ± {half_width:.3f}")


def _html_failure(run: Done) -> str:
    first = escape(f"Failed: {run.name}, seed {run.seed}: {run.message}")
    more = f"<details><summary>Details</summary><pre>{escape(run.detail)}</pre></details>"
    return f"<p>{first}</p>{more if run.detail else ''}"


def html_table(table: Table) -> str:
    """A table under its heading; nothing without rows."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    title, head, rows = table
    if not rows:
        return ""
    first = line(head, "th") if any(head) else ""
    body = "".join(line(row, "td") for row in rows)
    return f'<h2>{title}</h2><div class="wide"><table>{first}{body}</table></div>'


def markdown_table(table: Table) -> list[str]:
    """The same as lines."""
    title, head, rows = table
    if not rows:
        return []
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in (head, *rows)]
    return [
        "",
        f"## {title}",
        "",
        f"| {lines[0]} |",
        f"|{' --- |' * len(head)}",
        *[f"| {line} |" for line in lines[1:]],
    ]
