"""What pages and the API need of results: which phases have them, who may see them, one league, one certificate."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from anyshot_platform.errors import Forbidden, NotFound
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import find_phase, live_version
from anyshot_platform.results.awards import in_words
from anyshot_platform.results.certificates import Certificate
from anyshot_platform.results.reading import LeagueResults, read_results
from anyshot_platform.results.tables import as_latex
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.sight.phases import publication_of, result_phases


@dataclass(frozen=True)
class Results:
    """The results of a phase; `preliminary` where only organizers see them."""

    phase: Phase
    rule_words: str
    leagues: list[LeagueResults]
    preliminary: bool


def phases_with_results(session: Session, access: CompetitionAccess) -> list[Phase]:
    """The phases with results whose board the viewer may see, the newest first."""
    found = result_phases(session, access.competition)
    return [phase for phase in reversed(found) if not access.sight_of(phase).board_hidden]


def results_of(session: Session, access: CompetitionAccess, phase_slug: str = "") -> Results:
    """The results of a phase, the newest published one if none is named; raises `Forbidden` while they are hidden."""
    phase = _phase(session, access, phase_slug)
    sight = access.sight_of(phase)
    if sight.board_hidden:
        raise Forbidden(sight.board_hidden)
    version = live_version(session, phase)
    leagues = read_results(
        session, access.competition, phase, team_id=access.team_id, everything=sight.everything
    )
    return Results(phase, version.rule.words(version.seeded_runs), leagues, publication_of(phase).waits)


def _phase(session: Session, access: CompetitionAccess, slug: str) -> Phase:
    if slug:
        return find_phase(session, access.competition, slug)
    known = phases_with_results(session, access) or result_phases(session, access.competition)
    if not known:
        raise NotFound("This competition has no final phase.")
    published = [phase for phase in known if publication_of(phase).published is not None]
    return (published or known)[0]


def league_of(results: Results, slug: str) -> LeagueResults:
    """One league; raises `NotFound`."""
    for found in results.leagues:
        if found.league.slug == slug:
            return found
    raise NotFound("Nobody has a result in such a league.")


def latex_of(access: CompetitionAccess, results: Results, found: LeagueResults) -> bytes:
    """A league's table for a paper, with its caption."""
    title = f"{access.competition.title}: {results.phase.name}, {found.league.name}"
    return as_latex(found, title, results.rule_words)


def certificate_of(
    session: Session, access: CompetitionAccess, results: Results, league_slug: str, team_id: str, site: str
) -> Certificate:
    """A certificate of a ranked team, for its members and the organizers; raises `Forbidden` or `NotFound`."""
    everything = access.sight_of(results.phase).everything
    if not everything and team_id != access.team_id:
        raise Forbidden("A certificate is for the members of its team.")
    published = publication_of(results.phase).published
    if results.preliminary or published is None:
        raise Forbidden("Certificates are created once the results are published.")
    found = league_of(results, league_slug)
    ranked = [row for row in found.rows if row.rank is not None]
    row = next((row for row in ranked if row.team_id == team_id), None)
    if row is None:
        raise NotFound("This team has no rank in the league.")
    slug, phase = access.competition.slug, results.phase
    return Certificate(
        competition=access.competition.title,
        phase=phase.name,
        league=found.league.name,
        team=row.team,
        members=row.members,
        rank=row.rank or 0,
        of=len(ranked),
        score=row.score,
        prize=in_words(row.cents, found.league.currency) if row.cents else "",
        published=published,
        address=f"{site}/competitions/{slug}/results?phase={phase.slug}",
    )
