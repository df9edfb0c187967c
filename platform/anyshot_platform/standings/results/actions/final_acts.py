"""Acts on a final phase: launching it, repeating what failed, publishing its results, taking that back."""

from typing import Annotated

from pydantic import Field
from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from anyshot_core.words import deadline_words
from anyshot_platform.actions.declaration import (
    ALL_READ,
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.actions.on_results import results_are_public
from anyshot_platform.contest.competitions.messages import members_of
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import is_extended, live_version, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.foundation.filters import count, decimal, duration
from anyshot_platform.judging.execution import repeating
from anyshot_platform.judging.execution.kinds import counting_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import Urgency
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.submissions.arrivals import count_under_way
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.published_code import hides_code
from anyshot_platform.judging.visibility.standing import counting, kept, standing_of
from anyshot_platform.standings.results.actions import finals, publication, repeats
from anyshot_platform.standings.results.actions.winner_acts import unconfirmed
from anyshot_platform.standings.results.records import changes_of, correct

DELETED = "The phase is deleted: restore it first."


class Winners(ActOptions):
    """`winners`: of how many of each league's best the code is published."""

    winners: int = Field(default=0, ge=0, le=100)


class Launch(ActOptions):
    """`expected` is how many entries the preview showed as entering and not launched."""

    expected: int | None = Field(default=None, ge=0)
    replace: list[Annotated[str, Field(max_length=32)]] = Field(
        default=[],
        max_length=10_000,
        description="ids of teams whose launched entry gives way to the one that stands now",
    )


def phase_target(session: Session, phase: Phase) -> Target:
    """A phase, by its short name."""
    return Target("phase", phase.id, phase.slug, f"“{phase.name}”", (phase.competition_id,))


def open_runs(session: Session, phase: Phase) -> int:
    """Runs of a phase's live version that have not ended; only such that make scores that can be ranked."""
    query = (
        select(func.count(Run.id))
        .join(Submission, Submission.id == Run.submission_id)
        .where(
            Run.phase_version_id == live_version(session, phase).id,
            counting_runs(),
            Run.state.not_in(ENDED),
            Submission.kind != SubmissionKind.LATE,
            counting(),
        )
    )
    return session.scalar(query) or 0


def still_open(number: int) -> list[str]:
    """What is in the way while so many runs of a phase have not ended; nothing without any."""
    if not number:
        return []
    return [
        "1 run of this phase has not ended yet."
        if number == 1
        else f"{decimal(number)} runs of this phase have not ended yet."
    ]


def may_publish(session: Session, phase: Phase) -> bool:
    """Whether there is something to publish or to take back; once it is over, also where nobody entered it."""
    over = status_of(phase) == PhaseStatus.CLOSED or publication_of(phase).published is not None
    return over or _count_entries(session, phase, kept()) > 0


def _count_entries(session: Session, phase: Phase, *conditions: ColumnElement[bool]) -> int:
    query = select(func.count(Submission.id)).where(
        Submission.phase_id == phase.id,
        Submission.kind.in_([SubmissionKind.ENTRY, SubmissionKind.FINAL]),
        *conditions,
    )
    return session.scalar(query) or 0


def _look_publish(session: Session, phase: Phase, request: ActRequest[Winners]) -> Findings:
    if phase.deleted_at is not None:
        return Findings(refused=[DELETED])
    codes = publication.best_of_leagues(session, phase, request.options.winners)
    public = publication_of(phase).published is not None
    if public and all(standing_of(row).code_published for row in codes):
        return Findings(done="The results are public already; nobody is told again.")
    waiting, missing = (
        open_runs(session, phase),
        _count_entries(session, phase, counting(), Submission.score.is_(None)),
    )
    blocked = still_open(waiting)
    repeated = repeats.repeatable(session, phase)
    if repeated:
        names = ", ".join(sorted({row.submission.team.name for row in repeated}))
        blocked.append(f"Runs of {names} failed through no fault of theirs. Repeat them first.")
    if not _count_entries(session, phase, kept()):
        blocked.append("Nobody has an entry in this phase: the boards are empty.")
    blocked += unconfirmed(session, phase)
    unscored = (
        "1 of the entries has no score and stays off the boards."
        if missing == 1
        else f"{decimal(missing)} of the entries have no score and stay off the boards."
    )
    return Findings(
        blocked=blocked,
        warnings=[
            *([unscored] if missing and not waiting else []),
            *_goes_on(phase),
            *publication.check_prizes(session, phase),
        ],
        does=[
            "Everybody sees the boards. As they stand now:",
            *publication.podium(session, phase),
            *(
                ["The phase is over, whatever its dates say; hiding the results does not open it again."]
                if publication.ends_by_publishing(phase)
                else []
            ),
            *_codes(codes),
        ],
        told=0 if public else len(members_of(session, phase.competition)),
    )


def _goes_on(phase: Phase) -> list[str]:
    """A sentence where the boards do not end by being published: uploads go on."""
    if not phase.accepts_uploads or status_of(phase) == PhaseStatus.CLOSED:
        return []
    return [
        "The phase still takes uploads: its boards go on changing, for everybody to see. The results stay as they are "
        "published until you correct them."
    ]


def _codes(winners: list[Submission]) -> list[str]:
    """What becomes of the winners' code."""
    hidden = sorted({row.team.name for row in winners if hides_code(row.team)})
    shown = sum(not hides_code(row.team) for row in winners)
    words = [f"Everybody can download the code of {count(shown, 'submission')}."] if shown else []
    return [
        *words,
        *(f"The code of “{name}” stays hidden, as you decided." for name in hidden),
    ]


def _publish(session: Session, phase: Phase, request: ActRequest[Winners]) -> ActDone:
    before = publication_of(phase).published is not None
    shown = publication.publish(session, phase, request.reason, winners=request.options.winners)
    return ActDone(
        f"The results are public; the code of {count(len(shown), 'submission')} too."
        if shown
        else "The results are public.",
        before={"public": before},
        after={
            "public": True,
            "code_of": [row.id for row in shown],
            "podium": publication.podium(session, phase),
        },
        result=shown,
    )


def _look_hide(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if publication_of(phase).published is None:
        return Findings(done="The results are hidden already.")
    return Findings(
        does=[
            "Only organizers see the boards and scores again.",
            "No code is published any more.",
            *(["The phase stays closed; open it if it shall go on."] if phase.closed_at else []),
        ],
        warnings=["The messages that went out cannot be called back."],
    )


def _hide(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    publication.unpublish(session, phase)
    return ActDone("The results are hidden again.", before={"public": True}, after={"public": False})


def _look_launch(session: Session, phase: Phase, request: ActRequest[Launch]) -> Findings:
    if phase.deleted_at is not None:
        return Findings(refused=[DELETED])
    rows = finals.preview(session, phase)
    waiting = finals.to_launch(rows, request.options.replace)
    entered = sum(row.entered for row in rows)
    if not waiting and entered:
        return Findings(done=f"All entries are launched already ({entered}).")
    version = live_version(session, phase)
    runs = len(waiting) * version.seeded_runs
    return Findings(
        blocked=[
            *why_too_early(session, finals.source_of(session, phase)),
            *results_are_public(session, phase),
            *_uploaded_late(phase, waiting),
        ],
        does=[
            (
                f"Queued: {count(len(waiting), 'entry', 'entries')}, each "
                f"{count(version.seeded_runs, 'time')}; that is {count(runs, 'run')} of "
                f"{count(version.tasks, 'task')}, at most {duration(version.run_seconds)} each."
            ),
            *([_who_stays_out(left)] if (left := sum(not row.enters for row in rows)) else []),
        ],
        warnings=[seen] if (seen := finals.seen_meanwhile(phase)) else [],
    )


def _uploaded_late(phase: Phase, waiting: list[finals.FinalCandidate]) -> list[str]:
    """The entries that would come in although they were uploaded after the launch."""
    return [
        f"No. {row.submission.number} of “{row.team.name}” was uploaded after the launch."
        for row in waiting
        if row.submission is not None and phase.launched_at is not None
        if row.submission.created_at > phase.launched_at
    ]


def _who_stays_out(teams: int) -> str:
    return (
        "1 team does not enter; the preview says why."
        if teams == 1
        else f"{decimal(teams)} teams do not enter; the preview says why."
    )


def why_too_early(session: Session, source: Phase) -> list[str]:
    """What keeps the phase that entries come from from being settled, and what a launch would mean all the same."""
    found: list[str] = []
    if status_of(source) != PhaseStatus.CLOSED:
        until = deadline_words(source.ends_at, source.time_zone) if source.ends_at else "it is closed"
        found.append(
            f"“{source.name}” takes uploads until {until}: what is uploaded after the launch does not enter."
        )
    if is_extended(source):
        found.append(
            f"Some teams have more time in “{source.name}”: what they upload after the launch does not enter."
        )
    if under_way := count_under_way(session, source):
        uploads = count(under_way, "upload")
        found.append(
            f"{uploads} that began before the end of “{source.name}” may still be handed in: what is handed in after "
            "the launch does not enter."
        )
    waiting = open_runs(session, source)
    if waiting:
        found.append(
            (
                f"1 run of “{source.name}” has not ended yet: its team would enter with an earlier "
                "submission, or not at all."
            )
            if waiting == 1
            else (
                f"{decimal(waiting)} runs of “{source.name}” have not ended yet: their teams would "
                "enter with an earlier submission, or not at all."
            )
        )
    return found


def _launch(session: Session, phase: Phase, request: ActRequest[Launch]) -> ActDone:
    asked = request.options
    entered = finals.launch(session, phase, request.actor_id, expected=asked.expected, replace=asked.replace)
    return ActDone(
        "1 entry is queued." if len(entered) == 1 else f"{decimal(len(entered))} entries are queued.",
        after={"entries": len(entered)},
        result=entered,
    )


def _look_repeat(session: Session, phase: Phase, request: ActRequest) -> Findings:
    found = repeats.find_failed(session, phase)
    if not any(row.repeated for row in found):
        return Findings(done="No run of this phase waits to be repeated.")
    return Findings(
        blocked=results_are_public(session, phase),
        does=[row.words for row in found],
    )


def _repeat(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    version, found = live_version(session, phase), repeats.repeatable(session, phase)
    runs = [
        run
        for row in found
        for run in repeating.repeat(session, row.submission, version, Urgency(phase.priority))
    ]
    return ActDone(
        "1 run is queued again, with the same seeds."
        if len(runs) == 1
        else f"{decimal(len(runs))} runs are queued again, with the same seeds.",
        after={"repeated": {row.submission.id: [place + 1 for place in row.seeds] for row in found}},
        result=found,
    )


def _look_correct(session: Session, phase: Phase, request: ActRequest) -> Findings:
    if publication_of(phase).published is None:
        return Findings(refused=["The results are not public: publish them."])
    changes = changes_of(session, phase)
    if not changes:
        return Findings(done="The published results are as the boards stand.")
    why = "Give the reason: the page of the results shows it, and the teams that it concerns are told."
    return Findings(
        refused=[] if request.reason.strip() else [why],
        does=[change.words for change in changes],
        told=len({user_id for change in changes for user_id in change.people}),
    )


def _correct(session: Session, phase: Phase, request: ActRequest) -> ActDone:
    changes = correct(session, phase, request.reason)
    return ActDone(
        "The published results are corrected.", after={"changes": [change.words for change in changes]}
    )


CORRECT = Act(
    key="final.correct",
    title="Correct the published results of {}",
    target=phase_target,
    look=_look_correct,
    do=_correct,
    undo="The version before is kept, but not shown again; its people have been told.",
    reason=ALL_READ,
    danger=Danger.NAME,
)
REPEAT = Act(
    key="final.repeat",
    title="Repeat the failed runs of {}",
    target=phase_target,
    look=_look_repeat,
    do=_repeat,
    undo="Cancel the entries under Submissions.",
    danger=Danger.NONE,
)
PUBLISH = Act(
    key="final.publish",
    title="Publish the results of {}",
    target=phase_target,
    look=_look_publish,
    do=_publish,
    undo="It can be taken back, except for the messages; a phase that it ended stays closed until it is opened.",
    danger=Danger.NAME,
    options=Winners,
)
HIDE = Act(
    key="final.unpublish",
    title="Hide the results of {} again",
    target=phase_target,
    look=_look_hide,
    do=_hide,
    undo="Publish them again: everybody gets a message again.",
    danger=Danger.PROOF,
)
LAUNCH = Act(
    key="final.launch",
    title="Launch {}",
    target=phase_target,
    look=_look_launch,
    do=_launch,
    undo="Cancel or delete the entries under Submissions.",
    options=Launch,
    danger=Danger.PROOF,
)
ACTS = by_name(LAUNCH, REPEAT, PUBLISH, CORRECT, HIDE)
