"""The meta-learning league admits no pretrained weights: declared by the team, weighed against what a run showed."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.wire.evidence import Evidence
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus

NOT_INSPECTED = Evidence(problem="the worker sent no report of it")


def enters_from_scratch(session: Session, submission_id: str) -> bool:
    """Whether the team declared that no pretrained weights are used: then none are put within its reach."""
    entry = (
        select(LeagueEntry)
        .join(League, League.id == LeagueEntry.league_id)
        .where(LeagueEntry.submission_id == submission_id, League.admission == Admission.FROM_SCRATCH)
    )
    return session.scalars(entry.limit(1)).first() is not None


def weigh_evidence(session: Session, submission_id: str, evidence: Evidence | None) -> None:
    """Attach what a run's inspection found to the submission's entries, and decide those that hang on it alone.

    An entry stands in the league only while every inspection of its zip ended and found nothing suspicious; else it
    waits for an organizer. What an organizer decided is not touched, nor forgotten what one of several runs found.
    """
    found = evidence or NOT_INSPECTED
    for entry in _entries(session, submission_id):
        if entry.evidence is None or found.suspicious:
            entry.evidence = found
        # Refused without an organizer: it gave way to another entry of its team before the final.
        if entry.decided_at is None and entry.status != EntryStatus.REFUSED:
            entry.status = EntryStatus.DECLARED if entry.evidence.suspicious else EntryStatus.ADMITTED
    session.flush()


def _entries(session: Session, submission_id: str) -> Sequence[LeagueEntry]:
    return session.scalars(
        select(LeagueEntry)
        .join(League, League.id == LeagueEntry.league_id)
        .where(LeagueEntry.submission_id == submission_id, League.admission == Admission.FROM_SCRATCH)
    ).all()
