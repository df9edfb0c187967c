"""The meta-learning league admits no pretrained weights: declared by the team, weighed against what a run showed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.leagues.models import League, LeagueEntry
from anyshot_platform.leagues.states import Admission, EntryStatus


def enters_from_scratch(session: Session, submission_id: str) -> bool:
    """Whether the team declared that no pretrained weights are used: then none are put within its reach."""
    entry = (
        select(LeagueEntry)
        .join(League, League.id == LeagueEntry.league_id)
        .where(LeagueEntry.submission_id == submission_id, League.admission == Admission.FROM_SCRATCH)
    )
    return session.scalars(entry.limit(1)).first() is not None


def weigh_evidence(session: Session, submission_id: str, evidence: dict[str, Any]) -> None:
    """Attach a run's evidence to the submission's entries, and decide those that hang on it alone.

    `evidence["suspicious"]`, where the worker found signs of pretrained weights, leaves the entry for an organizer to
    decide; without it the declaration stands. What an organizer decided is not touched.
    """
    entries = session.scalars(
        select(LeagueEntry)
        .join(League, League.id == LeagueEntry.league_id)
        .where(LeagueEntry.submission_id == submission_id, League.admission == Admission.FROM_SCRATCH)
    ).all()
    for entry in entries:
        entry.evidence = evidence
        if entry.decided_at is None:
            suspicious = bool(evidence.get("suspicious"))
            entry.status = EntryStatus.DECLARED if suspicious else EntryStatus.ADMITTED
    session.flush()
