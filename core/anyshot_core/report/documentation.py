"""Pages of the documentation, those that follow from stored data included, for its built site and a platform's `/docs`.

What is generated from code lies in the folder `_reference` beside that of the pages that people wrote. A folder below
`docs/reproductions/` with `result.json` is a page of its own; one with `figures.json` alone holds the charts below the
page of its name. `published.toml` holds what the papers printed.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markupsafe import Markup

from anyshot_core.charts import redraw
from anyshot_core.report.pages import figure
from anyshot_core.report.published_values import BesidePublished, published_table, read_published, verdicts_of
from anyshot_core.report.storage import FIGURES, RESULT, read_report, render_stored, table_markup

SECTION = "reproductions"
SECTIONS = (
    ("participants", "For participants"),
    ("organizers", "For organizers"),
    ("operators", "For operators"),
    ("science", "The science"),
    (SECTION, "Reproductions"),
)
DATA = (RESULT, FIGURES, "table.parquet", "scores.csv", "published.toml")
GENERATED = "_reference"
_LINK = re.compile(r"\]\(([a-z0-9-]+)\.md\)")


def page_files(docs: Path, section: str) -> dict[str, Path]:
    """Files of a section's pages by name, written and generated."""
    folders = (docs / section, docs.with_name(GENERATED) / section)
    return {file.stem: file for folder in folders for file in folder.glob("*.md")}


def reading_order(docs: Path, section: str) -> list[str]:
    """Names of a section's pages in the order in which they are learned: that of the links on its index page.

    Stored reproductions have no file, and come behind those that have one; what no index links comes last.
    """
    files = page_files(docs, section)
    linked = _LINK.findall(files["index"].read_text(encoding="utf-8")) if "index" in files else []
    order = list(dict.fromkeys(["index", *linked]))
    known = [name for name in order if name in files] + sorted(files.keys() - set(order))
    return known + (list(reproductions(docs)) if section == SECTION else [])


@dataclass(frozen=True)
class DrawnPage:
    """A page without its heading; `body` has headings from level 2."""

    title: str
    body: Markup


def reproductions(docs: Path) -> dict[str, str]:
    """Titles of the stored reproductions by name, in alphabetical order."""
    folders = sorted(path.parent for path in (docs / SECTION).glob(f"*/{RESULT}"))
    return {folder.name: read_report(folder)[0]["title"] for folder in folders}


@cache
def draw_page(docs: Path, name: str) -> DrawnPage:
    """The page of a stored reproduction, found beside published, with links to its data."""
    folder = docs / SECTION / name
    summary, figures = read_report(folder)
    links = [Markup('<a href="{}">{}</a>').format(file, file) for file in DATA if (folder / file).is_file()]
    body = render_stored(summary, figures, published=verdicts(docs, name))
    return DrawnPage(summary["title"], body + Markup("<p>Data: {}</p>").format(Markup(", ").join(links)))


def verdicts(docs: Path, name: str) -> list[BesidePublished]:
    """What a paper printed beside what one reproduction found."""
    rows = read_published(docs / SECTION / "published.toml")
    return verdicts_of(name, read_report(docs / SECTION / name)[0], rows)


@cache
def drawn_below(docs: Path, section: str, name: str) -> Markup:
    """What follows the text of a page: the overview of all verdicts, or the charts stored for it; else nothing."""
    if section != SECTION:
        return Markup()
    if name == "index":
        return overview(docs)
    stored = docs / SECTION / name / FIGURES
    if not stored.is_file():
        return Markup()
    charts = json.loads(stored.read_text(encoding="utf-8"))["charts"]
    return Markup("\n").join([Markup("<h2>Figures</h2>"), *(figure(redraw(data)) for data in charts)])


def overview(docs: Path) -> Markup:
    """How many printed numbers were reproduced, and each beside what was found."""
    found = {name: verdicts(docs, name) for name in reproductions(docs)}
    rows = [one for own in found.values() for one in own]
    counts = Counter(one.verdict.value for one in rows)
    words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    parts = [Markup("<h2>All printed numbers</h2><p>Of {} rows: {}.</p>").format(len(rows), words)]
    for name, own in found.items():
        if own:
            parts.append(table_markup(published_table(own) | {"title": name}))
    return Markup("\n").join(parts)
