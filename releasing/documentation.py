"""What `mkdocs build` draws from stored data: pages of reproductions, and charts below pages that people wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from anyshot_core.report.documentation import (
    SECTION,
    SECTIONS,
    draw_page,
    drawn_below,
    reading_order,
    reproductions,
)

BEHIND = (("developers", "For developers"), ("decisions", "Decisions"))  # of the built documentation alone


def on_config(config: Any) -> Any:
    """The pages in the order in which they are learned."""
    docs = Path(config["docs_dir"])
    config["nav"] = ["index.md"] + [
        {heading: [f"{section}/{name}.md" for name in reading_order(docs, section)]}
        for section, heading in (*SECTIONS, *BEHIND)
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """A page for each stored reproduction."""
    docs = Path(config["docs_dir"])
    for name in reproductions(docs):
        page = draw_page(docs, name)
        content = f"# {page.title}\n\n<div>{page.body}</div>\n"
        files.append(File.generated(config, f"{SECTION}/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Charts and tables below the text."""
    section, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    below = drawn_below(Path(config["docs_dir"]), section, name)
    return f"{markdown}\n\n<div>{below}</div>\n" if below else markdown
