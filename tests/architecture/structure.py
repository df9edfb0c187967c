"""Measures what issue after issue calls the rooms of the code: `make structure` prints the figures.

Imports inside functions count like any other. What is held (`HELD`) may fall and never rise.
"""

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
PROJECTS = ("scoring", "core", "starting_kit", "analysis", "studies", "worker", "platform")
PLATFORM = "anyshot_platform"
_DATA = (
    "_migrations",
    "_baselines",
    "_docs",
    "_reference",
)  # a wheel's data, in a checkout links to other folders
_CLIMBING = re.compile(r"parents\[(\d)\]|(?:\.parent){3,}")
_KIND = re.compile(r"\b(?:Job|Run)Kind\.\w+")
_TOOLS = ("about", "baselines", "benchmarks", "migrations", "releasing")
_KINDS = "platform/anyshot_platform/judging/execution/kinds"

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


def folder_of(module: str) -> str:
    """The noun of a module, `contest.phases`, or its actions, `contest.phases.actions`, which stand above all nouns."""
    noun, rest = module.split(".")[:2], module.split(".")[2:]
    return ".".join([*noun, "actions"] if rest[:1] == ["actions"] else noun)


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


# Names that several classes share since they are one notion, and which it is.
ONE_NOTION = {
    "Choices": "the values that a setting takes where they are a few: of a report, and of a phase",
    "Difficulty": "the report on how difficult datasets are, and what it finds of one",
    "Flips": "the report on how reliable a ranking is, and what it finds of a lead",
    "BadPrediction": "a prediction that cannot be scored: told by the runner, and by scoring",
    "Pack": "a packed dataset: its file, and its row on a site",
    "Parameters": "what a report is asked with, in the module of each report",
    "Pool": "packs that are drawn from together: the files, and the row on a site",
    "StaleEpoch": "an attempt that lost its lease: the site's answer, and what its worker makes of it",
    "Submission": "what was handed in: its code in the runner, and its row on a site",
}


def shared_class_names() -> dict[str, list[str]]:
    """Public classes whose name another module gives to something else, with all their homes."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    return {n: paths for n, paths in sorted(homes.items()) if len(paths) > 1 and n not in ONE_NOTION}


# Code that the product does not use itself, and why it is there all the same.
OFFERED = {
    "score_task": "part of what `scoring` offers to everybody",
    "ladder_by_tasks": "the plain Ladder of its paper, which tests hold the board's against",
    "expected_classes_bound": "a formula of the paper, which tests hold the exact value against",
    "classes_variance_bound": "a formula of the paper, which tests hold the exact value against",
    "disjoint_probability_bound": "a formula of the paper, which tests hold `enough_tasks` against",
    "squared_hellinger": "a formula of the paper, which tests hold the closed form against",
    "estimate_any": "the estimate one round at a time, which tests hold the quick one against",
    "dataset_means": "the plain means, which tests hold the model's against",
    "forget_all": "for a process that is given another database, as tests are",
}


def unused() -> list[str]:
    """Functions, classes and methods that nothing in the product, its tools or its templates names.

    What a decorator hands to a framework, and what a base class may call, is left out.
    """
    named = _names_in_use()
    return [
        f"{path.relative_to(ROOT)}: {one.name}"
        for path in sources()
        for node in ast.parse(path.read_text()).body
        for one in (node, *(node.body if isinstance(node, ast.ClassDef) and not node.bases else []))
        if isinstance(one, ast.FunctionDef | ast.ClassDef)
        and not _is_handed_over(one)
        and named[one.name] == 1
        and one.name not in OFFERED
    ]


def _is_handed_over(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return node.name.startswith("__") or any(isinstance(one, ast.Call) for one in node.decorator_list)


def _names_in_use() -> Counter[str]:
    """How often code names each word, and texts that are read as code: entry points, templates, scripts."""
    named: Counter[str] = Counter()
    tools = [path for folder in _TOOLS for path in (ROOT / folder).rglob("*.py")]
    for path in (*sources(), *tools):
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.NAME:
                named[token.string] += 1
            elif token.type == tokenize.STRING and not token.string.endswith('"""'):
                named.update(re.findall(r"\w+", token.string))
    for project in PROJECTS:
        for path in (ROOT / project).rglob("*"):
            if path.suffix in (".html", ".toml", ".js") and path.is_file():
                named.update(re.findall(r"\w+", path.read_text()))
    return named


def columns_not_read() -> list[str]:
    """Columns and relationships of the platform's tables that code may write and that nothing reads."""
    read = _attributes_read()
    return [
        f"{path.relative_to(ROOT)}: {table.name}.{column}"
        for path in sources("platform")
        if path.name == "models.py"
        for table in ast.parse(path.read_text()).body
        if isinstance(table, ast.ClassDef)
        for column in _mapped(table)
        if column not in read
    ]


def _attributes_read() -> set[str]:
    """What code reads of an object by name: `row.name`, the text "name", and words of templates."""
    read: set[str] = set()
    for path in sources("platform"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.add(node.value)
    for path in (ROOT / "platform" / PLATFORM / "templates").rglob("*.html"):
        read.update(re.findall(r"\w+", path.read_text()))
    return read


def _mapped(table: ast.ClassDef) -> list[str]:
    found = [node for node in table.body if isinstance(node, ast.AnnAssign)]
    return [ast.unparse(node.target) for node in found if "Mapped" in ast.unparse(node.annotation)]


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
    Figure("functions, classes and methods that the product does not use", lambda: len(unused()), 0),
    Figure("columns of the platform's tables that nothing reads", lambda: len(columns_not_read()), 0),
    Figure("names of classes that mean two things", lambda: len(shared_class_names()), 0),
    Figure("lines of Python in the packages", product_lines),
)


def main() -> None:
    """Print the table; with `--modules` what each module says it holds, with `--edges` who imports whom.

    With `--names` the classes that share a name, with `--unused` what nothing uses.
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
    if "--unused" in sys.argv:
        print(*unused(), *columns_not_read(), sep="\n")
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
