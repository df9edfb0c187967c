"""Phases: where they stand, and the version that counts."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words, moment_words
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, NotFound
from anyshot_platform.foundation.filters import duration, join_texts


class PhaseNotOpen(Conflict):
    """The phase takes no submissions now."""

    code = "phase_not_open"


def end_for(phase: Phase, team_id: str | None) -> datetime | None:
    """When a phase ends for a team by the clock: later than for the others where it has an extension."""
    if phase.ends_at is None or team_id is None:
        return phase.ends_at
    return max([phase.ends_at, *(one.until for one in phase.extensions if one.team_id == team_id)])


def is_extended(phase: Phase) -> bool:
    """Whether the phase takes uploads of some team now, or will, although it is over for the others."""
    return phase.closed_at is None and any(extension.until > now() for extension in phase.extensions)


def status_of(phase: Phase, moment: datetime | None = None, team_id: str | None = None) -> PhaseStatus:
    """Where a phase stands at a moment, for a team: by the clock, unless it was paused or closed by hand.

    What was closed before its start is over only if it was launched: else it has not begun, and its pools stay hidden.
    """
    moment = moment or now()
    if moment < phase.starts_at and (phase.closed_at is None or phase.launched_at is None):
        return PhaseStatus.UPCOMING
    end = end_for(phase, team_id)
    if phase.closed_at is not None or (end is not None and moment >= end):
        return PhaseStatus.CLOSED
    return PhaseStatus.PAUSED if phase.paused_at is not None else PhaseStatus.OPEN


def closed_since(phase: Phase, team_id: str | None = None) -> datetime | None:
    """When a phase closed, for a team, by the clock or by hand; None for one that has not, or was opened again."""
    return closing(phase, team_id) if status_of(phase, team_id=team_id) == PhaseStatus.CLOSED else None


def closing(phase: Phase, team_id: str | None = None) -> datetime | None:
    """When a phase closes or has closed, for a team: by the clock or by hand, whichever is earlier; None for never."""
    return min((end for end in (phase.closed_at, end_for(phase, team_id)) if end is not None), default=None)


def takes_late(phase: Phase, moment: datetime | None = None, team_id: str | None = None) -> bool:
    """Whether a phase takes a team's late submissions: after its end by the clock, not paused or closed by hand."""
    moment, end = moment or now(), end_for(phase, team_id)
    if phase.late_until is None or end is None or not end <= moment < phase.late_until:
        return False
    return phase.accepts_uploads and phase.closed_at is None and phase.paused_at is None


def require_taking(phase: Phase, moment: datetime | None = None, team_id: str | None = None) -> None:
    """Raise `PhaseNotOpen` unless submissions can be uploaded, in time or late."""
    if not takes_late(phase, moment, team_id):
        require_open(phase, moment, team_id)


def require_open(phase: Phase, moment: datetime | None = None, team_id: str | None = None) -> None:
    """Raise `PhaseNotOpen` unless submissions can be uploaded, by this team where one is named."""
    status = status_of(phase, moment, team_id)
    words = {
        PhaseStatus.UPCOMING: f"“{phase.name}” has not begun: it opens at {moment_words(phase.starts_at)}.",
        PhaseStatus.CLOSED: _closed_words(phase, moment or now(), team_id),
        PhaseStatus.PAUSED: f"The organizers have paused “{phase.name}”. Please try again later.",
    }
    if status in words:
        raise PhaseNotOpen(words[status], status=status.value)
    if not phase.accepts_uploads:
        raise PhaseNotOpen(f"“{phase.name}” takes no uploads.", status=status.value)


def _closed_words(phase: Phase, moment: datetime, team_id: str | None) -> str:
    end = end_for(phase, team_id)
    if end is None or phase.closed_at is not None:
        return f"“{phase.name}” is closed."
    ended = deadline_words(end, phase.time_zone)
    if phase.late_until is not None and phase.late_until <= moment:
        ended += f", and took late submissions until {deadline_words(phase.late_until, phase.time_zone)}"
    return f"“{phase.name}” is closed: it ended at {ended}. Only its organizers can give you more time."


def late_rule(phase: Phase) -> str:
    """What a late submission is, in two sentences; empty for a phase that takes none."""
    if phase.late_until is None or phase.closed_at is not None or not phase.accepts_uploads:
        return ""
    board = ", and the leaderboard shows it below a line" if phase.show_late else ""
    until = deadline_words(phase.late_until, phase.time_zone)
    return (
        f"What is handed in later, before {until}, is late: it costs quota, is scored and shown to its team{board}. It "
        "is never ranked, enters no final and wins no prize."
    )


def deadline_rule(phase: Phase, team_id: str | None = None) -> str:
    """What counts at the end of a phase, and what is late; empty for one without an end, or without uploads."""
    moment = end_for(phase, team_id)
    if moment is None or not phase.accepts_uploads:
        return ""
    end, grace = deadline_words(moment, phase.time_zone), duration(phase.grace_seconds)
    if not phase.grace_seconds:
        words = f"What counts is when you submit: the upload must be complete, and submitted, before {end}."
    else:
        words = (
            f"What counts is when your upload begins: one that begins before {end} counts if it is complete within "
            f"{grace} of that, and submitted within {grace} of being complete."
        )
    return join_texts((words, late_rule(phase)))


def list_phases(session: Session, competition: Competition) -> list[Phase]:
    """The phases of a competition, in their order."""
    return list(
        session.scalars(
            select(Phase)
            .where(Phase.competition_id == competition.id, Phase.deleted_at.is_(None))
            .order_by(Phase.position, Phase.starts_at, Phase.id)
        )
    )


def find_phase(session: Session, competition: Competition, slug: str) -> Phase:
    """The phase of that address; raises `NotFound`."""
    phase = session.scalars(
        select(Phase).where(
            Phase.competition_id == competition.id, Phase.slug == slug, Phase.deleted_at.is_(None)
        )
    ).one_or_none()
    if phase is None:
        raise NotFound("There is no such phase.")
    return phase


def live_version(session: Session, phase: Phase) -> PhaseVersion:
    """The version whose scores count; raises `NotFound` for a phase that has none yet."""
    version = session.scalars(
        select(PhaseVersion).where(
            PhaseVersion.phase_id == phase.id, PhaseVersion.number == phase.live_version
        )
    ).one_or_none()
    if version is None:
        raise NotFound(f"“{phase.name}” has no evaluation settings yet.")
    return version
