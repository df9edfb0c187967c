"""`python -m tests.architecture.templates [--check]`: no line of a template is longer than a screen.

Formatters of HTML add white space where a page then shows it. So this one only breaks long lines where white space
stands already; djlint looks at the rest (`make lint`).
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "platform/anyshot_platform/templates", ROOT / "core/anyshot_core/report/templates")
WIDTH = 120
_PIECES = re.compile(
    r"(?P<raw><(?P<name>pre|textarea|script|style)\b.*?</(?P=name)\s*>|\{#.*?#\})|(?P<code>\{[{%].*?[}%]\})"
    r"|(?P<open><[a-zA-Z/!])|(?P<close>/?>)|(?P<quote>[\"'])|(?P<space>\s+)|(?P<other>[^\s{<>\"'/]+|.)",
    re.DOTALL,
)
_TERMS = re.compile(r"\"[^\"]*\"|'[^']*'|(?P<space>\s+)")


def main() -> int:
    """Break the long lines of all templates or, with `--check`, name the templates that have some (exit status 1)."""
    odd = {path: form for path, form in forms().items() if form != path.read_text()}
    for path, form in odd.items():
        print(f"{path.relative_to(ROOT)} has lines to break: `make format`")
        if "--check" not in sys.argv:
            path.write_text(form)
    return int(bool(odd) and "--check" in sys.argv)


def forms() -> dict[Path, str]:
    """Each template with its lines broken."""
    return {path: wrapped(path.read_text()) for folder in FOLDERS for path in sorted(folder.rglob("*.html"))}


def wrapped(template: str) -> str:
    """The template with lines of over `WIDTH` characters broken between words, attributes or terms of expressions."""
    places, lines, start = sorted(_places(template)), [], 0
    for line in template.splitlines():
        end = start + len(line)
        lines += _broken(line, [place - start for place in places if start < place < end])
        start = end + 1
    return "\n".join(lines) + "\n"


def _broken(line: str, places: list[int]) -> list[str]:
    """Lines of at most `WIDTH` characters where the places allow it; what follows the first is indented once more."""
    indent = line[: len(line) - len(line.lstrip())]
    parts, start, last = [], len(indent), 0
    for place in [*places, len(line)] if len(line) > WIDTH else []:
        if place - start > WIDTH - len(indent) - 2 * bool(parts) and last > start:
            parts.append(line[start:last])
            start = last + 1
        last = place
    parts.append(line[start:])
    return [f"{indent}{'  ' * bool(number)}{part}" for number, part in enumerate(parts)]


def _places(template: str) -> set[int]:
    """Where one space may become a new line. Not after a statement: Jinja drops a new line there."""
    found, tag, quote, before = set(), False, "", ""
    for piece in _PIECES.finditer(template):
        kind, text, start = piece.lastgroup, piece[0], piece.start()
        if piece["code"]:
            found |= {start + term.start() for term in _TERMS.finditer(text) if term["space"] == " "}
        elif kind == "quote" and tag and quote in ("", text):
            quote = "" if quote else text
        elif kind in ("open", "close") and not quote:
            tag = kind == "open"
        elif text == " " and not quote and not before.endswith("%}"):
            found.add(start)
        before = text
    return found


if __name__ == "__main__":
    sys.exit(main())
