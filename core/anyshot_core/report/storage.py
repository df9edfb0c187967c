"""A report's page from what is stored of it: `result.json` and `figures.json`. Same data, same bytes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from anyshot_core.charts import redraw
from anyshot_core.report.estimates import Estimate
from anyshot_core.report.pages import figure
from anyshot_core.report.published_values import BesidePublished, published_table
from anyshot_core.words import number_words
from anyshot_scoring.undefined import Undefined

RESULT, FIGURES = "result.json", "figures.json"
ESTIMATES = ("what", "estimate", "95 % interval", "unit", "population", "selected")


def read_report(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """`result.json` and `figures.json` of a folder."""
    read = [json.loads((folder / name).read_text(encoding="utf-8")) for name in (RESULT, FIGURES)]
    return read[0], read[1]


def render_stored(
    summary: Mapping[str, Any],
    figures: Mapping[str, Any],
    extra: Markup = Markup(),  # noqa: B008
    published: Sequence[BesidePublished] = (),
) -> Markup:
    """The report below a heading with its title: no style, no script, headings from level 2.

    `extra` are sections that somebody else rendered, `published` what a paper printed of the same quantities.
    """
    parts = [Markup("<p>{}</p>").format(summary["finding"])]
    parts += [table_markup(published_table(published))] if published else []
    parts += [figure(redraw(data)) for data in figures["charts"]]
    parts.append(extra)
    parts.append(Markup("<p><strong>Population:</strong> {}</p>").format(summary["population"]))
    parts.append(table_markup(estimates_table(summary["estimates"])))
    parts += [table_markup(table) for table in figures["tables"]]
    if summary["notes"]:
        items = Markup("").join(Markup("<li>{}</li>").format(note) for note in summary["notes"])
        parts.append(Markup("<h2>Notes</h2><ul>{}</ul>").format(items))
    if "manifest" in summary:
        parts.append(manifest_markup(summary["manifest"]))
    return Markup("\n").join(parts)


def estimates_table(estimates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row an estimate."""
    rows = [
        [
            e["name"],
            e["value"],
            interval_cell(e["interval"]),
            e["unit"],
            e["population"],
            e["selected"] or "no",
        ]
        for e in estimates
    ]
    return {"title": "Estimates", "header": ESTIMATES, "rows": rows}


def estimate_words(one: Estimate, *, unit: bool = True) -> str:
    """Value, unit and interval in a sentence, with the digits that the table has; no unit where the noun says it."""
    e = one.to_dict()
    words = (
        f"no interval: {one.interval.reason}"
        if isinstance(one.interval, Undefined)
        else f"95 % interval {interval_cell(e['interval'])}"
    )
    shown = f" {e['unit']}" if unit else ""
    return f"{cell_words(e['value'], ())}{shown} ({words})"


def percent_words(one: Estimate) -> str:
    """A probability in a sentence, with its interval where it has one."""
    if isinstance(one.value, Undefined):
        return f"not known: {one.value.reason}"
    interval = one.interval
    ends = (
        "" if isinstance(interval, Undefined) else f" (95 % interval {interval[0]:.1%} to {interval[1]:.1%})"
    )
    return f"{one.value:.1%}{ends}"


def interval_cell(interval: Any) -> Any:
    """`low to high`, or the reason why there is none."""
    if isinstance(interval, Mapping):
        return f"none: {interval['undefined']}"
    return f"{number_words(interval[0])} to {number_words(interval[1])}"


def table_markup(table: Mapping[str, Any]) -> Markup:
    """A table with a heading, which scrolls where the page is narrower; reasons for undefined cells stand below it."""
    cells = [cell for row in table["rows"] for cell in row]
    reasons = list(dict.fromkeys(cell["undefined"] for cell in cells if isinstance(cell, Mapping)))
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in table["header"])
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(cell_words(c, reasons)) for c in row)
        )
        for row in table["rows"]
    )
    below = Markup("").join(
        Markup("<p>{}undefined: {}.</p>").format(mark(reason, reasons), reason) for reason in reasons
    )
    template = Markup(
        '<h2>{}</h2><div class="scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>{}"
    )
    return template.format(table["title"], table["title"], head, rows, below)


def mark(reason: str, reasons: Sequence[str]) -> str:
    """What ties a cell to its reason; nothing where there is only one."""
    return "*" * (reasons.index(reason) + 1) + " " if len(reasons) > 1 else ""


def cell_words(cell: Any, reasons: Sequence[str]) -> str:
    """Four significant digits; an undefined cell points to its reason."""
    if isinstance(cell, Mapping):
        return f"{mark(cell['undefined'], reasons)}undefined"
    return number_words(cell) if isinstance(cell, float) else str(cell)


def manifest_markup(manifest: Mapping[str, Any]) -> Markup:
    """How the report was made: parameters, inputs, versions and, of a stored one, the machine and the code."""
    inputs = [[role, row["name"], row["digest"]] for role, rows in manifest["inputs"].items() for row in rows]
    tables = [
        ("Parameters", ("parameter", "value"), [[k, _shown(v)] for k, v in manifest["parameters"].items()]),
        ("Inputs", ("role", "file", "digest"), inputs),
        ("Versions", ("package", "version"), [[k, v] for k, v in manifest["versions"].items()]),
        ("Machine", ("property", "value"), [[k, _shown(v)] for k, v in manifest.get("machine", {}).items()]),
        ("Code", ("module", "digest"), [[k, v] for k, v in manifest.get("code", {}).items()]),
    ]
    body = Markup("").join(
        table_markup({"title": title, "header": header, "rows": rows})
        for title, header, rows in tables
        if rows
    )
    return Markup("<details><summary>How this report was made</summary>{}</details>").format(body)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
