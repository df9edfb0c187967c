"""Measures what issue after issue calls the rooms of the code: `make structure` prints the figures.

Imports inside functions count like any other. What is held (`HELD`) may fall and never rise.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PROJECTS = ("scoring", "core", "starting_kit", "analysis", "worker", "platform")
PLATFORM = "anyshot_platform"
_DATA = ("_migrations", "_baselines", "_docs")  # a wheel's data, in a checkout links to other folders
_CLIMBING = re.compile(r"parents\[(\d)\]|(?:\.parent){3,}")
_KIND = re.compile(r"\b(?:Job|Run)Kind\.\w+")
_KINDS = "platform/anyshot_platform/judging/kinds"

Edges = dict[tuple[str, str], list[tuple[str, str]]]


@cache
def imports() -> dict[str, tuple[str, ...]]:
    """Module of the platform -> the platform's modules that it imports, by names without the package's."""
    graph = grimp.build_graph(PLATFORM, cache_dir=None)
    start = PLATFORM + "."
    names = {m for m in graph.modules if m.startswith(start) and m.split(".")[1] not in _DATA}
    return {
        name.removeprefix(start): tuple(
            sorted(one.removeprefix(start) for one in graph.find_modules_directly_imported_by(name) & names)
        )
        for name in sorted(names)
    }


def folder_of(module: str, depth: int = 1) -> str:
    """The room of a module: its first folder, or its own name where it lies in none."""
    return ".".join(module.split(".")[:depth])


def edges() -> Edges:
    """Which folder imports which, each with the modules that do."""
    found: Edges = defaultdict(list)
    for module, targets in imports().items():
        for target in targets:
            if folder_of(module) != folder_of(target):
                found[folder_of(module), folder_of(target)].append((module, target))
    return dict(found)


def cycles(found: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups of nodes that reach one another, largest first."""
    after: dict[str, set[str]] = defaultdict(set)
    for source, target in found:
        after[source].add(target)
    reach = {node: _reached(node, after) for node in after}
    groups = {
        frozenset(o for o in reach[node] if node in reach.get(o, ())) for node in reach if node in reach[node]
    }
    return sorted((sorted(group) for group in groups), key=len, reverse=True)


def _reached(start: str, after: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = list(after[start])
    while ahead:
        node = ahead.pop()
        if node not in seen:
            seen.add(node)
            ahead.extend(after.get(node, ()))
    return seen


def in_cycles() -> int:
    """How many folders of the platform lie on a cycle."""
    return sum(map(len, cycles(edges())))


def mutual() -> list[tuple[str, str]]:
    """Pairs of folders that import each other."""
    found = edges()
    return sorted((a, b) for a, b in found if a < b and (b, a) in found)


def sources(*projects: str) -> Iterator[Path]:
    """The Python files of packages, their links to other folders left out."""
    for project in projects or PROJECTS:
        package = ROOT / project / f"anyshot_{project}"
        for path in sorted(package.rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def first_line(path: Path) -> str:
    """What a module says it is: the first line of its docstring."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def unexplained() -> list[str]:
    """Modules of the platform that do not say in a line of their own, five words or more, what they hold."""
    told: dict[str, list[Path]] = defaultdict(list)
    for path in sources("platform"):
        if path.name != "__init__.py":
            told[first_line(path)].append(path)
    silent = [p for line, paths in told.items() if len(line.split()) < 5 or len(paths) > 1 for p in paths]
    return sorted(str(path.relative_to(ROOT)) for path in silent)


def asking_for_kinds() -> list[str]:
    """Places of platform and worker that name a kind of run, outside the folder where each is one object."""
    return [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sources("platform", "worker")
        if not path.is_relative_to(ROOT / _KINDS)
        for match in _KIND.finditer(path.read_text())
    ]


def longest_template_line() -> int:
    """Characters of the longest line of a template."""
    templates = (ROOT / "platform" / PLATFORM / "templates").rglob("*.html")
    return max(len(line) for path in templates for line in path.read_text().splitlines())


def climbing_paths() -> list[str]:
    """Paths that climb out of a package into the clone."""
    found = []
    for project in PROJECTS:
        root = ROOT / project
        for path in root.rglob("*.py"):
            depth = len(path.relative_to(root).parts) - 1  # folders from the package down to the file
            for match in _CLIMBING.finditer(path.read_text()):
                if not match[1] or int(match[1]) >= depth:
                    found.append(f"{path.relative_to(ROOT)}: {match[0]}")
    return found


def shared_class_names() -> dict[str, list[str]]:
    """Public classes whose name another module gives to something else, with all their homes."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    return {name: paths for name, paths in sorted(homes.items()) if len(paths) > 1}


def product_lines() -> int:
    """Lines of Python in the packages."""
    return sum(len(path.read_text().splitlines()) for path in sources())


@dataclass(frozen=True)
class Figure:
    """One line of the table: what is measured, and the most that is allowed; None: printed only."""

    words: str
    measure: Callable[[], int]
    held: int | None = None


HELD = (
    Figure("folders of the platform in a cycle of imports", in_cycles, 0),
    Figure("pairs of folders that import each other", lambda: len(mutual()), 0),
    Figure(
        "modules of the platform whose first line does not say what they hold", lambda: len(unexplained()), 0
    ),
    Figure("places that ask for a kind of run", lambda: len(asking_for_kinds()), 0),
    Figure("longest line of a template, characters", longest_template_line, 301),
    Figure("paths that climb out of a package", lambda: len(climbing_paths()), 0),
    Figure("names of classes that mean two things", lambda: len(shared_class_names())),
    Figure("lines of Python in the packages", product_lines),
)


def main() -> None:
    """Print the table; with `--modules` what each module says it holds, with `--edges` who imports whom.

    With `--names` the classes that share a name.
    """
    if "--modules" in sys.argv:
        for path in sources("platform"):
            if path.name != "__init__.py":
                print(f"{path.relative_to(ROOT / 'platform' / PLATFORM)}: {first_line(path)}")
        return
    if "--names" in sys.argv:
        for name, paths in shared_class_names().items():
            print(f"{name}: {', '.join(paths)}")
        return
    if "--edges" in sys.argv:
        for (source, target), pairs in sorted(edges().items()):
            print(f"{source} -> {target}: {len(pairs)} ({pairs[0][0]} -> {pairs[0][1]})")
        return
    for figure in HELD:
        held = "" if figure.held is None else f" (at most {figure.held})"
        print(f"{figure.measure():7,}  {figure.words}{held}")


if __name__ == "__main__":
    main()
