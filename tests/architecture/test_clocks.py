"""No test asserts how long something took: on a busy machine it would fail, and on a quick one it would hold nothing.

What may not do too much work is held by counting work (calls, queries, bytes), or by an input so large that a test
without the protection runs into its time limit. Waiting for an event until a deadline is no measurement.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
_BASES = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_SAME = {"abs", "float", "int", "max", "min", "round", "sorted", "sum"}  # of seconds they give seconds
CLOCKS = {name + unit for name in _BASES for unit in ("", "_ns")}
_READ = re.compile(r"\btime\.time|from time import|_time\b|perf_counter|monotonic")  # a file may read a clock


class _Reader:
    """What the names in a piece of code hold: moments, which clocks told, and spans between moments."""

    def __init__(self, code: ast.AST, bare: set[str], measuring: set[str]) -> None:
        self.bare, self.measuring = bare, measuring
        self.moments: set[str] = set()
        self.spans: set[str] = set()
        for _ in range(2):  # a name may be used, in a loop, above the line that fills it
            for node in ast.walk(code):
                self._note(node)

    def _note(self, node: ast.AST) -> None:
        for target, value in _stored(node):
            if self.is_span(value):
                self.spans.add(target)
            elif self.is_moment(value):
                self.moments.add(target)

    def is_moment(self, code: ast.AST) -> bool:
        """Whether a clock is read in it, or a name holds what one told."""
        return any(
            self._reads_clock(node) or (isinstance(node, ast.Name) and node.id in self.moments)
            for node in _parts(code)
        )

    def is_span(self, code: ast.AST) -> bool:
        """Whether moments are subtracted in it, or a name or a function gives such a difference."""
        return any(
            (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and self.is_moment(node))
            or (isinstance(node, ast.Name) and node.id in self.spans | self.measuring)
            for node in _parts(code)
        )

    def _reads_clock(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="time"), attr=name)):
                return name in CLOCKS
            case ast.Call(func=ast.Name(id=name)):
                return name in self.bare
            case _:
                return False


def _parts(code: ast.AST) -> Iterator[ast.AST]:
    """The code and what it is made of, without what is given to functions: `recv(patience)` is no time."""
    yield code
    if isinstance(code, ast.Call) and not (isinstance(code.func, ast.Name) and code.func.id in _SAME):
        yield from _parts(code.func)
        return
    for part in ast.iter_child_nodes(code):
        yield from _parts(part)


def _stored(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement or a call fills, each with what it puts there."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
        ):
            yield from _paired(target, value)
        case ast.AugAssign(target=target, value=value):
            yield from _paired(target, value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add"), args=[value]):
            yield name, value
        case _:
            return


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """`a, b = x, y` fills a with x and b with y; `taken[key] = x` fills `taken`."""
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, its in zip(targets, values, strict=True):
                yield from _paired(one, its)
        case _:
            while isinstance(target, ast.Subscript):
                target = target.value
            if isinstance(target, ast.Name):
                yield target.id, value


def measured(module: ast.Module) -> Iterator[int]:
    """The lines of assertions that compare a span between two readings of a clock."""
    bare = {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for alias in node.names
        if alias.name in CLOCKS
    }
    functions = [
        node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    measuring: set[str] = set()
    for function in functions:
        reader = _Reader(function, bare, set())
        given = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
        measuring |= {function.name} if any(reader.is_span(value) for value in given) else set()
    for code in functions or [module]:
        reader = _Reader(code, bare, measuring)
        for node in ast.walk(code):
            if isinstance(node, ast.Assert) and any(
                isinstance(part, ast.Compare) and reader.is_span(part) for part in ast.walk(node.test)
            ):
                yield node.lineno


def test_no_assertion_measures_time() -> None:
    found: set[str] = set()
    for path in sorted(TESTS.rglob("*.py")):
        name, text = path.relative_to(TESTS).as_posix(), path.read_text()
        if _READ.search(text):
            found |= {f"{name}:{line}" for line in measured(ast.parse(text))}
    assert not found, "count the work instead: " + ", ".join(sorted(found))


@pytest.mark.parametrize(
    "code",
    [
        "began = time.monotonic()\nassert time.monotonic() - began < 3",
        "began, times = time.time(), []\ntimes.append(time.time() - began)\nassert min(times) < 0.1",
        "a = time.process_time()\nb = time.process_time()\nassert b - a < 3",
        "a = time.perf_counter_ns()\ntook['x'] = time.perf_counter_ns() - a\nassert took['x'] < 3, 'slow'",
        "from time import monotonic as clock\nbegan = clock()\nassert round(clock() - began) < 3",
        "def took():\n    a = time.time()\n    return time.time() - a\ndef test():\n    assert took() < 1",
        "if (took := time.time() - began) > 1:\n    pass\nassert took < 3 and other",
    ],
)
def test_a_measurement_is_found(code: str) -> None:
    assert len(list(measured(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "deadline = time.monotonic() + 60\nwhile not done():\n    assert time.monotonic() < deadline",
        "began = time.time()\nprint(time.time() - began)\nassert count - 1 < 3",
        "left = deadline - time.time()\npiece = box.recv(max(0, left))\nassert len(piece) < 3",
    ],
)
def test_waiting_is_no_measurement(code: str) -> None:
    assert list(measured(ast.parse(code))) == []
