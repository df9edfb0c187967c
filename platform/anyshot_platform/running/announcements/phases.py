"""Tells the members of a competition that a phase is open, and a day before it closes that it will."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words
from anyshot_platform.contest.competitions.messages import tell_members
from anyshot_platform.contest.competitions.models import Competition, Rehearsal
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import closing, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.visibility.access import is_shown
from anyshot_platform.running.announcements.models import Date, PhaseNotice

NOTICE = timedelta(days=1)  # how long before its end members are told; an opening that is older is no news
_TITLES = {
    Date.OPENING: "{title}: {name} is open",
    Date.CLOSING: "{title}: {name} closes within a day",
}


def phases_with_news(session: Session) -> Sequence[str]:
    """The ids of the phases that have opened within a day, or whose end is within a day.

    None of a rehearsal, which plays its phases one after the other, whatever their dates are.
    """
    moment = now()
    return session.scalars(
        select(Phase.id).where(
            Phase.deleted_at.is_(None),
            ~exists().where(Rehearsal.copy_id == Phase.competition_id),
            or_(
                Phase.starts_at.between(moment - NOTICE, moment),
                Phase.ends_at.between(moment, moment + NOTICE),
            ),
        )
    ).all()


def tell_of_phase(session: Session, phase_id: str) -> int:
    """Tell the members what they were not told yet of the dates of a phase; returns how many dates that were."""
    phase = session.get_one(Phase, phase_id, with_for_update=True)
    competition = session.get_one(Competition, phase.competition_id)
    if not is_shown(competition) or competition.state != CompetitionState.PUBLISHED:
        return 0
    done = 0
    for date, moment in _news(phase).items():
        told = session.get(PhaseNotice, (phase.id, date))
        if told is None or (date == Date.CLOSING and told.moment != moment):  # an opening is told once
            session.merge(PhaseNotice(phase_id=phase.id, date=date, moment=moment))
            title = _TITLES[date].format(title=competition.title, name=phase.name)
            tell_members(
                session,
                competition,
                kind="phase",
                title=title,
                body=_what_to_do(session, phase),
                path=_page(phase),
            )
            done += 1
    return done


def _news(phase: Phase) -> dict[Date, datetime]:
    """What there is to tell now. A phase that lasts no longer than a day says its end when it opens."""
    if status_of(phase) != PhaseStatus.OPEN:
        return {}
    moment, end = now(), closing(phase)
    news = {Date.OPENING: phase.starts_at} if moment - phase.starts_at <= NOTICE else {}
    if phase.accepts_uploads and end is not None and phase.starts_at < end - NOTICE <= moment:
        news[Date.CLOSING] = end
    return news


def _what_to_do(session: Session, phase: Phase) -> str:
    """Until when one submits, or that one need not."""
    end = closing(phase)
    if not phase.accepts_uploads:
        source = session.get(Phase, phase.gate_phase_id) if phase.gate_phase_id else None
        return f"Its entries come from {source.name}: you upload nothing." if source else ""
    if end is None:
        return ""
    return f"It takes submissions until {deadline_words(end, phase.time_zone)}."


def _page(phase: Phase) -> str:
    return f"/phases/{phase.slug}" + "/submit" * phase.accepts_uploads
