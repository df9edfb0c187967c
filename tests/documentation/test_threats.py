"""docs/operators/threats.md: each promise has a test, which exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/operators/threats.md").read_text()
TABLES = re.findall(r"^\| promise \|.*\n\| --- .*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
ROWS = [re.split(r"(?<!\\)\|", line)[1:3] for table in TABLES for line in table.splitlines()]
PROMISES = {row[0].strip(): row[1] for row in ROWS}


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_names_a_test_that_exists(promise: str) -> None:
    tests = re.findall(r"`(tests/[^`]+)`", PROMISES[promise])
    assert tests
    for test in tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        assert not name or f"def {name}(" in (ROOT / path).read_text(), test
