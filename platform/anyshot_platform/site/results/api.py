"""Results of a competition over JSON, with tables and certificates to download."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from anyshot_platform.contest.leagues.states import AwardSplit
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.numbers import HalfWidth
from anyshot_platform.judging.receipts.service import join_receipts
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.results import certificates, tables, view
from anyshot_platform.standings.results.reading import LeagueResults, ResultRow

router = APIRouter(prefix="/api/v1/competitions/{slug}/phases/{phase_slug}/results", tags=["results"])
Visitor = Annotated[CompetitionAccess, Depends(visible_competition)]
Word = Annotated[str, Path(max_length=64)]


class ShareOut(BaseModel):
    """What a member gets of the team's prize."""

    name: str
    amount: float


class ResultOut(BaseModel):
    """A row of a league's results; `rank` null is out of the ranking."""

    rank: int | None
    team: str
    team_id: str
    is_baseline: bool
    score: float
    half_width: HalfWidth
    runs: int
    tasks: int
    prize: float = Field(description="in the league's currency; 0 without one")
    shares: list[ShareOut] = Field(description="of one's own team; organizers see all")
    method: dict[str, str] | None = Field(description="the fact sheet, where its team agreed to show it")
    code_public: bool


class LeagueResultsOut(BaseModel):
    """The results of a league, in rank order."""

    league: str
    name: str
    currency: str
    split: AwardSplit
    rows: list[ResultOut]


class ResultsOut(BaseModel):
    """The results of a phase; `preliminary` where only organizers see them yet."""

    phase: str
    rule: str
    preliminary: bool
    leagues: list[LeagueResultsOut]
    corrections: list[view.Correction]


@router.get("")
def show_results(access: Visitor, session: SessionDep, phase_slug: Word) -> ResultsOut:
    """Podium, prizes and their split, and method cards; 403 while the results are hidden."""
    results = view.results_of(session, access, phase_slug)
    return ResultsOut(
        phase=results.phase.slug,
        rule=results.rule_words,
        preliminary=results.preliminary,
        leagues=[_show_league(found) for found in results.leagues],
        corrections=results.corrections,
    )


def _show_league(found: LeagueResults) -> LeagueResultsOut:
    league = found.league
    return LeagueResultsOut(
        league=league.slug,
        name=league.name,
        currency=league.currency,
        split=league.award_split,
        rows=[_show(row) for row in found.rows],
    )


def _show(row: ResultRow) -> ResultOut:
    return ResultOut(
        rank=row.rank,
        team=row.team,
        team_id=row.team_id,
        is_baseline=row.is_baseline,
        score=row.score,
        half_width=row.half_width,
        runs=row.runs,
        tasks=row.tasks,
        prize=row.cents / 100,
        shares=[ShareOut(name=share.name, amount=share.cents / 100) for share in row.shares],
        method=dict(row.card.answers) if row.card else None,
        code_public=row.code_public,
    )


@router.get("/receipts", response_class=Response)
def download_receipts(access: Visitor, session: SessionDep, phase_slug: Word) -> Response:
    """The signed receipts of all rows, as a JSON list; 403 before the results are published."""
    signed = view.receipts_of(session, access, phase_slug)
    return Response(join_receipts(signed), media_type="application/json")


@router.get("/{league_slug}/table", response_class=Response)
def download_table(
    access: Visitor,
    session: SessionDep,
    phase_slug: Word,
    league_slug: Word,
    form: Annotated[Literal["csv", "latex"], Query()] = "csv",
) -> Response:
    """A league's table as CSV or LaTeX."""
    results = view.results_of(session, access, phase_slug)
    found = view.league_of(results, league_slug)
    if form == "csv":
        return Response(tables.as_csv(found), media_type="text/csv; charset=utf-8")
    return Response(view.latex_of(access, results, found), media_type="application/x-tex")


@router.get("/{league_slug}/certificate", response_class=Response)
def download_certificate(
    access: Visitor,
    session: SessionDep,
    services: ServicesDep,
    phase_slug: Word,
    league_slug: Word,
    team: Annotated[str, Query(max_length=32, description="id of the team; one's own if left out")] = "",
) -> Response:
    """A team's certificate as PDF, for its members and the organizers."""
    chosen = team or access.team_id
    if chosen is None:
        raise NotFound("Name the team: you have none in this competition.")
    results = view.results_of(session, access, phase_slug)
    said = view.certificate_of(session, access, results, league_slug, chosen, services.settings.base_url)
    return Response(certificates.as_pdf(said), media_type="application/pdf")
