"""The results page, its tables and certificates."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.judging.receipts.service import join_receipts
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.results import certificates, tables, view
from anyshot_platform.standings.results.actions import winner_acts
from anyshot_platform.standings.results.awards import RULE_WORDS, in_words

router = APIRouter(prefix="/competitions/{slug}/results", include_in_schema=False)
Visitor = Annotated[CompetitionAccess, Depends(visible_competition)]
Word = Annotated[str, Path(max_length=64)]


@router.get("")
def show_results(
    request: Request,
    access: Visitor,
    session: SessionDep,
    phase: Annotated[str, Query(max_length=64)] = "",
) -> Response:
    """Podium, prizes, table and method cards of each league; organizers read who is not verified."""
    results = view.results_of(session, access, phase)
    organizes = access.may(Role.ORGANIZER)
    return render(
        request,
        "competitions/results.html",
        section="competitions",
        head=read_header(session, access),
        tab="results",
        results=results,
        unconfirmed=winner_acts.unconfirmed(session, results.phase) if organizes else [],
        phases=view.phases_with_results(session, access),
        split_words=RULE_WORDS,
        money=in_words,
    )


@router.get("/{phase_slug}/receipts/{submission_id}.json")
def download_receipts(
    access: Visitor, session: SessionDep, phase_slug: Word, submission_id: Annotated[str, Path(max_length=32)]
) -> Response:
    """What the site signed of the runs of a row."""
    signed = join_receipts(view.receipts_of(session, access, phase_slug, submission_id))
    return _file(signed.encode(), "application/json", f"{phase_slug}-{submission_id}-receipts.json")


@router.get("/{phase_slug}/{league_slug}.csv")
def download_csv(access: Visitor, session: SessionDep, phase_slug: Word, league_slug: Word) -> Response:
    """A league's table for a spreadsheet."""
    found = view.league_of(view.results_of(session, access, phase_slug), league_slug)
    return _file(tables.as_csv(found), "text/csv; charset=utf-8", f"{phase_slug}-{league_slug}.csv")


@router.get("/{phase_slug}/{league_slug}.tex")
def download_latex(access: Visitor, session: SessionDep, phase_slug: Word, league_slug: Word) -> Response:
    """A league's table for a paper."""
    results = view.results_of(session, access, phase_slug)
    found = view.league_of(results, league_slug)
    content = view.latex_of(access, results, found)
    return _file(content, "application/x-tex; charset=utf-8", f"{phase_slug}-{league_slug}.tex")


@router.get("/{phase_slug}/{league_slug}/certificates/{team_id}.pdf")
def download_certificate(
    access: Visitor,
    session: SessionDep,
    services: ServicesDep,
    phase_slug: Word,
    league_slug: Word,
    team_id: Annotated[str, Path(max_length=32)],
) -> Response:
    """The certificate of a team, for its members and the organizers."""
    results = view.results_of(session, access, phase_slug)
    site = services.settings.base_url
    said = view.certificate_of(session, access, results, league_slug, team_id, site)
    return _file(certificates.as_pdf(said), "application/pdf", f"certificate-{phase_slug}-{league_slug}.pdf")


def _file(content: bytes, media_type: str, name: str) -> Response:
    return Response(
        content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )
