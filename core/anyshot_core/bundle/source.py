"""Finds out from its syntax alone whether model.py offers the two classes; nothing is imported."""

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_BYTES = 1 << 19
WANTED = ("MyMetaLearner", "MyLearner")


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A syntax error: `line` counts from 1, 0 where unknown."""

    line: int
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Names a module binds at its top level; `star` where an `import *` may bind more;
    `imports` are top-level packages.
    """

    bound: frozenset[str]
    star: bool
    imports: frozenset[str]

    def missing(self) -> list[str]:
        """Which of the two classes are certainly not there."""
        return [] if self.star else [name for name in WANTED if name not in self.bound]


def parse(source: bytes) -> ast.Module | SourceProblem:
    """The syntax of `source`, or why it does not compile. Python 3.11 or later is what decides."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except SyntaxError as error:
        return SourceProblem(error.lineno or 0, error.msg or "syntax error", (error.text or "").strip()[:200])
    except (ValueError, LookupError) as error:
        return SourceProblem(0, f"not Python source text ({error})"[:200], "")
    except (RecursionError, MemoryError):
        return SourceProblem(0, "nested too deeply to be read", "")


def read_names(source: bytes) -> ModuleNames | SourceProblem:
    """What `source` binds, or why it does not compile."""
    tree = parse(source)
    if isinstance(tree, SourceProblem):
        return tree
    statements = list(_top_level(tree.body))
    return ModuleNames(
        bound=frozenset(name for statement in statements for name in _bound(statement)),
        star=any(
            isinstance(s, ast.ImportFrom) and any(alias.name == "*" for alias in s.names) for s in statements
        ),
        imports=frozenset(_imported(tree)),
    )


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run in the module's own scope, also inside if, try, with and loops."""
    waiting = list(body)
    while waiting:
        statement = waiting.pop()
        yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            waiting.extend(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            waiting.extend(handler.body)
        for case in getattr(statement, "cases", []):
            waiting.extend(case.body)


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield (alias.asname or alias.name).split(".")[0]
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
