"""The order in which a query is shown is secret: code sees neither the order of the protocol nor one order twice."""

from typing import Any

import numpy as np
import pytest

from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.taskserver.tasks import query_order
from anyshot_core.wire.worker_api import LogPolicy
from tests.core.conftest import HONEST, Runs

TELLING = HONEST.replace(
    "        return -(query_set",
    '        print("saw", *(float(image.mean()) for image in query_set))\n        return -(query_set',
)


def seen_by_code(runs: Runs, **changes: Any) -> list[list[float]]:
    """The mean of each query image in the order in which the submission saw it, task by task."""
    runs.lines.clear()
    outcome = runs.run(TELLING, log_policy=LogPolicy.EVERYTHING, **changes)
    assert outcome.failure is None, outcome.failure
    return [
        [float(word) for word in line.text.split()[1:]] for line in runs.lines if line.text.startswith("saw")
    ]


@pytest.mark.parametrize("inline", [False, True], ids=["shared memory", "inline"])
def test_code_sees_the_query_in_the_secret_order(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, inline: bool
) -> None:
    if inline:
        monkeypatch.setattr(ChildChannel, "pixels", property(lambda self: None))
    protocols = seen_by_code(runs, query_secret=None)
    shown, other = (seen_by_code(runs, query_secret=secret) for secret in (b"secret", b"other"))
    assert len(protocols) == len(shown) == 6
    assert shown != protocols and shown != other
    for index, (plain, seen) in enumerate(zip(protocols, shown, strict=True)):
        assert seen == [plain[place] for place in query_order(b"secret", index, len(plain))]


def test_the_order_depends_on_secret_and_task_and_gives_every_image_every_place() -> None:
    orders = np.array([query_order(b"secret", index, 6) for index in range(600)])
    assert (np.sort(orders, axis=1) == np.arange(6)).all()
    places = np.array([np.bincount(orders[:, place], minlength=6) for place in range(6)])
    assert places.min() > 60 and places.max() < 140  # 100 expected, standard deviation 9
    assert not np.array_equal(orders, [query_order(b"other", index, 6) for index in range(600)])
