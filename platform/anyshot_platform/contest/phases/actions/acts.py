"""Acts on a phase: opening, closing, pausing it, moving its end, freezing its board, deleting it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, model_validator
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words, moment_words
from anyshot_core.zones import find_zone
from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Button,
    Danger,
    Findings,
    by_name,
)
from anyshot_platform.actions.on_results import results_are_public
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.phases.actions import evaluation_acts, image_acts, key_acts
from anyshot_platform.contest.phases.actions.key_acts import KEY_IS_PUBLIC
from anyshot_platform.contest.phases.actions.readiness import missing_in
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count, decimal
from anyshot_platform.foundation.schema.quantities import Moment
from anyshot_platform.foundation.zones import words_on_skipped, zone_written
from anyshot_platform.judging.submissions.actions.submitting import count_late, words_on_counting_late
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.standings.baselines.actions.gates import follow_gates
from anyshot_platform.standings.leaderboards.service import rebuild_boards
from anyshot_platform.standings.results.actions.final_acts import (
    open_runs,
    phase_target,
    still_open,
)


def _end_words(moment: datetime | None, zone: str) -> str:
    return deadline_words(moment, zone) if moment else "never"


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


_NOT_PUBLISHED = {
    CompetitionState.DRAFT: "The competition is not published: nobody but its organizers sees the phase.",
    CompetitionState.ARCHIVED: "The competition is archived: it takes no uploads until it is published again.",
}


def _opening(session: Session, phase: Phase) -> tuple[list[str], list[str]]:
    """What forbids that a phase takes uploads, and what is only worth a warning."""
    refused: list[str] = [KEY_IS_PUBLIC] if phase.key_published_at is not None else []
    warnings = [words] if (words := _NOT_PUBLISHED.get(phase.competition.state)) else []
    return refused, warnings


def _waiting(session: Session, phase: Phase) -> list[str]:
    """Runs that go on although the phase takes no more uploads."""
    number = open_runs(session, phase)
    return (
        [
            (
                "1 run that is queued or running goes on, and its score counts."
                if number == 1
                else f"{decimal(number)} runs that are queued or running go on, and their scores count."
            )
        ]
        if number
        else []
    )


def _look_open(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if status_of(phase) == PhaseStatus.OPEN:
        return Findings(done=f"{phase.name} is open already.")
    refused, warnings = _opening(session, phase)
    if phase.ends_at is not None and phase.ends_at <= now():
        refused.append(
            f"The phase's end is past ({_end_words(phase.ends_at, phase.time_zone)}). Extend it first."
        )
    early = [f"It would begin {moment_words(phase.starts_at)}."] if phase.starts_at > now() else []
    return Findings(
        refused=refused,
        blocked=[*missing_in(session, phase), *results_are_public(session, phase)],
        warnings=warnings + early,
        does=[f"It takes uploads from now on, until {_end_words(phase.ends_at, phase.time_zone)}."],
    )


def _open(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    before = {"start": _iso(phase.starts_at), "closed_at": _iso(phase.closed_at)}
    phase.starts_at = min(phase.starts_at, now())
    phase.closed_at = phase.paused_at = None
    return ActDone(
        f"{phase.name} is open.",
        before,
        {"start": _iso(phase.starts_at), "closed_at": None},
    )


def _look_close(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if phase.closed_at is not None or status_of(phase) == PhaseStatus.CLOSED:
        return Findings(done=f"{phase.name} is closed already.")
    never = "It has not begun: closed, it does not open at its time."
    return Findings(
        warnings=[never] if status_of(phase) == PhaseStatus.UPCOMING else [],
        does=["Nobody can upload any more.", *_waiting(session, phase)],
    )


def _close(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.closed_at = now()
    return ActDone(f"{phase.name} is closed.", {"closed_at": None}, {"closed_at": _iso(phase.closed_at)})


def _look_pause(session: Session, phase: Phase, request: ActRequest) -> Findings:
    status = status_of(phase)
    if phase.paused_at is not None:
        return Findings(done=f"{phase.name} is paused already.")
    if status == PhaseStatus.CLOSED:
        return Findings(refused=["The phase is closed: there is nothing to pause."])
    return Findings(does=["Nobody can upload until it is resumed.", *_waiting(session, phase)])


def _pause(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.paused_at = now()
    return ActDone(f"{phase.name} is paused.", {"paused": False}, {"paused": True})


def _look_resume(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if phase.paused_at is None:
        return Findings(done=f"{phase.name} is not paused.")
    return Findings(does=["It takes uploads as its times say."])


def _resume(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.paused_at = None
    return ActDone(f"{phase.name} goes on.", {"paused": True}, {"paused": False})


class End(ActOptions, frozen=False):
    """The new end; nothing removes it."""

    end: Moment | None
    zone: str = Field(default="", max_length=64, description="the time zone of an end that names none")

    @model_validator(mode="after")
    def _has_zone(self) -> End:
        if self.end is not None and self.end.tzinfo is None:
            zone = find_zone(self.zone)
            if zone is not None and (words := words_on_skipped(self.end, zone)):
                raise ValueError(words)
            self.end = self.end.replace(tzinfo=zone)
        if self.end is not None and (self.end.tzinfo is None or not 1970 < self.end.year < 9000):
            words = (
                "This must be a moment with its time zone, like 2026-09-01T00:00:00Z or 2026-09-01 23:59 AoE."
            )
            raise ValueError(words)
        return self


def _look_extend(session: Session, phase: Phase, request: ActRequest[End]) -> Findings:
    end = request.options.end
    zone = zone_written(end, phase.time_zone)
    if end == phase.ends_at and phase.closed_at is None:
        return Findings(done=f"{phase.name} ends then already.")
    opens = end is None or end > now()
    refused, warnings = _opening(session, phase) if opens else ([], ["It closes at once."])
    if end is not None and end <= phase.starts_at:
        refused = [*refused, "The new end is before the start."]
    if phase.late_until is not None and (end is None or end >= phase.late_until):
        until = deadline_words(phase.late_until, phase.time_zone)
        words = f"It takes late submissions until {until}: set a moment after the new end, or none, first."
        refused = [*refused, words]
    return Findings(
        refused=refused,
        blocked=results_are_public(session, phase) if opens else [],
        warnings=warnings,
        does=[
            f"It ends {_end_words(end, zone)}; until now it ended {_end_words(phase.ends_at, phase.time_zone)}.",
            *words_on_counting_late(session, phase, end),
        ],
    )


def _extend(session: Session, phase: Phase, request: ActRequest[End]) -> ActDone:
    before, phase.ends_at = phase.ends_at, request.options.end
    phase.time_zone = zone_written(phase.ends_at, phase.time_zone)
    phase.closed_at = None
    count_late(session, phase, phase.ends_at)
    words = f"The end of {phase.name} is moved."
    return ActDone(words, {"end": _iso(before)}, {"end": _iso(phase.ends_at)})


def _look_freeze(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if publication_of(phase).frozen is not None:
        return Findings(done="The board is frozen already.")
    return Findings(does=["The boards take no new rows; scores are still computed."])


def _freeze(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.frozen_at = now()
    return ActDone("The board is frozen.", {"frozen": False}, {"frozen": True})


def _look_unfreeze(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if publication_of(phase).frozen is None:
        return Findings(done="The board is not frozen.")
    return Findings(does=["The boards show all scores that were made meanwhile."])


def _unfreeze(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.frozen_at = None
    session.flush()
    rebuild_boards(session, live_version(session, phase))
    return ActDone("The board has caught up.", {"frozen": True}, {"frozen": False})


def _look_delete(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if phase.deleted_at is not None:
        return Findings(done=f"{phase.name} is deleted already.")
    teams, uploads = _held(session, phase)
    fed = select(Phase.name).where(Phase.gate_phase_id == phase.id, Phase.deleted_at.is_(None))
    return Findings(
        blocked=[
            *(f"“{name}” takes its entries from this phase." for name in session.scalars(fed)),
            *still_open(open_runs(session, phase)),
        ],
        does=[
            (
                f"The phase, its boards and {count(uploads, 'submission')} of {count(teams, 'team')} "
                "are hidden from everybody."
            )
        ],
        asks=uploads > 0,
    )


def _held(session: Session, phase: Phase) -> tuple[int, int]:
    """Teams with submissions in a phase, and how many these are."""
    mine = (Submission.phase_id == phase.id, Submission.kind != SubmissionKind.SMOKE)
    query = select(func.count(Submission.team_id.distinct()), func.count(Submission.id)).where(*mine)
    teams, uploads = session.execute(query).one()
    return teams, uploads


def _delete(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.deleted_at = now()
    session.flush()
    follow_gates(session, phase.gate_phase_id)
    return ActDone(f"{phase.name} is deleted; restore it below.", {"key": phase.slug}, {"deleted": True})


def _look_restore(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if phase.deleted_at is None:
        return Findings(done=f"{phase.name} is not deleted.")
    return Findings(does=["It is shown again as it was."])


def _restore(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.deleted_at = None
    session.flush()
    follow_gates(session, phase.gate_phase_id)
    return ActDone(f"{phase.name} is back.", {"deleted": True}, {"deleted": False})


def _look_redraw(session: Session, phase: Phase, request: ActRequest) -> Findings:
    return Findings(
        refused=key_acts.why_key_stays(session, phase),
        does=["Its tasks, the order of their queries and its training seeds are others from now on."],
    )


def _redraw(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    key_acts.redraw_key(session, phase)
    return ActDone("A new key is drawn.")


def _look_publish_key(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if phase.key_published_at is not None:
        return Findings(done="The key is published already.")
    return Findings(
        refused=key_acts.why_key_stays_secret(session, phase),
        does=["Everybody can draw the tasks of this phase, and verify that they were fixed beforehand."],
        warnings=["The phase can never be opened again."],
    )


def _publish_key(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    phase.key_published_at = now()
    return ActDone("Everybody can verify the key.", after={"published": True})


def _by_hand(label: str, icon: str, *statuses: PhaseStatus, style: str = "") -> Button[Phase]:
    return Button(label, icon, lambda phase: status_of(phase) in statuses, group="by hand", style=style)


def _frozen(phase: Phase) -> bool:
    return publication_of(phase).frozen is not None


def _has_evaluations(phase: Phase) -> bool:
    return bool(phase.evaluations)


def _is_free(phase: Phase) -> bool:
    return not image_acts.is_pinned(phase)


ACTS = by_name(
    Act(
        "phase.pause",
        "Pause {}",
        phase_target,
        _look_pause,
        _pause,
        "Resume it.",
        button=_by_hand("Pause", "pause", PhaseStatus.OPEN),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.close",
        "Close {}",
        phase_target,
        _look_close,
        _close,
        "Open it again.",
        button=_by_hand("Close", "lock", PhaseStatus.OPEN),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.resume",
        "Resume {}",
        phase_target,
        _look_resume,
        _resume,
        "Pause it again.",
        button=_by_hand("Resume", "play", PhaseStatus.PAUSED, style="btn--primary"),
        danger=Danger.NONE,
    ),
    Act(
        "phase.open",
        "Open {}",
        phase_target,
        _look_open,
        _open,
        "Close it again.",
        button=_by_hand("Open now", "lock-open", PhaseStatus.UPCOMING, PhaseStatus.CLOSED),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.freeze",
        "Freeze the board of {}",
        phase_target,
        _look_freeze,
        _freeze,
        "Unfreeze it.",
        button=Button[Phase]("Freeze the board", "lock", lambda phase: not _frozen(phase), "board"),
        danger=Danger.NONE,
    ),
    Act(
        "phase.unfreeze",
        "Unfreeze the board of {}",
        phase_target,
        _look_unfreeze,
        _unfreeze,
        "Freeze it again.",
        button=Button("Unfreeze the board", "play", _frozen, group="board"),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.redraw_seeds",
        "Draw a new key for {}",
        phase_target,
        _look_redraw,
        _redraw,
        "It cannot be undone.",
        button=Button("Draw a new key", "refresh-cw", group="key"),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.publish_key",
        "Publish the key of {}",
        phase_target,
        _look_publish_key,
        _publish_key,
        "It cannot be undone.",
        danger=Danger.NAME,
        button=Button("Publish the key", "lock", group="key"),
    ),
    Act(
        "phase.pin_image",
        "Pin the image of {}",
        phase_target,
        image_acts.look_pin,
        image_acts.pin,
        "Unpin it.",
        options=image_acts.Pin,
        button=Button[Phase]("Pin to what the workers have now", "lock", _is_free, "image"),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.unpin_image",
        "Unpin the image of {}",
        phase_target,
        image_acts.look_unpin,
        image_acts.unpin,
        "Pin it again.",
        button=Button("Unpin the image", "lock-open", image_acts.is_pinned, "image"),
        danger=Danger.PROOF,
    ),
    Act(
        "phase.extend",
        "Move the end of {}",
        phase_target,
        _look_extend,
        _extend,
        "Move it back.",
        options=End,
        danger=Danger.PROOF,
    ),
    Act(
        "phase.delete",
        "Delete {}",
        phase_target,
        _look_delete,
        _delete,
        "Restore it: nothing is lost.",
        danger=Danger.NAME,
    ),
    Act(
        "phase.restore",
        "Restore {}",
        phase_target,
        _look_restore,
        _restore,
        "Delete it again.",
        danger=Danger.NONE,
    ),
    Act(
        "phase.add_evaluation",
        "Add an evaluation to {}",
        phase_target,
        evaluation_acts.look_add,
        evaluation_acts.add,
        "Remove it again.",
        options=evaluation_acts.NewEvaluation,
        danger=Danger.NONE,
    ),
    Act(
        "phase.remove_evaluation",
        "Remove an evaluation of {}",
        phase_target,
        evaluation_acts.look_remove,
        evaluation_acts.remove,
        "Add it again: its scores are kept.",
        options=evaluation_acts.KnownEvaluation,
        danger=Danger.NONE,
    ),
    Act(
        "phase.evaluate",
        "Test further what was submitted to {}",
        phase_target,
        evaluation_acts.look_evaluate,
        evaluation_acts.evaluate,
        "Nothing: scores stay where they are.",
        button=Button("Test further", "flask-conical", _has_evaluations, group="board"),
        danger=Danger.NONE,
    ),
)
