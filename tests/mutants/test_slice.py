"""A slice of the mutants in each run of CI, so that planted bugs die there; `make mutants` judges them all."""

import pytest

from tests.mutants.catalogue import Mutant, read_mutants
from tests.mutants.judging import judge


@pytest.mark.full
@pytest.mark.rotating(10)
@pytest.mark.slow("a run of pytest with one wrong change")
@pytest.mark.parametrize("mutant", list(read_mutants()), ids=lambda mutant: f"{mutant.area}: {mutant.name}")
def test_a_mutant_is_killed(mutant: Mutant) -> None:
    verdict, output = judge(mutant)
    assert verdict == "killed", f"{verdict}: {mutant.find!r} became {mutant.replace!r}\n{output[-3000:]}"
