"""What to look at before a competition is published, each point with where it is put right."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.actions.organizing import what_is_missing, what_is_odd
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import Gate
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.running.rehearsals.acts import list_rehearsals
from anyshot_platform.standings.baselines.actions.service import list_baselines


@dataclass(frozen=True)
class ChecklistPoint:
    """A point of the list; `place` is the organizers' page where it is put right; empty: nothing there helps."""

    title: str
    done: bool
    words: str
    place: str


def checklist(session: Session, settings: PlatformSettings, competition: Competition) -> list[ChecklistPoint]:
    """All points, whether done or not."""
    phases = list_phases(session, competition)
    missing, odd = what_is_missing(session, competition), what_is_odd(session, competition)
    rehearsed = [row for row in list_rehearsals(session, competition) if row.ended_at is not None]
    return [
        ChecklistPoint("Everything that scores need is there", not missing, join_texts(missing), "/phases"),
        ChecklistPoint("Nothing contradicts itself", not odd, join_texts(odd), "/phases"),
        _dates(phases),
        _final(session, phases),
        ChecklistPoint(
            "Baselines",
            bool(list_baselines(session, competition)),
            "None yet: nobody knows a score to beat.",
            "/baselines",
        ),
        ChecklistPoint(
            "Terms",
            bool(competition.terms.strip()),
            "None yet: nobody accepts anything.",
            "/settings",
        ),
        ChecklistPoint("Pages of text", bool(competition.pages), "None yet.", "/pages"),
        ChecklistPoint("Contact", bool(competition.contact_email), "No address to write to.", "/settings"),
        ChecklistPoint(
            "Mail",
            settings.smtp_url is not None,
            "This site sends no mail: people learn of results on its pages only.",
            "",
        ),
        ChecklistPoint(
            "Rehearsal",
            bool(rehearsed),
            "Never played from the first upload to published results.",
            "/rehearsals",
        ),
    ]


def _dates(phases: list[Phase]) -> ChecklistPoint:
    over = [phase.name for phase in phases if phase.ends_at is not None and phase.ends_at <= now()]
    words = f"{', '.join(over)}: over already." if over else "There are no phases."
    return ChecklistPoint("Dates", bool(phases) and not over, words, "/phases")


def _final(session: Session, phases: list[Phase]) -> ChecklistPoint:
    """Whether final phases have gates that were measured or set."""
    finals = [phase for phase in phases if phase.gate_phase_id]
    gates = set(session.scalars(select(Gate.phase_id).where(Gate.phase_id.in_([row.id for row in finals]))))
    open_ones = [phase.name for phase in finals if phase.id not in gates]
    return ChecklistPoint(
        "Gates",
        not open_ones,
        f"{', '.join(open_ones)}: everybody with a score enters.",
        "/baselines",
    )
