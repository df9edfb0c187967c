"""All that a page of a board shows: who may see it, its rows, what is around them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import chart_data
from anyshot_core.evaluations import PointScore
from anyshot_core.words import in_utc
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.service import live_version, status_of
from anyshot_platform.contest.phases.states import PhaseKind, PhaseStatus
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.filters import decimal, score, when
from anyshot_platform.foundation.paging import Page, page_of
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.names import name_datasets
from anyshot_platform.judging.visibility.phases import PhaseSight
from anyshot_platform.site.evaluations.view import curve_cards, of_board, single_points
from anyshot_platform.site.leaderboards.board_view import (
    BoardView,
    PhaseChoice,
    Scale,
    make_columns,
    make_rows,
    make_scale,
)
from anyshot_platform.site.shell.chart_data import ChartView, thinned
from anyshot_platform.site.shell.page_header import Tab
from anyshot_platform.standings.entries.selection import gates_out_of
from anyshot_platform.standings.leaderboards.extra_columns import ExtraColumn, read_extra_columns
from anyshot_platform.standings.leaderboards.late import read_late
from anyshot_platform.standings.leaderboards.memo import BoardState, read_state, recall
from anyshot_platform.standings.leaderboards.reading import (
    BoardPlace,
    TopValue,
    read_board,
    read_history,
    read_lines,
    read_rank,
    read_ranks,
)
from anyshot_platform.standings.leaderboards.sorting import sort_board
from anyshot_platform.standings.leaderboards.trust import Neighbour, read_neighbours, recall_against_above
from anyshot_scoring.reliability.differences import MARGIN

PAGE_SIZE = 50
_MOST_TEAMS = 4
_Line = tuple[str, Sequence[TopValue]]


def read_board_view(
    session: Session,
    storage: Storage,
    access: CompetitionAccess,
    phases: Sequence[Phase],
    phase: Phase,
    league_slug: str,
    *,
    sort: str,
    text: str,
    number: int,
) -> BoardView:
    """All that the page shows; `phases` are all of the competition's, to choose from."""
    leagues = session.scalars(
        select(League)
        .where(League.competition_id == access.competition.id, League.deleted_at.is_(None))
        .order_by(League.position)
    ).all()
    league = next((one for one in leagues if one.slug == league_slug), leagues[0] if leagues else None)
    if league is None or (league_slug and league.slug != league_slug):
        raise NotFound("There is no such league.")
    version = live_version(session, phase)
    base = f"/competitions/{access.competition.slug}/leaderboard"
    sight, status = access.sight_of(phase), status_of(phase)
    hidden = sight.board_hidden
    state = read_state(session, version, league)
    names = name_datasets(session, sight, version)
    places, page = (
        ([], page_of(1, PAGE_SIZE, 0))
        if hidden
        else _read(session, version, league, state, names.reveal_sort(sort), text, number)
    )
    gate = gates_out_of(session, phase).get(league.id)
    ranked = sort == "rank" and not text
    around = (
        places if hidden or ranked else [*_read(session, version, league, state, "rank", "", 1)[0], *places]
    )
    columns = make_columns(around, names)
    evaluated = _evaluated(session, sight, version, places)
    scale = make_scale(around, gate)
    team_id = access.team_id
    rank = read_rank(session, version, league, team_id, state) if team_id and not hidden else None
    at_front = ranked and page.number == 1
    history = None if hidden or not at_front else _history(session, version, league, state, places, team_id)
    chosen = (("phase", phase.slug), ("league", league.slug))
    return BoardView(
        subtitle=(
            f"{phase.name}, {league.name} league: 1 ranked"
            if page.total == 1
            else f"{phase.name}, {league.name} league: {decimal(page.total)} ranked"
        )
        if ranked
        else f"{phase.name}, {league.name} league",
        ended=status == PhaseStatus.CLOSED,
        opens=status == PhaseStatus.UPCOMING,
        starts_at=phase.starts_at,
        submit_href=f"/competitions/{access.competition.slug}/phases/{phase.slug}/submit"
        if phase.accepts_uploads and status == PhaseStatus.OPEN
        else None,
        phases=_phase_choices(phases, phase, league, base),
        leagues=tuple(
            Tab(one.slug, one.name, f"{base}?{urlencode({'phase': phase.slug, 'league': one.slug})}", "")
            for one in leagues
        ),
        league_key=league.slug,
        league_name=league.name,
        note=sight.board_note,
        hidden=hidden,
        rows=make_rows(
            places,
            columns,
            scale,
            own_team=team_id,
            hrefs=_hrefs(places, access, team_id),
            gate=gate,
            against_above=recall_against_above(session, storage, version, places, state) if ranked else {},
            around=around,
        ),
        late=tuple(read_late(session, version, league))
        if ranked and not hidden and page.number == page.pages
        else (),
        datasets=columns,
        extra=(*read_extra_columns(session, version, league, places), *_evaluated_columns(places, evaluated)),
        evaluations=curve_cards(evaluated),
        evaluations_href=_evaluations_href(base, phase, league) if evaluated else "",
        low=scale.low,
        high=scale.high,
        gate=gate,
        gate_x=_gate_x(scale, gate),
        page=page,
        sort=sort,
        query=text,
        keep=(*chosen, ("sort", sort)),
        clear_href=f"{base}?{urlencode(chosen)}",
        own_href=_own_href(base, chosen, rank, team_id) if rank else None,
        own_words=_own_words(rank, read_board(session, version, league, limit=PAGE_SIZE, state=state).total)
        if rank
        else "",
        find_own=partial(_find_own, read_ranks(session, version, league, state), base, chosen)
        if access.viewer.cohort and not hidden
        else None,
        neighbours=_neighbours(session, storage, version, league, state, rank)
        if rank and sight.scores and ranked and any(place.rank == rank for place in places)
        else (),
        updated_at=state.at if not hidden else None,
        score_title="Score",
        margin=MARGIN,
        rule_words=f"Ranking rule: {version.rule.words(version.seeded_runs)}",
        history=history,
    )


def _evaluations_href(base: str, phase: Phase, league: League) -> str:
    """All rows of the board, not only those of a page."""
    path = f"/api/v1{base.removesuffix('/leaderboard')}/phases/{phase.slug}/evaluations.csv"
    return f"{path}?{urlencode({'league': league.slug})}"


def _evaluated(
    session: Session, sight: PhaseSight, version: PhaseVersion, places: Sequence[BoardPlace]
) -> dict[str, list[PointScore]]:
    """The further evaluations of a page's rows, by what the board calls them."""
    found = of_board(session, sight, version, [place.row.submission_id for place in places]) if places else {}
    return {
        place.name: found[place.row.submission_id] for place in places if place.row.submission_id in found
    }


def _evaluated_columns(
    places: Sequence[BoardPlace], evaluated: Mapping[str, Sequence[PointScore]]
) -> tuple[ExtraColumn, ...]:
    keys = {place.name: place.row.row_key for place in places}
    return tuple(
        ExtraColumn(title, {keys[name]: text for name, text in cells.items()})
        for title, cells in single_points(evaluated).items()
    )


def _read(
    session: Session,
    version: PhaseVersion,
    league: League,
    state: BoardState,
    sort: str,
    text: str,
    number: int,
) -> tuple[list[BoardPlace], Page]:
    """The places of a page; in rank order, unranked rows come on top of the page's size."""
    if sort == "rank" and not text:
        first = read_board(
            session, version, league, offset=(number - 1) * PAGE_SIZE, limit=PAGE_SIZE, state=state
        )
        page = page_of(number, PAGE_SIZE, first.total)
        if page.number != number:
            first = read_board(session, version, league, offset=page.offset, limit=PAGE_SIZE, state=state)
        return list(first.places), page
    start = (number - 1) * PAGE_SIZE
    found, total = sort_board(
        session, version, league, state, sort=sort, text=text, offset=start, limit=PAGE_SIZE
    )
    return found, page_of(number, PAGE_SIZE, total)


def _own_words(rank: int, ranked: int) -> str:
    return f"Your team is on rank {decimal(rank)} of {decimal(ranked)}."


def _neighbours(
    session: Session, storage: Storage, version: PhaseVersion, league: League, state: BoardState, rank: int
) -> tuple[Neighbour, ...]:
    key = ("neighbours", rank)
    return recall(state, key, lambda: read_neighbours(session, storage, version, league, rank))


def _phase_choices(
    phases: Sequence[Phase], current: Phase, league: League, base: str
) -> tuple[PhaseChoice, ...]:
    return tuple(
        PhaseChoice(
            phase.name,
            f"{base}?{urlencode({'phase': phase.slug, 'league': league.slug})}",
            phase.id == current.id,
        )
        for phase in phases
        if phase.kind != PhaseKind.PUBLIC
        and (status_of(phase) != PhaseStatus.UPCOMING or phase.id == current.id)
    )


def _hrefs(places: list[BoardPlace], access: CompetitionAccess, team_id: str | None) -> dict[str, str]:
    """Links to the submissions that the viewer may open, else to the teams."""
    sees_all = access.may(Role.REVIEWER)
    teams = f"/competitions/{access.competition.slug}/teams"
    return {
        place.row.submission_id: f"/submissions/{place.row.submission_id}"
        if sees_all or (team_id is not None and place.row.team_id == team_id)
        else f"{teams}/{place.row.team_id}"
        for place in places
        if sees_all or not place.is_baseline
    }


def _gate_x(scale: Scale, gate: float | None) -> float | None:
    return scale.x(gate) if gate is not None and scale.low < gate < scale.high else None


def _find_own(
    ranks: Mapping[str, int], base: str, chosen: tuple[tuple[str, str], ...], team_id: str
) -> dict[str, str]:
    """What a board that is made for many shows to a team alone."""
    own = {f"row-{team_id}": ""}
    if rank := ranks.get(team_id):
        own["own_words"] = _own_words(rank, len(ranks))
        own["own_href"] = _own_href(base, chosen, rank, team_id)
    return own


def _own_href(base: str, chosen: tuple[tuple[str, str], ...], rank: int, team_id: str | None) -> str:
    page = (rank - 1) // PAGE_SIZE + 1
    return f"{base}?{urlencode([*chosen, ('page', page)])}#row-{team_id}"


def _history(
    session: Session,
    version: PhaseVersion,
    league: League,
    state: BoardState,
    places: Sequence[BoardPlace],
    own: str | None,
) -> ChartView | None:
    """The best score over time, with those of the first teams and of the viewer's."""
    first = [place.row.team_id for place in places if place.rank is not None][:_MOST_TEAMS]
    teams = first if own is None or own in first else [*first, own]
    found = read_lines(session, version, league, teams, state)
    lines = [(values[-1].team, values) for team in teams if (values := found.get(team))]
    best = ("Best so far", read_history(session, version, league, state))
    return _draw_lines([best, *lines])


def _draw_lines(lines: Sequence[_Line]) -> ChartView | None:
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
        y="Score",
        x_kind="date",
    )
    told = sorted(
        ((value.at, value.team, label, value.score) for label, values in known for value in values),
        reverse=True,
    )
    rows = [(when(at), team, label, score(value)) for at, team, label, value in told]
    return ChartView("History of the board", data, ("When", "Team", "Line", "Score"), tuple(thinned(rows)))


def _steps(values: Sequence[TopValue], moments: Sequence[object]) -> list[float | None]:
    """The value that stood at each of the moments."""
    times = [value.at for value in values]
    places = [bisect_right(times, moment) - 1 for moment in moments]  # type: ignore[type-var]
    return [None if place < 0 else values[place].score for place in places]
