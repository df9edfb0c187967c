"""Acts on a version of a phase: scoring the submissions under it, making it live, discarding it."""

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from anyshot_core.words import decimal_words
from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Button,
    Danger,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.contest.phases.actions import versions
from anyshot_platform.contest.phases.actions.differences import difference
from anyshot_platform.contest.phases.actions.side_by_side import Compared, compare, progress_of
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.contest.phases.states import RescoreMode, VersionState
from anyshot_platform.foundation.filters import decimal, join_texts
from anyshot_platform.judging.execution.further_tests import count_missing
from anyshot_platform.judging.execution.joining import not_queued, still_running, without_score
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import publication_of

_NAMED = 5


def _target(session: Session, version: PhaseVersion) -> Target:
    phase = version.phase
    title = f"version {version.number} of “{phase.name}”"
    return Target("phase", phase.id, phase.slug, title, (phase.competition_id,))


def _names(submissions: Sequence[Submission]) -> str:
    named = [f"{row.team.name} (no. {row.number})" for row in submissions[:_NAMED]]
    shown = join_texts(named, ", ")
    more = len(submissions) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _look_live(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    phase = version.phase
    if version.number == phase.live_version:
        return Findings(done="This version is live already.")
    live, progress = live_version(session, phase), progress_of(session, version)
    untried = not_queued(session, phase, version)
    known = {row.id for row in untried}
    lost = [row for row in without_score(session, phase, version) if row.id not in known]
    tests, without = count_missing(session, version)
    refused: list[str] = []
    if progress.ended < progress.total:
        refused.append(
            "1 run of this version has not ended yet."
            if progress.total - progress.ended == 1
            else f"{decimal(progress.total - progress.ended)} runs of this version have not ended yet."
        )
    if untried:
        refused.append(
            (
                "1 scored submission was never scored under this version and would leave the boards: "
                f"{_names(untried)}. Press “Score what is missing” on the version's page first."
            )
            if len(untried) == 1
            else (
                f"{decimal(len(untried))} scored submissions were never scored under this version and "
                f"would leave the boards: {_names(untried)}. Press “Score what is missing” on the "
                "version's page first."
            )
        )
    losing = (
        (
            f"1 submission has a score now and failed under this version: {_names(lost)}. It "
            "would leave the boards."
        )
        if len(lost) == 1
        else (
            f"{decimal(len(lost))} submissions have a score now and failed under this version: "
            f"{_names(lost)}. They would leave the boards."
        )
    )
    return Findings(
        refused=refused,
        blocked=[losing] if lost and not refused else [],
        does=[*_differences(compare(session, phase, live, version)), *_frozen(phase), *_say_tests(tests)],
        warnings=[*_underway(still_running(session, phase, live)), *_say_without_learner(without)],
    )


def _say_tests(number: int) -> list[str]:
    if not number:
        return []
    return [
        (
            "1 test of the further evaluations is queued under this version, after all other work."
            if number == 1
            else (
                f"{decimal(number)} tests of the further evaluations are queued under this version, after "
                "all other work."
            )
        )
    ]


def _say_without_learner(number: int) -> list[str]:
    if not number:
        return []
    return [
        (
            "1 submission has no learner any more: it gets no further evaluations under this version."
            if number == 1
            else (
                f"{decimal(number)} submissions have no learner any more: they get no further evaluations "
                "under this version."
            )
        )
    ]


def _frozen(phase: Phase) -> list[str]:
    if publication_of(phase).frozen is None:
        return []
    return ["The board stays frozen: the same submissions stand on it, with their scores of this version."]


def _underway(number: int) -> list[str]:
    if not number:
        return []
    return [
        (
            "1 submission is being scored under the live version; it joins this one when it ends."
            if number == 1
            else (
                f"{decimal(number)} submissions are being scored under the live version; they join this "
                "one when they end."
            )
        )
    ]


def _differences(rows: Sequence[Compared]) -> list[str]:
    both = [row for row in rows if row.old is not None and row.new is not None]
    moved = [row for row in both if row.old_rank != row.new_rank]
    largest = max((abs((row.new or 0.0) - (row.old or 0.0)) for row in both), default=0.0)
    first = min(both, key=lambda row: row.new_rank or 0, default=None)
    leader = (
        [f"First is then {first.team} with {decimal_words(first.new or 0.0)}."] if first is not None else []
    )
    return [
        (
            f"1 submission gets the score of this version; the largest change is {largest:.3f}."
            if len(both) == 1
            else (
                f"{decimal(len(both))} submissions get the score of this version; the largest change is "
                f"{largest:.3f}."
            )
        ),
        (
            "1 of them changes its place."
            if len(moved) == 1
            else f"{decimal(len(moved))} of them change their place."
        ),
        *leader,
    ]


def _make_live(session: Session, version: PhaseVersion, request: ActRequest) -> ActDone:
    old = versions.make_live(session, version.phase, version)
    was, now = (describe_phase(session, version.phase, "", one) for one in (old, version))
    return ActDone(
        f"Version {version.number} is live.",
        before={"live version": old.number, **difference(was, now)},
        after={"live version": version.number, **difference(now, was)},
    )


def _look_discard(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    if version.number == version.phase.live_version:
        return Findings(refused=["The live version cannot be discarded."])
    if version.state == VersionState.RETIRED:
        return Findings(done="This version is discarded already.")
    return Findings(does=["Its boards go; its scores are kept."])


def _discard(session: Session, version: PhaseVersion, request: ActRequest) -> ActDone:
    versions.discard(session, version.phase, version)
    return ActDone(f"Version {version.number} is discarded.", after={"version": version.number})


class RescoringChoice(ActOptions):
    """How much is done again: the scoring alone, the meta-test from saved learners, or everything."""

    mode: RescoreMode


def _look_rescore(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    if version.number == version.phase.live_version:
        return Findings(refused=["This version is live: submissions are scored under it as they come."])
    number = len(not_queued(session, version.phase, version))
    return Findings(
        does=[
            (
                "1 submission is scored under it; later ones join by themselves."
                if number == 1
                else f"{decimal(number)} submissions are scored under it; later ones join by themselves."
            )
        ]
    )


def _rescore(session: Session, version: PhaseVersion, request: ActRequest[RescoringChoice]) -> ActDone:
    mode = request.options.mode
    queued = versions.start_rescoring(session, version.phase, version, mode)
    after = {"version": version.number, "state": version.state.value, "mode": mode.value}
    return ActDone(
        ("1 run is queued." if queued == 1 else f"{decimal(queued)} runs are queued."), after=after
    )


def _other(*states: VersionState) -> Callable[[PhaseVersion], bool]:
    """Versions in these states that are not live."""
    return lambda version: version.number != version.phase.live_version and version.state in states


RESCORE = Act(
    key="version.rescore",
    title="Score the submissions under {}",
    target=_target,
    look=_look_rescore,
    do=_rescore,
    undo="Discard the version, or cancel its runs under Submissions.",
    options=RescoringChoice,
    danger=Danger.NONE,
)
MAKE_LIVE = Act(
    key="version.make_live",
    title="Make {} live",
    target=_target,
    look=_look_live,
    do=_make_live,
    undo="The version before is kept and can be made live again.",
    danger=Danger.NAME,
    button=Button(
        "Make it live", "check", _other(VersionState.SCORING, VersionState.RETIRED), style="btn--primary"
    ),
)
DISCARD = Act(
    key="version.discard",
    title="Discard {}",
    target=_target,
    look=_look_discard,
    do=_discard,
    undo="Score what is missing under it, and make it live.",
    button=Button("Discard this version", "x", _other(VersionState.DRAFT, VersionState.SCORING)),
    danger=Danger.PROOF,
)
ACTS = by_name(RESCORE, MAKE_LIVE, DISCARD)
