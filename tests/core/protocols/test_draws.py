"""The random numbers that tasks are made of: pinned for ever, exactly uniform, independent between keys."""

import hashlib

import numpy as np
import pytest

from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.task import dataset_in_turn, tasks_of_dataset


def words_by_the_definition(*key: str | int) -> list[int]:
    """The first 256 words of a stream, from the definition with the standard library alone."""
    prefix = b""
    for part in key:
        text = str(part).encode()
        prefix += len(text).to_bytes(4, "big") + text
    data = hashlib.shake_256(prefix + (0).to_bytes(8, "big")).digest(8 * 256)
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]


def test_words_are_those_of_the_definition() -> None:
    words = words_by_the_definition("a", 1)
    draws = Draws("a", 1)
    assert [draws.below(1000) for _ in range(200)] == [word % 1000 for word in words[:200]]


PINNED_DIGITS = [6, 2, 0, 2, 9, 6, 7, 9]
PINNED_PERMUTATION = [6, 7, 2, 3, 5, 1, 9, 4, 8, 0]
PINNED_CHOICE = [747881596, 611351116, 78395772]
PINNED_ORDER = [0, 3, 4, 7, 1, 6, 5, 2]


def test_a_pinned_stream() -> None:
    draws = Draws("any_way_any_shot", 93, 0)
    assert [draws.below(10) for _ in range(8)] == PINNED_DIGITS
    assert Draws("pin", 1).permutation(10).tolist() == PINNED_PERMUTATION
    assert Draws("pin", 1).choose(10**9, 3).tolist() == PINNED_CHOICE
    assert Draws("pin", 1).order(8).tolist() == PINNED_ORDER


def test_a_word_of_the_incomplete_span_is_skipped() -> None:
    bound = (1 << 63) + 1  # nearly half of all words are in no complete span
    words = [word for word in words_by_the_definition("a", 1) if word < bound]
    one_by_one = Draws("a", 1)
    assert [one_by_one.below(bound) for _ in range(40)] == words[:40]
    at_once = Draws("a", 1)
    assert at_once.below_each(np.full(40, bound, dtype=np.uint64)).tolist() == words[:40]
    assert at_once.below(bound) == words[40]


def test_key_parts_do_not_run_together() -> None:
    firsts = {Draws(*key).below(1 << 60) for key in [("ab", "c"), ("a", "bc"), ("abc",), ("ab", 0), ("ab0",)]}
    assert len(firsts) == 5


@pytest.mark.parametrize(("count", "size"), [(6, 3), (64, 3)])  # both ways of swapping
def test_every_ordered_choice_is_as_likely(count: int, size: int) -> None:
    rounds = 12000
    chosen = Draws("uniform", count).choose_each([count] * rounds, size)
    assert all(len(set(row)) == size for row in chosen.tolist())
    for place in range(size):
        counts = np.bincount(chosen[:, place], minlength=count)
        chi_square = ((counts - rounds / count) ** 2 / (rounds / count)).sum()
        assert chi_square < (count - 1) + 5 * np.sqrt(2 * (count - 1))
    pairs = np.unique(chosen[:, 0] * count + chosen[:, 1])
    assert len(pairs) > 0.9 * min(count * (count - 1), rounds * 0.86)


def test_both_ways_of_swapping_choose_the_same() -> None:
    def by_hand(count: int, size: int) -> list[int]:
        numbers, draws = list(range(count)), Draws("same", count)
        others = draws.below_each(count - np.arange(size)).tolist()
        for place in range(size):
            other = place + int(others[place])
            numbers[place], numbers[other] = numbers[other], numbers[place]
        return numbers[:size]

    for count, size in [(20, 20), (40, 25), (1000, 5), (79, 5), (81, 5), (1, 1)]:
        assert Draws("same", count).choose(count, size).tolist() == by_hand(count, size)


def test_more_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(ValueError, match="4 of 3"):
        Draws("x").choose(3, 4)


def test_normal_numbers_are_normal() -> None:
    values = Draws("normal").normal(50_000)
    assert abs(values.mean()) < 0.02
    assert abs(values.std() - 1) < 0.02
    assert abs((np.abs(values) < 1.959964).mean() - 0.95) < 0.005
    assert 0 <= Draws("unit").unit() < 1


def test_long_streams_continue_across_blocks() -> None:
    whole = Draws("long").below_each(np.full(1000, 1 << 62, dtype=np.uint64)).tolist()
    draws = Draws("long")
    assert [draws.below(1 << 62) for _ in range(1000)] == whole


@pytest.mark.parametrize(
    ("start", "stop", "datasets"), [(0, 12, 5), (3, 17, 4), (2, 3, 7), (5, 5, 3), (0, 9, 1)]
)
def test_the_tasks_of_a_dataset_are_those_whose_turn_it_is(start: int, stop: int, datasets: int) -> None:
    tasks = range(start, stop)
    for dataset in range(datasets):
        turns = [index for index in tasks if dataset_in_turn(9, index, range(datasets)) == dataset]
        assert tasks_of_dataset(9, tasks, datasets, dataset) == turns
