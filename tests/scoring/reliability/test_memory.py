import tracemalloc

import pytest

from anyshot_scoring.reliability import rank_reliability, resample
from tests.scoring.simulated import draw_matrix


@pytest.mark.parametrize("population", ["tasks", "datasets"])
def test_the_bootstrap_needs_bounded_memory(population: str):
    """All counts at once would be 4,000 x 4,000 numbers, 128 MB, and twice that to draw them."""
    matrix = draw_matrix(0, [0.5] * 6, datasets=4, tasks=1_000)
    tracemalloc.start()
    drawn = resample(matrix, population, replicates=4_000)
    rank_reliability(matrix.scores.mean(axis=0), drawn, 4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 90e6
