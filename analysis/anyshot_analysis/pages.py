"""Reports as files: a page with pictures first, the numbers as JSON, the rows as Parquet. Same report, same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup

from anyshot_analysis.undefined import Quantity, Undefined, as_json
from anyshot_core.charts import Chart
from anyshot_core.report.pages import figure, wrap_page

Cell = str | int | float | Undefined
FORMAT = 1


@dataclass(frozen=True)
class PageTable:
    """A small table of a page."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class ReportPage:
    """What an analysis found.

    Attributes:
        name, title: of the analysis.
        finding: the result in one or two sentences.
        population: what the claims are about (other tasks of these datasets, other classes, ...).
        charts: shown first.
        listings, notes: shown below; notes say what was reduced, assumed or left undefined.
        extra: sections that somebody else rendered, shown below the charts.
        result: plain JSON data; an `Undefined` inside becomes `{"undefined": reason}`.
        table: equally long columns, one row a unit of resampling.
    """

    name: str
    title: str
    finding: str
    population: str
    charts: Sequence[Chart] = ()
    extra: Markup = field(default_factory=Markup)
    listings: Sequence[PageTable] = ()
    notes: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Sequence[Any] | np.ndarray] = field(default_factory=dict)


def render_section(report: ReportPage) -> Markup:
    """The report below a heading with its title: no style, no script, headings from level 2."""
    parts = [Markup("<p>{}</p>").format(report.finding)]
    parts += [figure(chart) for chart in report.charts]
    parts.append(report.extra)
    parts.append(Markup("<p><strong>Population:</strong> {}</p>").format(report.population))
    parts += [listing_markup(listing) for listing in report.listings]
    if report.notes:
        items = Markup("").join(Markup("<li>{}</li>").format(note) for note in report.notes)
        parts.append(Markup("<h2>Notes</h2><ul>{}</ul>").format(items))
    return Markup("\n").join(parts)


def listing_markup(listing: PageTable) -> Markup:
    """A table with a heading, which scrolls where the page is narrower; reasons for undefined cells stand below it."""
    reasons = list(dict.fromkeys(c.reason for row in listing.rows for c in row if isinstance(c, Undefined)))
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in listing.header)
    rows = Markup("").join(
        Markup("<tr>{}</tr>").format(
            Markup("").join(Markup("<td>{}</td>").format(cell_words(c, reasons)) for c in row)
        )
        for row in listing.rows
    )
    below = Markup("").join(
        Markup("<p>{}undefined: {}.</p>").format(mark(reason, reasons), reason) for reason in reasons
    )
    template = Markup(
        '<h2>{}</h2><div class="scroll" tabindex="0" role="region" aria-label="{}"><table><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>{}"
    )
    return template.format(listing.title, listing.title, head, rows, below)


def mark(reason: str, reasons: Sequence[str]) -> str:
    """What ties a cell to its reason; nothing where there is only one."""
    return "*" * (reasons.index(reason) + 1) + " " if len(reasons) > 1 else ""


def cell_words(cell: Cell, reasons: Sequence[str]) -> str:
    """Four significant digits; an undefined cell points to its reason."""
    if isinstance(cell, Undefined):
        return f"{mark(cell.reason, reasons)}undefined"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def plain(value: Any) -> Any:
    """JSON data of nested results: arrays as lists, undefined values with their reasons, never NaN."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Undefined):
        return as_json(value)
    if isinstance(value, float) and not np.isfinite(value):
        return as_json(Undefined("no value"))
    return value


@dataclass(frozen=True)
class Manifest:
    """How a report was made: with this, `anyshot analyse again` makes it again from the same inputs.

    `inputs` are name and digest of each file by role; `versions` of the packages that computed it.
    """

    parameters: Mapping[str, Any]
    inputs: Mapping[str, Sequence[tuple[str, str]]]
    versions: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        files = {role: [{"name": n, "digest": d} for n, d in rows] for role, rows in self.inputs.items()}
        return {"parameters": plain(self.parameters), "inputs": files, "versions": dict(self.versions)}

    def render(self) -> Markup:
        """A section with tables of parameters, inputs and versions."""
        inputs = [[role, name, digest] for role, rows in self.inputs.items() for name, digest in rows]
        parts = [
            PageTable(
                "Parameters", ("parameter", "value"), [[k, shown(v)] for k, v in self.parameters.items()]
            ),
            PageTable("Inputs", ("role", "file", "digest"), inputs),
            PageTable("Versions", ("package", "version"), [[k, v] for k, v in self.versions.items()]),
        ]
        body = Markup("").join(listing_markup(part) for part in parts if part.rows)
        return Markup("<details><summary>How this report was made</summary>{}</details>").format(body)


def shown(value: Any) -> str:
    """A parameter as one cell."""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)


def summary_of(report: ReportPage, manifest: Manifest | None = None) -> dict[str, Any]:
    """The report without its rows, as plain data: what `result.json` holds."""
    made = {} if manifest is None else {"manifest": manifest.to_dict()}
    return made | {
        "format": FORMAT,
        "analysis": report.name,
        "title": report.title,
        "finding": report.finding,
        "population": report.population,
        "notes": list(report.notes),
        "result": plain(report.result),
    }


def write_report(report: ReportPage, folder: Path, manifest: Manifest | None = None) -> dict[str, Any]:
    """Write `page.html`, `result.json` and `table.parquet` into `folder`; returns the summary."""
    folder.mkdir(parents=True, exist_ok=True)
    summary = summary_of(report, manifest)
    body = render_section(report) + (Markup() if manifest is None else manifest.render())
    (folder / "page.html").write_text(wrap_page(report.title, body), encoding="utf-8")
    text = json.dumps(summary, indent=1, sort_keys=True, allow_nan=False)
    (folder / "result.json").write_text(text + "\n", encoding="utf-8")
    columns = {name: pa.array(np.asarray(column)) for name, column in report.table.items()}
    table = pa.table(columns).replace_schema_metadata({"anyshot_analysis": report.name})
    pq.write_table(table, folder / "table.parquet", compression="zstd")
    return summary


def points(value: Quantity) -> Cell:
    """An accuracy in points."""
    return value if isinstance(value, Undefined) else round(100 * float(value), 2)
