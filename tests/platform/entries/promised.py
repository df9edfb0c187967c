"""The sentences of the ready-made competitions, one by one: pages, and what the file says of phases and pools."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

READY = Path(__file__).parents[3] / "platform/anyshot_platform/bundles/ready"
_ENDS = re.compile(r"(?<=[.?!:])(?:\*\*)?\s+(?=[A-Z*`(\[{])")
_ITEM = re.compile(r"^(?:[-*>#]+|\d+\.)\s+")


def sentences(text: str) -> list[str]:
    """Sentences, rows of tables and items of a text in Markdown, without its marks; lines may be broken anywhere."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*>|]|\d+\.|#+)\s)", text):
        if set(block) <= set("|- \n"):
            continue
        plain = _ITEM.sub("", " ".join(block.split())).strip("| ")
        found += [part.replace("**", "").strip() for part in _ENDS.split(plain)]
    return [part for part in found if part]


def texts_of(folder: Path) -> dict[str, str]:
    """Every text of a ready-made competition, by where it stands."""
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("pages/*.md"))}
    described: Any = yaml.safe_load((folder / "competition.yaml").read_text(encoding="utf-8"))
    for kind in ("phases", "leagues", "pools"):
        for row in described.get(kind, []):
            if "description" in row:
                found[f"{kind}: {row.get('key') or row['name']}"] = row["description"]
    return found


def all_sentences() -> dict[str, dict[str, list[str]]]:
    """Sentences by competition and text."""
    return {
        folder.name: {place: sentences(text) for place, text in texts_of(folder).items()}
        for folder in sorted(READY.iterdir())
        if (folder / "competition.yaml").exists()
    }
