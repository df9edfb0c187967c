"""The publication of a final phase: its results and, where asked, the winners' code."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.competitions.models import Competition
from anyshot_platform.database import now
from anyshot_platform.kernel.language import say
from anyshot_platform.leaderboards.reading import read_board
from anyshot_platform.leagues.models import League
from anyshot_platform.notifications.service import tell_members
from anyshot_platform.organizers.submissions.published import list_published
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import live_version, status_of
from anyshot_platform.phases.states import Audience, PhaseStatus
from anyshot_platform.sight.code import with_public_code
from anyshot_platform.sight.phases import publication_of
from anyshot_platform.sight.standing import standing_of
from anyshot_platform.submissions.models import Submission
from anyshot_platform.webhooks.service import emit

_EVERYBODY = 10_000


def publish(session: Session, phase: Phase, *, winners: int = 0) -> list[Submission]:
    """Show the results to everyone; `winners` is how many of each league's best have their code published.

    Members are told when the results become public, and not again. Returns those whose code is public now: not that of
    a team whose code the organizers hid.
    """
    before = publication_of(phase).published
    again, phase.published_at = before is not None, before or now()
    phase.board_audience, phase.scores_visible = Audience.EVERYONE, True
    if ends_by_publishing(phase):
        phase.closed_at = moment = now()
        phase.starts_at = min(phase.starts_at, moment)
    shown = best_of_leagues(session, phase, winners)
    for submission in shown:
        submission.code_published_at = standing_of(submission).code_published or now()
    competition = session.get_one(Competition, phase.competition_id)
    if shown:
        competition.code_published_at = now()
    if not again:
        _tell_everybody(session, competition, phase)
    return with_public_code(session, shown)


def ends_by_publishing(phase: Phase) -> bool:
    """Whether the phase is over once its results are public, whatever its dates say: it takes no uploads."""
    return not phase.accepts_uploads and status_of(phase) != PhaseStatus.CLOSED


def _tell_everybody(session: Session, competition: Competition, phase: Phase) -> None:
    title = say("%(title)s: results of %(name)s", title=competition.title, name=phase.name)
    tell_members(session, competition, kind="phase", title=title, path=f"/leaderboard?phase={phase.slug}")
    emit(session, competition.id, "phase.published", {"phase": phase.slug})


def best_of_leagues(session: Session, phase: Phase, winners: int) -> list[Submission]:
    """The submissions on the first so many ranks of each league, each once: all of those who tie."""
    if not winners:
        return []
    version = live_version(session, phase)
    leagues = select(League).where(League.competition_id == phase.competition_id, League.deleted_at.is_(None))
    found: dict[str, Submission] = {}
    for league in session.scalars(leagues):
        places = read_board(session, version, league, limit=_EVERYBODY).places
        ids = [
            place.row.submission_id for place in places if place.rank is not None and place.rank <= winners
        ]
        rows = session.scalars(select(Submission).where(Submission.id.in_(ids)))
        found.update({submission.id: submission for submission in rows})
    return list(found.values())


def unpublish(session: Session, phase: Phase) -> None:
    """Undo a publication: only organizers see the board again, and no code is published."""
    phase.published_at = None
    phase.board_audience, phase.scores_visible = Audience.ORGANIZERS, False
    for submission in session.scalars(select(Submission).where(Submission.phase_id == phase.id)):
        submission.code_published_at = None
    session.flush()
    competition = session.get_one(Competition, phase.competition_id)
    if not list_published(session, competition):
        competition.code_published_at = None
