"""What `anyshot confusion` prints of the counts that a platform tells."""

from typing import Any

import pytest
from click.testing import CliRunner

from anyshot_core.client import Client
from anyshot_core.command import main

# 9 of 10 images of class 3 are right; half of the 4 of class 7 that met class 3 were taken for it.
FOUND = {
    "dataset": "Hidden 1",
    "tasks": 2,
    "right": 11 / 14,
    "classes": [3, 7, 9],
    "counts": [[9, 1, 0], [2, 2, 0], [0, 0, 0]],
    "together": [[10, 10, 0], [4, 4, 0], [0, 0, 0]],
}


def test_the_most_frequent_mistakes_come_first_and_those_that_were_not_made_do_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Client, "confusions", lambda *_: [FOUND])
    asked = ["confusion", "0" * 32, "--server", "http://localhost:1", "--token", "t"]
    said: Any = CliRunner().invoke(main, asked, catch_exceptions=False)
    assert said.output.splitlines() == [
        "Hidden 1: 78.6% of the query images classified correctly",
        "  class 7 taken for class 3: 50% (2 of 4 images)",
        "  class 3 taken for class 7: 10% (1 of 10 images)",
    ]
