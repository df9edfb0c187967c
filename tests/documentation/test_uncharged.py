"""docs/operators/sandbox.md lists every step that is not charged, with its allowance; pages have words for each."""

import re
from pathlib import Path

import pytest

from anyshot_core.taskserver.ledger import UNCHARGED
from anyshot_core.wire.worker_api import PlatformStep
from anyshot_platform.site.submissions.timing import PLATFORM_WORDS

PAGE = (Path(__file__).parents[2] / "docs/operators/sandbox.md").read_text()
SECTION = PAGE.partition("## Time that is not charged")[2].partition("\n## ")[0]
ROWS = {row[0]: row[2] for row in re.findall(r"^\| `(\w+)` \|(.*)\|(.*)\|$", SECTION, re.M)}


def test_every_step_that_is_not_charged_is_listed_and_has_words() -> None:
    assert set(ROWS) == set(PlatformStep) == set(PLATFORM_WORDS)


@pytest.mark.parametrize("step", UNCHARGED)
def test_the_allowance_is_the_ledgers(step: PlatformStep) -> None:
    allowance = UNCHARGED[step]
    for seconds in filter(None, (allowance.seconds, allowance.for_each_mib)):
        told = (f"{seconds:g} s", f"{1000 * seconds:g} ms")
        assert any(re.search(rf"(?<![\d.]){words}", ROWS[step]) for words in told), (step, told)
