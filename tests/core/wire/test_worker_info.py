"""What a worker may tell of itself."""

import pytest
from pydantic import ValidationError

from anyshot_core.wire.worker_api import WorkerInfo

DIGEST = "sha256:" + "0" * 64


def test_the_digests_of_its_images_are_told() -> None:
    told = {"": DIGEST, "cpu-2": DIGEST}
    assert WorkerInfo(name="w", image_digests=told).image_digests == told


@pytest.mark.parametrize(
    "told",
    [
        {"": "latest"},
        {"": DIGEST[:-1]},
        {"": "x" * 10_000},
        {"a" * 65: DIGEST},
        {f"{n}": DIGEST for n in range(101)},
    ],
)
def test_what_a_worker_tells_of_its_images_are_digests(told: dict[str, str]) -> None:
    """A phase is pinned to what workers tell: no text of any other kind gets that far."""
    with pytest.raises(ValidationError, match="image_digests"):
        WorkerInfo(name="w", image_digests=told)
