"""Further evaluations side by side: a row for each point, a column for each learner, a curve where there is an axis."""

import html
import json
import re
from dataclasses import replace

from anyshot_core.evaluations import PointScore, evaluation_from_dict, score_text
from anyshot_core.protocols import Roles, read_protocol
from anyshot_core.report import evaluations_section

ROLES = Roles(read_protocol("class_side side=novel images=all"))


def scores(name: str, means: list[float | None]) -> list[PointScore]:
    """One evaluation of these means; None is a failure."""
    evaluation = evaluation_from_dict({"name": name} | ({"steps": [0, 0.25]} if name == "mixtures" else {}))
    points = evaluation.points(ROLES, ())
    made = [PointScore.of(evaluation, point, None, "OUT_OF_TIME: too slow") for point in points]
    return [
        one if mean is None else replace(one, mean=mean, half_width=0.05, tasks=40, message="")
        for one, mean in zip(made, means, strict=True)
    ]


def test_points_are_rows_and_learners_columns() -> None:
    series = {
        "<one>": [*scores("base", [0.5]), *scores("mixtures", [0.5, 0.375])],
        "two": scores("mixtures", [0.25, None]),
    }
    page = " ".join(str(evaluations_section(series)).split())
    (chart,) = (json.loads(html.unescape(text)) for text in re.findall(r'data-chart="([^"]+)"', page))
    assert "<one>" not in page and chart["x"]["label"] == "share of novel classes"
    assert chart["at"] == [0.0, 0.25] and [one["values"] for one in chart["series"]] == [
        [0.5, 0.375],
        [0.25, None],
    ]
    assert page.count("<section") == 2 and 'id="evaluation-mixtures"' in page
    assert "λ = 0.25" in page and "0.375 ± 0.050" in page and "OUT_OF_TIME: too slow" in page
    assert page.index("&lt;one&gt;") < page.index(">two<")
    assert str(evaluations_section({})) == ""


def test_evaluations_of_one_point_share_a_table_that_names_each_point_once() -> None:
    """One shot alone is called so; what has several points keeps a table and a curve of its own."""
    shots = scores("shots", [0.75])
    series = {
        "one": [*scores("base", [0.5]), *shots, *scores("mixtures", [0.5, 0.25])],
        "two": scores("base", [None]),
    }
    page = " ".join(str(evaluations_section(series)).split())
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["Further evaluations", "Base and novel classes mixed"]
    table = page[: page.index("</table>")]
    assert re.findall(r'<th scope="row">(.*?)</th>', table) == ["Base classes", "Number of shots: 1 shot"]
    assert re.findall(r'"number">([^<]*)</td>', table) == [
        "0.500 ± 0.050",
        "OUT_OF_TIME: too slow",
        "0.750 ± 0.050",
        "",
    ]


def test_text_has_a_line_for_each_point_and_says_no_title_twice() -> None:
    text = score_text([*scores("base", [0.5]), *scores("mixtures", [0.5, None])])
    assert text.splitlines() == [
        "Base classes: 0.500 ± 0.050, 40 tasks",
        "Base and novel classes mixed",
        "  λ = 0: 0.500 ± 0.050, 40 tasks",
        "  λ = 0.25: OUT_OF_TIME: too slow",
    ]
