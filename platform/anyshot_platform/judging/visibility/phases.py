"""What one viewer sees of a phase: its board, scores, rows of tasks, names of datasets, further evaluations."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases, status_of
from anyshot_platform.contest.phases.states import Audience, BoardShows, PhaseKind, PhaseStatus


@dataclass(frozen=True)
class PhaseSight:
    """What one viewer sees of a phase. `scores` and what follows are about the viewer's own submissions."""

    everything: bool  # reviewers and above
    board_hidden: str  # why the viewer does not see the board; empty where they do
    board_note: str  # to be said above the board
    scores: bool
    choice: bool  # which of them the phase's rule lets stand: it tells which scored better
    tasks: bool  # rows of single tasks, not only figures by dataset, ways and shots
    confusion: bool
    names: bool  # the names of hidden datasets
    exports: bool  # what runs export of training and learners, unless it shows images
    evaluations: bool  # further evaluations
    board_evaluations: bool  # those of the rows of its boards
    evaluations_until: datetime | None  # on boards, only what was scored until then


@dataclass(frozen=True)
class Publication:
    """Where the publication of a phase's results stands, for its organizers."""

    waits: bool  # nothing is shown before the organizers publish, and they have not
    published: datetime | None
    frozen: datetime | None  # the board takes no new rows since then


def result_phases(session: Session, competition: Competition) -> list[Phase]:
    """The phases that make results, in their order."""
    return [phase for phase in list_phases(session, competition) if makes_results(phase)]


def makes_results(phase: Phase) -> bool:
    """Whether organizers publish a phase's results: a final's, and those of uploads that wait for it or are public."""
    return (
        phase.kind == PhaseKind.FINAL
        or phase.gate_phase_id is not None
        or phase.needs_publishing
        or phase.published_at is not None
    )


def published_phases(session: Session, competition_ids: Sequence[str]) -> list[Phase]:
    """The phases of these competitions whose results are public, deleted ones too."""
    public = select(Phase).where(Phase.competition_id.in_(competition_ids), Phase.published_at.is_not(None))
    return list(session.scalars(public.order_by(Phase.position, Phase.id)))


def published_results(session: Session, competition: Competition) -> list[Phase]:
    """The phases whose results everybody sees, in their order."""
    return [phase for phase in result_phases(session, competition) if phase.published_at is not None]


def look_at_phase(phase: Phase, role: Role | None) -> PhaseSight:
    """What somebody with this role in the competition sees; None is somebody outside it."""
    everything = _may(role, Role.REVIEWER)
    scores = phase.scores_visible and not _waits(phase) and not _climbs(phase)
    tasks = scores and (phase.tasks_visible or status_of(phase) == PhaseStatus.CLOSED)
    return PhaseSight(
        everything=everything,
        board_hidden="" if everything else _why_board_hidden(phase, role),
        board_note=_board_note(phase, everything),
        scores=everything or scores,
        choice=everything or scores or _tells_choice(phase, role),
        tasks=everything or tasks,
        exports=everything or (tasks and phase.exports_visible),
        confusion=everything or (scores and phase.show_confusion),
        names=everything or not phase.hide_dataset_names,
        evaluations=everything or (scores and phase.evaluations_visible),
        board_evaluations=not _climbs(phase)
        and (everything or (phase.evaluations_visible and not _why_board_hidden(phase, role))),
        evaluations_until=None if everything else phase.frozen_at,
    )


def publication_of(phase: Phase) -> Publication:
    """Whether a phase's results are public, and its board frozen."""
    return Publication(_waits(phase), phase.published_at, phase.frozen_at)


def _may(role: Role | None, needed: Role) -> bool:
    return role is not None and role.includes(needed)


def _waits(phase: Phase) -> bool:
    return phase.needs_publishing and phase.published_at is None


def _climbs(phase: Phase) -> bool:
    """Whether the board is a Ladder that is still open: a team learns from its row alone."""
    return phase.board_shows == BoardShows.LADDER and status_of(phase) != PhaseStatus.CLOSED


def _tells_choice(phase: Phase, role: Role | None) -> bool:
    """Whether what stands for a team may be known where scores are hidden: none decides it, or a Ladder's row tells."""
    if phase.board_shows == BoardShows.LAST:
        return True
    return _climbs(phase) and not _why_board_hidden(phase, role)


def _why_board_hidden(phase: Phase, role: Role | None) -> str:
    if _waits(phase):
        return "The organizers look at the results first. They appear here when they are published."
    if phase.board_audience == Audience.ORGANIZERS:
        return "In this phase only the organizers see the leaderboard."
    if not phase.scores_visible:
        return "In this phase only the organizers see scores."
    if phase.board_audience == Audience.PARTICIPANTS and not _may(role, Role.PARTICIPANT):
        return "Only participants of the competition see the leaderboard. Join to see it."
    return ""


def _board_note(phase: Phase, everything: bool) -> str:
    if phase.frozen_at is not None:
        return (
            f"The board has been frozen since {moment_words(phase.frozen_at)}: new scores do not "
            "appear on it. Withdrawn or disqualified entries are removed and not replaced."
        )
    if everything and _waits(phase):
        return "Only organizers see this board: it is not published yet."
    return ""
