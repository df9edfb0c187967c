from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from anyshot_core.charts import (
    Bar,
    Chart,
    RankBar,
    draw_bars,
    draw_curves,
    draw_difficulty,
    draw_distributions,
    draw_heat_map,
    draw_rank_intervals,
)
from anyshot_core.charts.canvas import PALETTE, style
from anyshot_scoring.difficulty import Difficulty
from anyshot_scoring.summary import Group, summarize
from tests.scoring.drawn import draw_table

SUMMARY = summarize(draw_table(1, 300), 300)
NASTY = 'a <b> & "c" $x_1$ $\\frac{ \x00\x1b 名前'
CHARTS: dict[str, Callable[[], Chart]] = {
    "bars": lambda: draw_bars(SUMMARY.by_dataset, "By dataset"),
    "curves": lambda: draw_curves(
        {"mine": SUMMARY.by_ways, "_theirs": SUMMARY.by_ways[:4]}, "By ways", "ways"
    ),
    "difficulty": lambda: draw_difficulty([Difficulty("A", 0.3, 0.5), Difficulty("B", 0.6, 0.1)]),
    "ranks": lambda: draw_rank_intervals(
        [RankBar("a", 1, 1, 3, 0.7), RankBar("b", 2, 1, 3)], "Ranks", "tasks"
    ),
    "distributions": lambda: draw_distributions({"a": np.linspace(-0.2, 1, 99), "same": [0.5] * 4}),
    "heat map": lambda: draw_heat_map([[np.nan, 0.7], [0.3, np.nan]], ["a", "b"], "Order", "probability"),
}
EMPTY: dict[str, Callable[[], Chart]] = {
    "bars": lambda: draw_bars([], "No bars"),
    "curves": lambda: draw_curves({"a": []}, "No curve", "ways"),
    "difficulty": lambda: draw_difficulty([]),
    "ranks": lambda: draw_rank_intervals([], "No rank", "tasks"),
    "distributions": lambda: draw_distributions({"a": [np.nan]}),
    "heat map": lambda: draw_heat_map(np.full((1, 1), np.nan), ["a"], "No cell", "nothing"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_has_a_title_and_a_text_alternative(name: str):
    chart = CHARTS[name]()
    root = ET.fromstring(chart.svg)
    ids = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    described = [ids[key] for key in root.attrib["aria-labelledby"].split()]
    assert root.get("role") == "img"
    assert described == [chart.title, chart.description]
    assert len(chart.description) > 20


@pytest.mark.parametrize("name", CHARTS)
def test_equal_input_gives_equal_bytes(name: str):
    assert CHARTS[name]().svg == CHARTS[name]().svg


@pytest.mark.parametrize("name", CHARTS)
def test_text_follows_the_page_and_no_style_is_inline(name: str):
    svg = CHARTS[name]().svg
    assert 'fill="currentColor"' in svg
    assert "style" not in svg
    assert "#000000" not in svg
    assert "#ffffff" not in svg


@pytest.mark.parametrize("name", EMPTY)
def test_nothing_to_draw_says_so(name: str):
    chart = EMPTY[name]()
    assert "Nothing to draw yet" in chart.svg
    assert "nothing to draw yet" in chart.description.lower()


def test_ids_of_two_charts_on_a_page_differ():
    roots = [ET.fromstring(make().svg) for make in CHARTS.values()]
    ids = [element.get("id") for root in roots for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for root in roots:
        own = {element.get("id") for element in root.iter()}
        references = {e.get("href", "").removeprefix("#") for e in root.iter() if e.get("href")}
        assert references <= own


def test_names_are_text_never_markup_or_formulas():
    for chart in (
        draw_bars([Bar(NASTY, 0.5, 0.1)], NASTY),
        draw_curves({NASTY: SUMMARY.by_ways, "b": SUMMARY.by_ways}, NASTY, "ways"),
        draw_heat_map([[0.5]], [NASTY], NASTY, "probability"),
        draw_distributions({NASTY: [0.1, 0.2]}),
        draw_rank_intervals([RankBar(NASTY, 1, 1, 1)], NASTY, NASTY),
        draw_difficulty([Difficulty(NASTY, 0.1, 0.2)]),
    ):
        texts = "".join(ET.fromstring(chart.svg).itertext())
        assert 'a <b> & "c" $x_1$' in texts
        assert "\x1b" not in chart.svg


def test_a_name_that_starts_with_an_underscore_stays_in_the_legend():
    assert "_theirs" in "".join(ET.fromstring(CHARTS["curves"]().svg).itertext())


def test_scores_below_chance_are_drawn():
    assert "−0.100 ± 0.020" in draw_bars([Bar("worse", -0.1, 0.02)], "Below").description


def test_an_undefined_interval_is_said():
    assert "0.500 (interval undefined)" in draw_bars([Bar("one task", 0.5)], "One").description


def test_charts_can_be_drawn_in_threads():
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: CHARTS["bars"]().svg, range(8)))
    assert len(set(drawn)) == 1


def test_a_matrix_must_fit_its_labels():
    with pytest.raises(ValueError, match="expected"):
        draw_heat_map([[1.0, 2.0]], ["a"], "t", "m")
    assert "x" in draw_heat_map([[1.0, 2.0]], ["a"], "t", "m", columns=["x", "y"]).svg


def test_a_file_stands_alone():
    assert ET.fromstring(CHARTS["bars"]().file()).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("page", [(255, 255, 255), (0x12, 0x12, 0x12)])
@pytest.mark.parametrize("colour", PALETTE)
def test_colours_stand_out_from_light_and_dark_pages(colour: str, page: tuple[int, int, int]):
    own = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
    low, high = sorted(_luminance(rgb) for rgb in (own, page))
    assert (high + 0.05) / (low + 0.05) >= 3.0


def test_series_differ_by_more_than_colour():
    assert len({style(i) for i in range(64)}) == 64
    assert len({style(i)[1:] for i in range(8)}) == 8


def _luminance(rgb: tuple[int, ...]) -> float:
    """Relative luminance (WCAG 2)."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("entries", [2, 17, 51])
def test_a_legend_is_not_cut_off(entries: int):
    chart = draw_curves({f"entry {i}": SUMMARY.by_ways for i in range(entries)}, "Many", "ways")
    root = ET.fromstring(chart.svg)
    height = float(root.attrib["viewBox"].split()[3])
    texts = [e for e in root.iter() if e.tag.endswith("text") and (e.text or "").startswith("entry ")]
    places = [float(text.attrib["y"]) for text in texts]
    assert len(places) == entries and min(places) > 8 and max(places) < height


def test_bands_do_not_flatten_the_curves():
    """An interval of two tasks can be several times the range that scores have."""
    wide = [Group(2, 0.3, 7.0, 2), Group(3, 0.6, 0.02, 90)]
    ticks = [
        float(element.text.replace("\u2212", "-"))
        for element in ET.fromstring(draw_curves({"a": wide}, "Wide", "ways").svg).iter()
        if element.tag.endswith("text") and element.text and "." in element.text
    ]
    assert min(ticks) >= 0.0 and max(ticks) <= 0.9


def places_of_bars(svg: str) -> list[float]:
    """Where a line in a colour of the palette goes straight up."""
    lines = [
        e.attrib["d"].split()
        for e in ET.fromstring(svg).iter()
        if e.attrib.get("stroke") in PALETTE and "clip-path" in e.attrib
    ]
    return sorted(float(line[1]) for line in lines if len(line) == 6 and line[1] == line[4])


@pytest.mark.parametrize("entries", [1, 2, 3, 8])
def test_intervals_of_many_curves_can_be_told_apart(entries: int):
    """Three bands and more overlapped to mud: their intervals are bars, none of which lies on another."""
    several = {
        f"entry {i}": [Group(shots, 0.5 + 0.01 * i, 0.1, 9) for shots in (1, 2, 5, 20)]
        for i in range(entries)
    }
    svg = draw_curves(several, "Shots", "shots").svg
    bands = [e for e in ET.fromstring(svg).iter() if e.attrib.get("fill-opacity") == "0.18"]
    bars = places_of_bars(svg)
    assert (len(bands), len(bars)) == ((entries, 0) if entries < 3 else (0, 4 * entries))
    assert all(after - before > 1 for before, after in pairwise(bars))
    ticks = [e.text for e in ET.fromstring(svg).iter() if e.tag.endswith("text") and (e.text or "").isdigit()]
    assert entries < 3 or ticks == ["1", "2", "5", "20"]


@pytest.mark.parametrize("entries", [1, 2, 3])
def test_a_curve_over_shares_has_its_numbers_where_it_has_values(entries: int):
    shares = [Group(share, 0.5, 0.1, 9) for share in ("0", "0.5", "1")]
    chart = draw_curves(
        {f"e{i}": shares for i in range(entries)}, "Mixed", "share of novel classes", whole=False
    )
    root = ET.fromstring(chart.svg)
    numbers = [e.text for e in root.iter() if e.tag.endswith("text") and (e.text or "")[:1].isdigit()]
    assert numbers[:3] == ["0.0", "0.5", "1.0"] and "1.05" not in numbers


def test_an_undefined_interval_has_no_band():
    """A band that pinches to a point would say that a single task is the surest."""

    def bands(*half_widths: float | None) -> int:
        groups = [Group(key, 0.5, half, 1) for key, half in enumerate(half_widths, 2)]
        svg = draw_curves({"a": groups}, "Bands", "ways").svg
        return len([e for e in ET.fromstring(svg).iter() if e.attrib.get("fill-opacity") == "0.18"])

    assert bands(0.1, 0.1, 0.1, 0.1) == 1
    assert bands(None, None, None, None) == 0
    assert bands(0.1, 0.1, None, 0.1, 0.1) == 2


def test_few_tasks_are_dots_and_many_a_histogram() -> None:
    few = draw_distributions({"one": [0.1, 0.4, 0.4, 0.9]}).svg
    many = draw_distributions({"one": [place / 100 for place in range(100)]}).svg
    assert few.count("<use") - many.count("<use") >= 3
