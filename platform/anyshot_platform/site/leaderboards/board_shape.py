"""What a page of a leaderboard holds."""

from dataclasses import dataclass
from datetime import datetime

from anyshot_platform.foundation.paging import Page
from anyshot_platform.site.evaluations.view import EvaluationCard
from anyshot_platform.site.leaderboards.board_view import BoardColumn, RowView
from anyshot_platform.site.shell.chart_data import ChartView
from anyshot_platform.site.shell.page_header import Tab
from anyshot_platform.site.web.gaps import Own
from anyshot_platform.standings.leaderboards.extra_columns import ExtraColumn
from anyshot_platform.standings.leaderboards.late import LateRow
from anyshot_platform.standings.leaderboards.trust import Neighbour


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
