"""What pages and the API need of results: which phases have them, who may see them, one league, one certificate."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase, live_version
from anyshot_platform.foundation.errors import Forbidden, NotFound
from anyshot_platform.judging.execution.joining import finished_runs
from anyshot_platform.judging.receipts.service import find_receipts
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of, result_phases
from anyshot_platform.judging.visibility.published_code import code_is_public
from anyshot_platform.standings.fact_sheets.models import FactSheet
from anyshot_platform.standings.results.awards import in_words
from anyshot_platform.standings.results.certificates import Certificate
from anyshot_platform.standings.results.reading import LeagueResults, MethodCard, ResultRow
from anyshot_platform.standings.results.records import list_versions, results_in_force
from anyshot_platform.standings.results.tables import as_latex


@dataclass(frozen=True)
class Correction:
    """When organizers changed published results, and why."""

    at: datetime
    reason: str


@dataclass(frozen=True)
class Results:
    """The results of a phase; `preliminary` where only organizers see them, `receipts` where rows have theirs."""

    phase: Phase
    rule_words: str
    leagues: list[LeagueResults]
    preliminary: bool
    receipts: bool
    corrections: list[Correction]


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
    version, publication = live_version(session, phase), publication_of(phase)
    published = publication.published is not None
    later = list_versions(session, phase)[1:] if published else []
    return Results(
        phase,
        version.rule.words(version.seeded_runs),
        _show_to(session, access, phase, results_in_force(session, phase), everything=sight.everything),
        publication.waits,
        published and sight.scores,
        [Correction(one.written_at, one.reason) for one in later],
    )


def _show_to(
    session: Session,
    access: CompetitionAccess,
    phase: Phase,
    results: list[LeagueResults],
    *,
    everything: bool,
) -> list[LeagueResults]:
    """Results with the method cards and code that are public now; without the people of entries of others."""
    cards = _cards(session, access.competition, {row.team_id for found in results for row in found.rows})
    query = select(Submission.id).join(Phase, Phase.id == Submission.phase_id)
    public_code = set(session.scalars(query.where(Phase.id == phase.id, code_is_public())))

    def show(row: ResultRow) -> ResultRow:
        own = any(one.user_id == access.viewer.user_id for one in row.people)
        return replace(
            row,
            people=row.people if everything or own else (),
            card=None if row.is_baseline else cards.get(row.team_id),
            code_public=row.submission_id in public_code,
            own=own and not row.is_baseline,
        )

    return [replace(found, rows=tuple(map(show, found.rows))) for found in results]


def _cards(session: Session, competition: Competition, teams: Collection[str]) -> dict[str, MethodCard]:
    """The fact sheets that were handed in and may be shown, by team."""
    labels = [(str(question["key"]), str(question["label"])) for question in competition.fact_sheet]
    agreed = select(FactSheet).where(
        FactSheet.team_id.in_(teams), FactSheet.public, FactSheet.handed_in_at.is_not(None)
    )
    return {
        sheet.team_id: MethodCard(
            tuple((label, sheet.answers[key]) for key, label in labels if sheet.answers.get(key))
        )
        for sheet in session.scalars(agreed)
    }


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


def receipts_of(
    session: Session, access: CompetitionAccess, phase_slug: str, submission_id: str | None = None
) -> list[str]:
    """The signed receipts of the rows of published results, or of the row of one submission.

    Raises `Forbidden` before they are published, `NotFound` for a submission without a row.
    """
    results = results_of(session, access, phase_slug)
    if not results.receipts:
        raise Forbidden(
            "Receipts are shown here once the results are published, where the phase shows scores."
        )
    ids = dict.fromkeys(row.submission_id for found in results.leagues for row in found.rows)
    if submission_id is not None and submission_id not in ids:
        raise NotFound("The results have no row of this submission.")
    version = live_version(session, results.phase)
    wanted = [session.get_one(Submission, one) for one in ([submission_id] if submission_id else ids)]
    runs = [run.id for one in wanted for run in finished_runs(session, one, version)]
    return find_receipts(session, runs)


def latex_of(access: CompetitionAccess, results: Results, found: LeagueResults) -> bytes:
    """A league's table for a paper, with its caption."""
    title = f"{access.competition.title}: {results.phase.name}, {found.league.name}"
    return as_latex(found, title, results.rule_words)


def certificate_of(
    session: Session, access: CompetitionAccess, results: Results, league_slug: str, team_id: str, site: str
) -> Certificate:
    """A certificate of a ranked team, for the people of its entry and the organizers.

    Raises `Forbidden` or `NotFound`.
    """
    everything = access.sight_of(results.phase).everything
    found = league_of(results, league_slug)
    ranked = [row for row in found.rows if row.rank is not None]
    row = next((row for row in ranked if row.team_id == team_id), None)
    if not everything and not (row.own if row is not None else team_id == access.team_id):
        raise Forbidden("A certificate is for the people who were in the team when the entry was handed in.")
    published = publication_of(results.phase).published
    if results.preliminary or published is None:
        raise Forbidden("Certificates are created once the results are published.")
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
