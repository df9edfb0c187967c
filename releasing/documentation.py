"""What `mkdocs build` makes: pages from the code, pages of reproductions, and charts below pages that people wrote."""

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

from anyshot_core.report.documentation import (
    GENERATED,
    SECTION,
    SECTIONS,
    draw_page,
    drawn_below,
    reading_order,
    reproductions,
)
from releasing.reference import DOCS, write_pages

BEHIND = (("developers", "For developers"), ("decisions", "Decisions"))  # of the built documentation alone


def on_config(config: Any) -> Any:
    """The pages in the order in which they are learned."""
    write_pages()
    config["nav"] = ["index.md"] + [
        {heading: [f"{section}/{name}.md" for name in reading_order(DOCS, section)]}
        for section, heading in (*SECTIONS, *BEHIND)
    ]
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that follow from the code, and one for each stored reproduction."""
    docs = Path(config["docs_dir"])
    made = DOCS.with_name(GENERATED)
    for page in sorted(made.rglob("*.md")):
        content = page.read_text()
        files.append(File.generated(config, page.relative_to(made).as_posix(), content=content))
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
