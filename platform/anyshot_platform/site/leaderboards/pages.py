"""The leaderboard page: one board a league and phase."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, list_phases, status_of
from anyshot_platform.contest.phases.states import PhaseKind, PhaseStatus
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.leaderboards.board_page import read_board_view
from anyshot_platform.site.shell.page_header import open_for_uploads, read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.baselines.actions.service import not_run_in

router = APIRouter(include_in_schema=False)
Sort = Annotated[str, Query(max_length=200, pattern=r"^-?(rank|score|seconds|submitted|d:.{1,190})$")]


@router.get("/competitions/{slug}/leaderboard")
def show_board(
    request: Request,
    access: Annotated[CompetitionAccess, Depends(visible_competition)],
    session: SessionDep,
    services: ServicesDep,
    phase: Annotated[str, Query(max_length=64)] = "",
    league: Annotated[str, Query(max_length=64)] = "",
    sort: Sort = "rank",
    q: Annotated[str, Query(max_length=100)] = "",
    page: PageParam = 1,
) -> Response:
    """One page of the board of a phase and league."""
    phases = list_phases(session, access.competition)
    chosen = find_phase(session, access.competition, phase) if phase else _default_phase(phases)
    if chosen is None:
        raise NotFound("This competition has no phases yet.")
    board = read_board_view(
        session, services.storage, access, phases, chosen, league, sort=sort, text=q.strip(), number=page
    )
    if access.viewer.cohort is not None:
        request.state.own = board.find_own
    return render(
        request,
        "leaderboards/show.html",
        section="competitions",
        page_class="page--wide" if len(board.datasets) > 4 else "",
        head=read_header(session, access, phases),
        tab="leaderboard",
        board=board,
        not_run="" if board.hidden else not_run_in(session, services, access.competition, board.league_key),
    )


def _default_phase(every: Sequence[Phase]) -> Phase | None:
    """The phase that is open, else the last that began, else the first to begin."""
    phases = [phase for phase in every if phase.kind != PhaseKind.PUBLIC]
    begun = [phase for phase in phases if status_of(phase) != PhaseStatus.UPCOMING]
    return open_for_uploads(phases) or next(iter([*begun[-1:], *phases]), None)
