"""How a board came to be what it is: the best score and those of single teams over time, as a chart with its table."""

from bisect import bisect_right
from collections.abc import Sequence

from anyshot_core.browser_charts.numbers import chart_data
from anyshot_core.words import in_utc
from anyshot_platform.foundation.filters import score, when
from anyshot_platform.site.shell.chart_data import ChartView, thinned
from anyshot_platform.standings.leaderboards.reading import TopValue

MOST_TEAMS = 4
Line = tuple[str, Sequence[TopValue]]


def draw_lines(title: str, lines: Sequence[Line], score_title: str) -> ChartView | None:
    """A line for each; between two values it keeps the earlier. None where nothing has changed yet."""
    known = [(label, values) for label, values in lines if values]
    moments = sorted({value.at for _, values in known for value in values})
    if len(moments) < 2:
        return None
    drawn = {"line": True, "steps": True}
    series = [{"label": label, "values": _steps(values, moments), **drawn} for label, values in known]
    data = chart_data(
        [in_utc(moment).timestamp() for moment in moments],
        series,
        x="When",
        y=score_title,
        x_kind="date",
    )
    told = sorted(
        ((value.at, value.team, label, value.score) for label, values in known for value in values),
        reverse=True,
    )
    rows = [(when(at), team, label, score(value)) for at, team, label, value in told]
    return ChartView(title, data, ("When", "Team", "Line", score_title), tuple(thinned(rows)))


def _steps(values: Sequence[TopValue], moments: Sequence[object]) -> list[float | None]:
    """The value that stood at each of the moments."""
    times = [value.at for value in values]
    places = [bisect_right(times, moment) - 1 for moment in moments]  # type: ignore[type-var]
    return [None if place < 0 else values[place].score for place in places]
