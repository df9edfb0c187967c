"""Which code computed a stored result, so that a test can tell when the result is older than it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = "anyshot_analysis.studies.reproduce"
OURS = ("anyshot_analysis", "anyshot_scoring", "anyshot_core", "anyshot_starting_kit")
# What only shows numbers or stores data, and the secrets of phases: a study draws from small numbers.
BESIDE = (
    "anyshot_core.protocols.keys",
    "anyshot_core.data",
    "anyshot_core.charts",
    "anyshot_core.report",
    "anyshot_analysis.pages",
    "anyshot_analysis.jobs.inputs",
    "anyshot_analysis.jobs.registry",
    "anyshot_starting_kit.dryrun",
    "anyshot_core.results",
)


def code_of(name: str) -> dict[str, str]:
    """Digest of each module that a reproduction computes with, itself first; layout, words and types do not count."""
    start, found = f"{HERE}.{name.replace('-', '_')}", {}
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in found or any(module == part or module.startswith(f"{part}.") for part in BESIDE):
            continue
        tree = _tree(module)
        if tree is None:
            continue
        found[module] = _digest(module)
        waiting += _imports(tree)
    return {module: found[module] for module in [start, *sorted(set(found) - {start})]}


def changed(stored: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Modules that are not those that a stored result was computed by."""
    return sorted(module for module in {*stored, *now} if stored.get(module) != now.get(module))


@cache
def _digest(module: str) -> str:
    tree = _tree(module)
    assert tree is not None  # only modules that were found come here
    return hashlib.sha256(_words(_without_docstrings(tree)).encode()).hexdigest()[:12]


@cache
def _tree(module: str) -> ast.Module | None:
    if module.partition(".")[0] not in OURS:
        return None
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # a name imported from a module, not a module
        return None
    if spec is None or spec.origin is None:
        return None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (_home(node.module, alias.name) for alias in node.names)


def _home(module: str, name: str) -> str:
    """The module that `from module import name` takes its content from: packages pass names on."""
    if _tree(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    tree = _tree(module)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _home(node.module, name)
    return module


def _without_docstrings(tree: ast.Module) -> ast.Module:
    tree = ast.parse(ast.unparse(tree))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # pyright: ignore[reportAttributeAccessIssue]
                part
                for part in body
                if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return tree


def _words(node: Any) -> str:
    """The tree as text, the same under every Python: empty fields, types and what newer ones add do not count."""
    if isinstance(node, list):
        return "[" + ",".join(map(_words, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_words(value)}"
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name not in ("type_params", "kind", "ctx", "annotation", "returns")
    ]
    return f"{type(node).__name__}({','.join(fields)})"
