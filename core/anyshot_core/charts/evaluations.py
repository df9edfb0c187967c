"""The curve of a further evaluation as a drawing, for papers and pages of studies."""

from collections.abc import Mapping, Sequence

from anyshot_core.charts.canvas import Chart
from anyshot_core.charts.curves import draw_curves
from anyshot_core.evaluations.curves import find_curves
from anyshot_core.evaluations.scores import PointScore


def draw_evaluation(series: Mapping[str, Sequence[PointScore]]) -> Chart | None:
    """The curves of one evaluation, one for each name; None where its points make no curve."""
    curves = find_curves(series)
    if curves is None:
        return None
    whole = all(float(group.key).is_integer() for groups in curves.groups.values() for group in groups)
    return draw_curves(curves.groups, curves.title, curves.axis, whole=whole)
