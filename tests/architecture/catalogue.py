"""`python -m tests.architecture.catalogue [--check]`: the catalogue of the interface's sentences.

Reads what is marked in templates (`{% trans %}`, `_()`, `ngettext()`, the filter `count`), in Python (`say`,
`say_count`, `count`), in core and starting kit (`told`, errors that people read), in scripts (`_()`) and in
declarations (`declared`), and writes it to `messages.pot` and into each language's file. New messages wait there for a
translation; the test of the catalogue says which.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import nodes
from jinja2.ext import extract_from_ast

import anyshot_core
import anyshot_starting_kit
from anyshot_platform.kernel.language import FOLDER
from anyshot_platform.phases import ranking
from anyshot_platform.web.rendering import STATIC_FOLDERS, TEMPLATE_FOLDER, environment
from tests.architecture import declared

PACKAGE = FOLDER.parent
TEMPLATE = FOLDER / "messages.pot"
_SCRIPT = re.compile(r"\b_\(\s*\"((?:[^\"\\]|\\.)+)\"")
Message = str | tuple[str, str]


def main() -> int:
    """Write the catalogue anew or, with `--check`, name the files that are behind (exit status 1)."""
    behind = {path: text for path, text in written().items() if text != _read(path)}
    for path, text in behind.items():
        print(f"{path.relative_to(PACKAGE)} is behind the sources: `make catalogue`")
        if "--check" not in sys.argv:
            path.write_bytes(text)
    return int(bool(behind) and "--check" in sys.argv)


def written() -> dict[Path, bytes]:
    """Each file of the catalogue as it follows from the sources."""
    found = gathered()
    files = {TEMPLATE: _as_file(found)}
    for path in sorted(FOLDER.glob("*.po")):
        language = catalogue(path)
        language.update(found, no_fuzzy_matching=True)
        language.obsolete.clear()
        files[path] = _as_file(language)
    return files


def catalogue(path: Path) -> Catalog:
    """A language's file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem, domain="anyshot")


def gathered() -> Catalog:
    """All marked messages, each with the files that say it."""
    found = Catalog(
        project="Anyshot", domain="anyshot", header_comment="# The sentences of Anyshot's interface."
    )
    for sentence in ranking.sentences():
        found.add(sentence, locations=[("phases/ranking.py", 0)])
    for place, words in declared.words():
        found.add(words, locations=[(place, 0)])
    for path in [*sorted(PACKAGE.rglob("*.py")), *_templates()]:
        for message in messages_of(path):
            found.add(message, locations=[(str(path.relative_to(PACKAGE)), 0)])
    for path in _scripts():
        for message in messages_of(path):
            found.add(message, locations=[(f"static/js/{path.name}", 0)])
    for path in told_in():
        for message in _told(ast.parse(path.read_text())):
            found.add(message, locations=[(_from_package(path), 0)])
    return found


def told_in() -> list[Path]:
    """The files whose English sentences are kept in a run, a zip's checks or an alert, and read on pages."""
    core, kit = (Path(package.__file__ or "").parent for package in (anyshot_core, anyshot_starting_kit))
    return [
        *sorted(core.glob("bundle/*.py")),
        *(core / f"data/{name}.py" for name in ("layout", "pack", "part", "picture")),
        core / "taskserver/verdicts.py",
        core / "wire/advice.py",
        *sorted(core.glob("protocols/*.py")),
        *sorted(core.glob("evaluations/*.py")),
        core / "exports/asked.py",
        *sorted(kit.glob("runner/*.py")),
        *sorted(PACKAGE.glob("judging/**/*.py")),
        *sorted(PACKAGE.glob("entries/*.py")),
        PACKAGE / "operations/watch.py",
        PACKAGE / "organizers/phases/finals.py",
        PACKAGE / "organizers/submissions/acts.py",
        PACKAGE / "pools/service.py",
        PACKAGE / "scores/verification.py",
    ]


def _from_package(path: Path) -> str:
    """`anyshot_core/bundle/check.py`: what is told is found again by the name of its package before it."""
    roots = (Path(package.__file__ or "").parents[1] for package in (anyshot_core, anyshot_starting_kit))
    root = next((root for root in (*roots, PACKAGE.parent) if path.is_relative_to(root)), PACKAGE.parent)
    return str(path.relative_to(root))


def _told(tree: ast.Module) -> Iterator[str]:
    """What `told` is given, and the sentences of errors; the code of a refused zip is one word."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _TELLING:
            for word in call.args:
                text, whole = _written(word), isinstance(word, ast.Constant)
                if call.func.id == "told" or (" " in text if whole else _is_known_again(text)):
                    yield text


_TELLING = ("told", "ZipRefused", "_damaged", "_climbs", "ProtocolError", "WrongResult", "BadPack")
_PLACEHOLDER = re.compile(r"%\(\w+\)s")
_PLACE = re.compile(r" \(%\(\w+_path\)s\)")  # of a file, which pages leave out


def _is_known_again(word: str) -> bool:
    """Whether an f-string can be told from other texts by its own words, of which `X is no Y` has too few."""
    return len(re.findall(r"[A-Za-z]", _PLACEHOLDER.sub("", word))) >= 15


def _written(word: ast.expr) -> str:
    """A text as its sentence in the catalogue: what an f-string puts in is a placeholder with the name of its code."""
    if isinstance(word, ast.Constant):
        return word.value if isinstance(word.value, str) else ""
    parts = word.values if isinstance(word, ast.JoinedStr) else ()
    return _PLACE.sub("", "".join(map(_part, parts)))


def _part(part: ast.expr) -> str:
    if isinstance(part, ast.FormattedValue):
        name = re.sub(r"[^A-Za-z0-9]+", "_", ast.unparse(part.value)).strip("_")
        return f"%({'n' if name[0].isdigit() else ''}{name})s"
    return _written(part).replace("%", "%%")


def _scripts() -> list[Path]:
    return sorted(path for folder in STATIC_FOLDERS for path in folder.glob("js/*.js"))


def _templates() -> list[Path]:
    return sorted(TEMPLATE_FOLDER.rglob("*.html"))


def messages_of(path: Path) -> Iterator[Message]:
    """The marked messages of a file."""
    text = path.read_text()
    if path.suffix == ".html":
        yield from _of_template(text)
    elif path.suffix == ".js":
        yield from (found.replace('\\"', '"') for found in _SCRIPT.findall(text))
    elif re.search(r"kernel\.(language|filters) import", text) or path.parent.name == "kernel":
        yield from _of_code(ast.parse(text))


def _of_template(text: str) -> Iterator[Message]:
    tree = environment().parse(text)
    for _, _, message in extract_from_ast(tree):
        words = [message] if isinstance(message, str) else [word for word in message or () if word]
        if words:
            yield words[0] if len(words) == 1 else (words[0], words[1])
    for filtered in tree.find_all(nodes.Filter):
        if filtered.name == "count":
            words = [word.value for word in filtered.args if isinstance(word, nodes.Const)]
            yield from _counted(words, len(filtered.args))


def _of_code(tree: ast.Module) -> Iterator[Message]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            words = [
                word.value
                for word in call.args
                if isinstance(word, ast.Constant) and isinstance(word.value, str)
            ]
            if call.func.id == "say" and words:
                yield words[0]
            elif call.func.id == "say_count" and len(words) == 2:
                yield words[0], words[1]
            elif call.func.id == "count":
                yield from _counted(words, len(call.args) - 1)


def _counted(words: list[str], given: int) -> Iterator[Message]:
    if len(words) == given and given in (1, 2):
        yield f"%(num)s {words[0]}", f"%(num)s {words[-1] if given == 2 else words[0] + 's'}"


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _as_file(found: Catalog) -> bytes:
    file = BytesIO()
    write_po(file, found, width=120, sort_by_file=True, include_lineno=False, omit_header=False)
    kept = [line for line in file.getvalue().decode().splitlines() if not _OF_THE_DAY.match(line)]
    return ("\n".join(kept).rstrip("\n") + "\n").encode()


_OF_THE_DAY = re.compile(
    r'"(POT-Creation|PO-Revision|Generated-By|Last-Translator|Report-Msgid|Language-Team|Project-Id)'
)


if __name__ == "__main__":
    sys.exit(main())
