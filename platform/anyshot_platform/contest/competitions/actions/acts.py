"""Acts on a whole competition: publishing it, taking it back to draft, archiving, deleting."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.contest.competitions.actions.organizing import figures, what_is_missing
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState, Role, Visibility
from anyshot_platform.contest.phases.actions.readiness import odd_in
from anyshot_platform.contest.phases.service import list_phases, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count, decimal, join_texts
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.submissions.models import Submission

DELETED = "The competition is deleted: restore it first."


def _target(session: Session, competition: Competition) -> Target:
    title = f"“{competition.title}”"
    return Target("competition", competition.id, competition.slug, title, (competition.id,))


def _hides(session: Session, competition: Competition) -> list[str]:
    """What disappears from everybody's sight with the competition."""
    counts, phases = figures(session, competition), list_phases(session, competition)
    return [
        (
            f"Nobody but its organizers sees it any more: {count(counts['members'], 'member')}, "
            f"{count(counts['submissions'], 'submission')}, {count(len(phases), 'phase')}."
        )
    ]


def _underway(session: Session, competition: Competition) -> list[str]:
    """What is going on at this moment."""
    waiting = session.scalar(
        select(func.count(Run.id))
        .join(Submission, Submission.id == Run.submission_id)
        .where(Submission.competition_id == competition.id, Run.state.not_in(ENDED))
    )
    names = [row.name for row in list_phases(session, competition) if status_of(row) == PhaseStatus.OPEN]
    return [
        *([f"{', '.join(names)}: uploads are refused from now on."] if names else []),
        *(
            [
                (
                    "1 run is queued or running; it goes on."
                    if waiting == 1
                    else f"{decimal(waiting)} runs are queued or running; they go on."
                )
            ]
            if waiting
            else []
        ),
    ]


def _used(session: Session, competition: Competition) -> bool:
    """Whether anybody but its organizers has to do with it."""
    counts = figures(session, competition)
    return counts["submissions"] > 0 or counts["members"] > 1


def _look_publish(session: Session, competition: Competition, request: ActRequest) -> Findings:
    if competition.deleted_at is not None:
        return Findings(refused=[DELETED])
    if competition.state == CompetitionState.PUBLISHED:
        return Findings(done="The competition is published already.")
    missing = what_is_missing(session, competition)
    phases = list_phases(session, competition)
    over = [row.name for row in phases if status_of(row) == PhaseStatus.CLOSED and row.accepts_uploads]
    return Findings(
        refused=[join_texts(("Not ready to be published:", *missing))] if missing else [],
        warnings=[
            *([f"{', '.join(over)}: over already, and takes no uploads."] if over else []),
            *(f"{row.name}: {words}" for row in phases for words in odd_in(session, row)),
        ],
        does=[_who_sees(competition)],
    )


def _who_sees(competition: Competition) -> str:
    """What publishing does, by the competition's settings."""
    who = {
        Visibility.PUBLIC: "Everybody sees the competition and can register for it",
        Visibility.UNLISTED: (
            "Everybody who has the address sees the competition and can register; no list shows it"
        ),
        Visibility.PRIVATE: "Its members and invited people see the competition, nobody else",
    }[competition.visibility]
    opens = competition.opens_at
    return f"{who}, from {moment_words(opens)} on." if opens is not None and opens > now() else f"{who}."


def _look_draft(session: Session, competition: Competition, request: ActRequest) -> Findings:
    if competition.state == CompetitionState.DRAFT:
        return Findings(done="The competition is a draft already.")
    if competition.state == CompetitionState.ARCHIVED:
        return Findings(refused=["An archived competition cannot become a draft. Publish it again first."])
    return Findings(
        warnings=_underway(session, competition),
        does=_hides(session, competition),
        asks=_used(session, competition),
    )


def _look_archive(session: Session, competition: Competition, request: ActRequest) -> Findings:
    if competition.state == CompetitionState.ARCHIVED:
        return Findings(done="The competition is archived already.")
    if competition.state == CompetitionState.DRAFT:
        return Findings(refused=["A draft cannot be archived. Delete it, or publish it first."])
    return Findings(
        warnings=_underway(session, competition),
        does=[
            "Everybody still sees its pages and boards. Nobody can submit or join any more, and nobody is approved, "
            "rejected or banned."
        ],
    )


def _becomes(state: CompetitionState) -> Callable[[Session, Competition, ActRequest], ActDone]:
    def do(session: Session, competition: Competition, request: ActRequest) -> ActDone:
        before, competition.state = competition.state, state
        words = f"The competition is {status_words(state.value)} now."
        return ActDone(words, {"state": before.value}, {"state": state.value})

    return do


def _look_delete(session: Session, competition: Competition, request: ActRequest) -> Findings:
    if competition.deleted_at is not None:
        return Findings(done="The competition is deleted already.")
    return Findings(warnings=_underway(session, competition), does=_hides(session, competition))


def _delete(session: Session, competition: Competition, request: ActRequest) -> ActDone:
    competition.deleted_at = now()
    return ActDone("The competition is deleted; you can restore it.", after={"deleted": True})


def _look_restore(session: Session, competition: Competition, request: ActRequest) -> Findings:
    if competition.deleted_at is None:
        return Findings(done="The competition is not deleted.")
    return Findings(does=[f"It is {status_words(competition.state.value)} again, with all that was in it."])


def _restore(session: Session, competition: Competition, request: ActRequest) -> ActDone:
    competition.deleted_at = None
    return ActDone("The competition is back.", after={"deleted": False})


def _look_secrets(session: Session, competition: Competition, request: ActRequest) -> Findings:
    return Findings(
        does=[
            (
                "You get a file with the keys and seeds of all phases: anyone who has it can draw the "
                "hidden tasks."
            ),
            "The audit log keeps that you took it.",
        ]
    )


def _take_secrets(session: Session, competition: Competition, request: ActRequest) -> ActDone:
    keys = [phase.slug for phase in list_phases(session, competition)]
    return ActDone("The bundle with the secrets was taken.", after={"secrets_of": keys})


_Look = Callable[[Session, Competition, ActRequest], Findings]


def _state(
    word: str, verb: str, look: _Look, state: CompetitionState, undo: str, danger: Danger, **more: Any
) -> Act[Competition]:
    key = f"competition.{word}"
    return Act(
        key, f"{verb} {{}}", _target, look, _becomes(state), undo, role=Role.OWNER, **more, danger=danger
    )


def _shown(label: str, icon: str, *states: CompetitionState, style: str = "") -> Button[Competition]:
    return Button(label, icon, lambda row: row.state in states and row.deleted_at is None, "state", style)


STATES: dict[CompetitionState, Act[Competition]] = {
    CompetitionState.PUBLISHED: _state(
        "publish",
        "Publish",
        _look_publish,
        CompetitionState.PUBLISHED,
        "Take it back to draft, or archive it.",
        button=_shown(
            "Publish", "globe", CompetitionState.DRAFT, CompetitionState.ARCHIVED, style="btn--primary"
        ),
        danger=Danger.PROOF,
    ),
    CompetitionState.DRAFT: _state(
        "draft",
        "Back to draft:",
        _look_draft,
        CompetitionState.DRAFT,
        "Publish it again.",
        danger=Danger.NAME,
        button=_shown("Back to draft", "eye-off", CompetitionState.PUBLISHED),
    ),
    CompetitionState.ARCHIVED: _state(
        "archive",
        "Archive",
        _look_archive,
        CompetitionState.ARCHIVED,
        "Publish it again.",
        button=_shown("Archive", "archive", CompetitionState.PUBLISHED),
        danger=Danger.PROOF,
    ),
}
DELETE = Act(
    "competition.delete",
    "Delete {}",
    _target,
    _look_delete,
    _delete,
    "Restore it: nothing is lost.",
    danger=Danger.NAME,
    role=Role.OWNER,
)
RESTORE = Act(
    "competition.restore",
    "Restore {}",
    _target,
    _look_restore,
    _restore,
    "Delete it again.",
    role=Role.OWNER,
    danger=Danger.NONE,
)
TAKE_SECRETS = Act(
    "competition.take_secrets",
    "Download the secrets of {}",
    _target,
    _look_secrets,
    _take_secrets,
    "It cannot be undone. Draw new keys where a phase has not begun.",
    danger=Danger.NAME,
    role=Role.OWNER,
)
ACTS = by_name(*STATES.values(), DELETE, RESTORE)
