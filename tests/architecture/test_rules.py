"""Ranking rules are objects: no product code asks for one by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyshot_scoring.rules import RULES

ROOT = Path(__file__).parents[2]
PACKAGES = ("scoring", "core", "starting_kit", "analysis", "studies", "worker", "platform")
HOME = "scoring/anyshot_scoring/rules.py"


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package / f"anyshot_{package}").rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if "/migrations/" not in name and name != HOME:
                yield name, ast.parse(path.read_text())


def _asked(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Names of rules that are compared, looked up or matched; defaults of settings are none of these."""
    for node in ast.walk(module):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.Subscript):
            parts = [node.slice]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            parts = list(node.elts)
        for part in parts:
            if isinstance(part, ast.Constant) and part.value in RULES:
                yield part.lineno, str(part.value)


@pytest.mark.seconds("reads or imports the whole product", each_time=True)
def test_nobody_asks_for_a_rule_by_its_name() -> None:
    found = [f"{name}:{line}: {rule}" for name, module in _modules() for line, rule in _asked(module)]
    assert not found, "ask the rule (anyshot_scoring.rules):\n" + "\n".join(found)


def test_a_question_for_a_name_is_found() -> None:
    source = (
        "if phase.rule == 'mean_run' or rule in ('worst_run',):\n    pass\nwords = {'worst_dataset': ''}\n"
    )
    assert {rule for _, rule in _asked(ast.parse(source))} == {"mean_run", "worst_dataset", "worst_run"}
