"""A page of a leaderboard as it is drawn: intervals on one scale, brackets, anonymised columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from anyshot_core.browser_charts.numbers import known_half
from anyshot_platform.foundation.paging import Page
from anyshot_platform.judging.execution.pairs import Statement
from anyshot_platform.judging.visibility.names import DatasetNames, natural
from anyshot_platform.site.evaluations.view import EvaluationCard
from anyshot_platform.site.shell.chart_data import ChartView
from anyshot_platform.site.shell.page_header import Tab
from anyshot_platform.site.web.gaps import Own
from anyshot_platform.standings.leaderboards.extra_columns import ExtraColumn
from anyshot_platform.standings.leaderboards.late import LateRow
from anyshot_platform.standings.leaderboards.reading import BoardPlace
from anyshot_platform.standings.leaderboards.trust import Neighbour
from anyshot_scoring.rankings import passes_gate


@dataclass(frozen=True)
class BoardColumn:
    """A dataset's column; `key` and `title` are what the viewer may see, `name` never leaves the platform."""

    key: str
    label: str
    title: str
    name: str


@dataclass(frozen=True)
class BoardCell:
    """A score on one dataset; `heat` is its place in the column, 0 (lowest) to 4."""

    value: float | None
    heat: int


@dataclass(frozen=True)
class RowView:
    """What the board shows of one entry."""

    key: str
    rank: int | None
    team: str
    href: str | None
    own: bool
    baseline: bool
    value: float
    half_width: float | None
    drawn: bool
    x: float
    x_low: float | None  # None where the interval is undefined
    x_high: float | None
    datasets: tuple[BoardCell, ...]
    seconds: float
    submitted_at: datetime
    bracket: str
    above_gate: bool | None


@dataclass(frozen=True)
class Scale:
    """From scores to the 0 to 100 of the drawings."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the score lies inside the drawing."""
        return self.low <= value <= self.high

    def x(self, value: float) -> float:
        """Where a score lies, kept inside the drawing."""
        share = (value - self.low) / (self.high - self.low)
        return round(min(max(100 * share, 0.0), 100.0), 2)


def make_scale(places: Sequence[BoardPlace], gate: float | None) -> Scale:
    """A scale on which the intervals of all ranked rows fit, and the gate where it is near."""
    shown = [place for place in places if place.rank is not None] or list(places)
    lows = [place.row.value - (place.row.half_width or 0.0) for place in shown]
    highs = [place.row.value + (place.row.half_width or 0.0) for place in shown]
    low, high = min(lows, default=0.0), max(highs, default=1.0)
    margin = max((high - low) * 0.06, 0.005)
    if gate is not None and low - (high - low) < gate < high + (high - low):
        low, high = min(low, gate), max(high, gate)
    return Scale(low - margin, high + margin)


def make_columns(places: Sequence[BoardPlace], names: DatasetNames) -> tuple[BoardColumn, ...]:
    """A column for each dataset that any row has, under the names that the viewer may see."""
    keys = {key for place in places for key in place.row.by_dataset}
    titled = sorted(((names.label(key), key) for key in keys), key=lambda pair: natural(pair[0]))
    return tuple(BoardColumn(title, title.replace("Hidden ", "H"), title, name) for title, name in titled)


def make_rows(
    places: Sequence[BoardPlace],
    columns: Sequence[BoardColumn],
    scale: Scale,
    *,
    own_team: str | None,
    hrefs: dict[str, str],
    gate: float | None,
    against_above: Mapping[str, Statement],  # empty where the rows are not in the order of ranks
    around: Sequence[BoardPlace],  # what colours compare with: a search or another order does not change them
) -> tuple[RowView, ...]:
    """The rows of a page."""
    brackets = find_brackets(places, against_above)
    spans = [_span(around, column.name) for column in columns]
    return tuple(
        RowView(
            key=place.row.row_key,
            rank=place.rank,
            team=place.name,
            href=hrefs.get(place.row.submission_id),
            own=own_team is not None and place.row.team_id == own_team and not place.is_baseline,
            baseline=place.is_baseline,
            value=place.row.value,
            half_width=place.row.half_width,
            drawn=scale.holds(place.row.value),
            x=scale.x(place.row.value),
            x_low=scale.x(place.row.value - half) if (half := known_half(place.row.half_width)) else None,
            x_high=scale.x(place.row.value + half) if half else None,
            datasets=tuple(
                _cell(place.row.by_dataset.get(column.name), span)
                for column, span in zip(columns, spans, strict=True)
            ),
            seconds=place.row.seconds,
            submitted_at=place.row.submitted_at,
            bracket=bracket,
            above_gate=None if gate is None or place.rank is None else passes_gate(place.row.value, gate),
        )
        for place, bracket in zip(places, brackets, strict=True)
    )


def _span(places: Sequence[BoardPlace], key: str) -> tuple[float, float]:
    shown = [place for place in places if place.rank is not None] or places
    values = [place.row.by_dataset[key] for place in shown if place.row.by_dataset.get(key) is not None]
    return min(values, default=0.0), max(values, default=1.0)


def _cell(value: float | None, span: tuple[float, float]) -> BoardCell:
    low, high = span
    if value is None or high <= low:
        return BoardCell(value, 0)
    return BoardCell(value, min(max(int(5 * (value - low) / (high - low)), 0), 4))


def find_brackets(places: Sequence[BoardPlace], against_above: Mapping[str, Statement]) -> list[str]:
    """For each row `start`, `middle` or `end` of a bracket, or nothing.

    A bracket joins each ranked row with the ranked one above it unless that is better for sure. Rows out of the
    ranking that lie between are inside it. Rows of which nothing is said are in none.
    """
    ranked = [index for index, place in enumerate(places) if place.rank is not None]
    joined = [False] * len(places)  # row i belongs to the row above it
    for above, below in pairwise(ranked):
        said = against_above.get(places[below].row.row_key)
        if said is not None and not said.confirmed:
            for index in range(above + 1, below + 1):
                joined[index] = True
    after = [*joined, False][1:]  # empty for an empty board
    words = {(False, True): "start", (True, True): "middle", (True, False): "end", (False, False): ""}
    return [words[above, below] for above, below in zip(joined, after, strict=True)]


@dataclass(frozen=True)
class PhaseChoice:
    """A phase whose board can be chosen."""

    name: str
    href: str
    current: bool


@dataclass(frozen=True)
class BoardView:
    """A page of a board, with all around it."""

    subtitle: str
    ended: bool  # the phase is closed: no row will come
    opens: bool  # the phase has not begun: no row can come yet
    starts_at: datetime | None
    submit_href: str | None
    phases: tuple[PhaseChoice, ...]
    leagues: tuple[Tab, ...]
    league_key: str
    league_name: str
    note: str
    hidden: str
    rows: tuple[RowView, ...]
    late: tuple[LateRow, ...]  # below the line, after the last ranked row
    datasets: tuple[BoardColumn, ...]
    extra: tuple[ExtraColumn, ...]
    evaluations: tuple[EvaluationCard, ...]
    evaluations_href: str
    low: float
    high: float
    gate: float | None
    gate_x: float | None
    page: Page
    sort: str
    query: str
    keep: tuple[tuple[str, str], ...]
    clear_href: str
    own_href: str | None
    own_words: str
    find_own: Own | None  # what is a team's own, on a board that is made for many
    neighbours: tuple[Neighbour, ...]
    updated_at: datetime | None
    score_title: str
    margin: float  # differences below it count as a tie
    rule_words: str
    history: ChartView | None
