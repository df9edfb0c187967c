"""The figures of the code's rooms may fall and never rise; `make structure` prints them."""

import pytest

from tests.architecture.structure import HELD, Figure, cycles, mutual, unexplained


@pytest.mark.seconds("reads or imports the whole product", each_time=True)
@pytest.mark.parametrize("figure", [one for one in HELD if one.held is not None], ids=lambda one: one.words)
def test_a_figure_does_not_rise(figure: Figure) -> None:
    assert figure.measure() <= (figure.held or 0), f"{figure.words}: `make structure` shows all figures"


def test_every_module_says_in_a_line_of_its_own_what_it_holds() -> None:
    assert unexplained() == [], "the first line of each docstring: five words or more, and no two alike"


def test_cycles_are_found_however_long() -> None:
    assert cycles([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("e", "e")]) == [["a", "b", "c"], ["e"]]
    assert cycles([("a", "b"), ("b", "c"), ("a", "c")]) == []


def test_pairs_are_told_once() -> None:
    assert all(a < b for a, b in mutual())
