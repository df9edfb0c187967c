"""Every mutant still fits the code and names tests that exist; `make mutants` runs them."""

import ast
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.mutants.catalogue import ROOT, Mutant, read_mutants

MUTANTS = list(read_mutants())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.area}: {mutant.name}")
def test_a_mutant_changes_one_place_and_stays_python(mutant: Mutant) -> None:
    assert mutant.source.count(mutant.find) == 1, f"{mutant.find!r} must occur once in {mutant.file}"
    assert mutant.find != mutant.replace
    ast.parse(mutant.source.replace(mutant.find, mutant.replace))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.area}: {mutant.name}")
def test_a_mutants_tests_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).exists(), path
        assert not function or f"def {function.partition('[')[0]}(" in (ROOT / path).read_text(), test


@pytest.mark.slow("a process that collects the tests which mutants name")
def test_the_cases_that_mutants_name_exist() -> None:
    """As mutants are judged: on SQLite, with all that rotates."""
    named = {test for mutant in MUTANTS for test in mutant.tests if "[" in test}
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", ""]
    found = subprocess.run(
        [*command, *sorted({test.partition("::")[0] for test in named})],
        cwd=ROOT,
        env={**os.environ, "ANYSHOT_TEST_DATABASE": "sqlite", "ANYSHOT_ROTATE": "all"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert named <= set(found.stdout.splitlines()), sorted(named - set(found.stdout.splitlines()))


def test_no_two_mutants_share_a_name() -> None:
    assert [name for name, count in Counter((m.area, m.name) for m in MUTANTS).items() if count > 1] == []
