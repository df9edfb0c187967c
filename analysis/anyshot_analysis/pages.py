"""Reports as files: numbers, charts and tables as JSON, rows as Parquet, a page of them. Same report, same bytes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from markupsafe import Markup
from numpy.typing import ArrayLike

from anyshot_analysis.undefined import Quantity, Undefined, as_json
from anyshot_core.charts import Bar, Chart
from anyshot_core.report.estimates import Estimate, check
from anyshot_core.report.pages import wrap_page
from anyshot_core.report.storage import FIGURES, RESULT, render_stored
from anyshot_scoring.intervals import t_interval
from anyshot_scoring.summary import Group

Cell = str | int | float | Undefined
TABLE = "table.parquet"
FORMAT = 2  # 2: estimates with intervals, figures.json beside it


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
        estimates: what it claims in numbers; at least one, each with interval, unit, population.
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
    estimates: Sequence[Estimate]
    charts: Sequence[Chart] = ()
    extra: Markup = field(default_factory=Markup)
    listings: Sequence[PageTable] = ()
    notes: Sequence[str] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, Sequence[Any] | np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self.estimates)


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

    `inputs` are name and digest of each file by role; `versions` of the packages that computed it; `code` digests of
    its modules, where the report is stored beside them; `machine` what sums were rounded by, where that was held.
    """

    parameters: Mapping[str, Any]
    inputs: Mapping[str, Sequence[tuple[str, str]]]
    versions: Mapping[str, str]
    code: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        files = {role: [{"name": n, "digest": d} for n, d in rows] for role, rows in self.inputs.items()}
        own = {"parameters": plain(self.parameters), "inputs": files, "versions": dict(self.versions)}
        more = {"code": dict(self.code), "machine": dict(self.machine)}
        return own | {name: value for name, value in more.items() if value}


def summary_of(report: ReportPage, manifest: Manifest | None = None) -> dict[str, Any]:
    """The report without its rows, as plain data: what `result.json` holds."""
    made = {} if manifest is None else {"manifest": manifest.to_dict()}
    return made | {
        "format": FORMAT,
        "analysis": report.name,
        "title": report.title,
        "finding": report.finding,
        "population": report.population,
        "estimates": [one.to_dict() for one in report.estimates],
        "notes": list(report.notes),
        "result": plain(report.result),
    }


def figures_of(report: ReportPage) -> dict[str, Any]:
    """Its charts and tables as plain data: what `figures.json` holds, and what charts are drawn from again."""
    tables = [
        {"title": t.title, "header": list(t.header), "rows": plain([list(row) for row in t.rows])}
        for t in report.listings
    ]
    if missing := [chart.title for chart in report.charts if chart.data is None]:
        raise ValueError(f"charts that are not recorded cannot be stored: {', '.join(missing)}")
    return {"charts": [plain(chart.data) for chart in report.charts], "tables": tables}


def write_report(report: ReportPage, folder: Path, manifest: Manifest | None = None) -> dict[str, Any]:
    """Write `result.json`, `figures.json`, `table.parquet` and the `page.html` of them into `folder`.

    Returns the summary, which is what `result.json` holds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    summary, figures = summary_of(report, manifest), figures_of(report)
    for name, data in ((RESULT, summary), (FIGURES, figures)):
        write_json(folder / name, data)
    body = render_stored(summary, figures, report.extra)
    (folder / "page.html").write_text(wrap_page(report.title, body), encoding="utf-8")
    columns = {name: pa.array(np.asarray(column)) for name, column in report.table.items()}
    table = pa.table(columns).replace_schema_metadata({"anyshot_analysis": report.name})
    pq.write_table(table, folder / TABLE, compression="zstd")
    return summary


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """`result.json` or `figures.json`, as they are stored."""
    text = json.dumps(data, indent=1, sort_keys=path.name == RESULT, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def points(value: Quantity) -> Cell:
    """An accuracy in points."""
    return value if isinstance(value, Undefined) else round(100 * float(value), 2) + 0.0


def bar_of(label: str, accuracies: ArrayLike) -> Bar:
    """A bar of accuracies a task: their mean with its interval, in points."""
    return Bar(label, *t_interval(100 * np.asarray(accuracies, np.float64)))


def in_points(group: Group) -> Group:
    """A point of a curve of accuracies, in points."""
    half = None if group.half_width is None else 100 * group.half_width
    return replace(group, mean=100 * group.mean, half_width=half)
