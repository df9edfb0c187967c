"""Acts on a version of a phase: scoring the submissions under it, making it live, discarding it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Button,
    Findings,
    Target,
    by_name,
)
from anyshot_platform.judging.further import count_missing
from anyshot_platform.judging.joining import not_queued, still_running, without_score
from anyshot_platform.kernel.language import say, say_count, together
from anyshot_platform.organizers.phases import versions
from anyshot_platform.organizers.phases.side_by_side import Compared, compare, progress_of
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.service import live_version
from anyshot_platform.phases.states import RescoreMode, VersionState
from anyshot_platform.sight.phases import publication_of
from anyshot_platform.submissions.models import Submission

_NAMED = 5


def _target(session: Session, version: PhaseVersion) -> Target:
    phase = version.phase
    title = say("version %(number)s of “%(name)s”", number=version.number, name=phase.name)
    return Target("phase", phase.id, phase.slug, title, (phase.competition_id,))


def _names(submissions: Sequence[Submission]) -> str:
    named = [
        say("%(name)s (no. %(number)s)", name=row.team.name, number=row.number)
        for row in submissions[:_NAMED]
    ]
    shown = together(named, ", ")
    more = len(submissions) - _NAMED
    return say("%(shown)s and %(more)s more", shown=shown, more=more) if more > 0 else shown


def _look_live(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    phase = version.phase
    if version.number == phase.live_version:
        return Findings(done=say("This version is live already."))
    live, progress = live_version(session, phase), progress_of(session, version)
    untried = not_queued(session, phase, version)
    known = {row.id for row in untried}
    lost = [row for row in without_score(session, phase, version) if row.id not in known]
    tests, without = count_missing(session, version)
    refused: list[str] = []
    if progress.ended < progress.total:
        refused.append(
            say_count(
                progress.total - progress.ended,
                "%(num)s run of this version has not ended yet.",
                "%(num)s runs of this version have not ended yet.",
            )
        )
    if untried:
        refused.append(
            say_count(
                len(untried),
                "%(num)s scored submission was never scored under this version and would leave the boards: "
                "%(names)s. "
                "Press “Score what is missing” on the version's page first.",
                "%(num)s scored submissions were never scored under this version and would leave the boards: "
                "%(names)s. Press “Score what is missing” on the version's page first.",
                names=_names(untried),
            )
        )
    losing = say_count(
        len(lost),
        "%(num)s submission has a score now and failed under this version: %(names)s. It would leave the boards.",
        "%(num)s submissions have a score now and failed under this version: %(names)s. They would leave the boards.",
        names=_names(lost),
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
        say_count(
            number,
            "%(num)s test of the further evaluations is queued under this version, after all other work.",
            "%(num)s tests of the further evaluations are queued under this version, after all other work.",
        )
    ]


def _say_without_learner(number: int) -> list[str]:
    if not number:
        return []
    return [
        say_count(
            number,
            "%(num)s submission has no learner any more: it gets no further evaluations under this version.",
            "%(num)s submissions have no learner any more: they get no further evaluations under this version.",
        )
    ]


def _frozen(phase: Phase) -> list[str]:
    if publication_of(phase).frozen is None:
        return []
    return [
        say("The board stays frozen: the same submissions stand on it, with their scores of this version.")
    ]


def _underway(number: int) -> list[str]:
    if not number:
        return []
    return [
        say_count(
            number,
            "%(num)s submission is being scored under the live version; it joins this one when it ends.",
            "%(num)s submissions are being scored under the live version; they join this one when they end.",
        )
    ]


def _differences(rows: Sequence[Compared]) -> list[str]:
    both = [row for row in rows if row.old is not None and row.new is not None]
    moved = [row for row in both if row.old_rank != row.new_rank]
    largest = max((abs((row.new or 0.0) - (row.old or 0.0)) for row in both), default=0.0)
    first = min(both, key=lambda row: row.new_rank or 0, default=None)
    leader = (
        [say("First is then %(team)s with %(new)s.", team=first.team, new=f"{first.new:.3f}")]
        if first is not None
        else []
    )
    return [
        say_count(
            len(both),
            "%(num)s submission gets the score of this version; the largest change is %(largest)s.",
            "%(num)s submissions get the score of this version; the largest change is %(largest)s.",
            largest=f"{largest:.3f}",
        ),
        say_count(len(moved), "%(num)s of them changes its place.", "%(num)s of them change their place."),
        *leader,
    ]


def _make_live(session: Session, version: PhaseVersion, request: ActRequest) -> ActDone:
    old = versions.make_live(session, version.phase, version)
    return ActDone(
        say("Version %(number)s is live.", number=version.number),
        before={"live version": old.number},
        after={"live version": version.number},
    )


def _look_discard(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    if version.number == version.phase.live_version:
        return Findings(refused=[say("The live version cannot be discarded.")])
    if version.state == VersionState.RETIRED:
        return Findings(done=say("This version is discarded already."))
    return Findings(does=[say("Its boards go; its scores are kept.")])


def _discard(session: Session, version: PhaseVersion, request: ActRequest) -> ActDone:
    versions.discard(session, version.phase, version)
    return ActDone(
        say("Version %(number)s is discarded.", number=version.number), after={"version": version.number}
    )


class RescoringChoice(ActOptions):
    """How much is done again: the scoring alone, the meta-test from saved learners, or everything."""

    mode: RescoreMode


def _look_rescore(session: Session, version: PhaseVersion, request: ActRequest) -> Findings:
    if version.number == version.phase.live_version:
        return Findings(refused=[say("This version is live: submissions are scored under it as they come.")])
    number = len(not_queued(session, version.phase, version))
    return Findings(
        does=[
            say_count(
                number,
                "%(num)s submission is scored under it; later ones join by themselves.",
                "%(num)s submissions are scored under it; later ones join by themselves.",
            )
        ]
    )


def _rescore(session: Session, version: PhaseVersion, request: ActRequest) -> ActDone:
    mode = RescoreMode(request.options["mode"])
    queued = versions.start_rescoring(session, version.phase, version, mode)
    after = {"version": version.number, "state": version.state.value, "mode": mode.value}
    return ActDone(say_count(queued, "%(num)s run is queued.", "%(num)s runs are queued."), after=after)


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
    also=("POST /rescore",),
)
MAKE_LIVE = Act(
    key="version.make_live",
    title="Make {} live",
    target=_target,
    look=_look_live,
    do=_make_live,
    undo="The version before is kept and can be made live again.",
    dangerous=True,
    also=("POST /make-live",),
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
    also=("DELETE",),
    button=Button("Discard this version", "x", _other(VersionState.DRAFT, VersionState.SCORING)),
)
ACTS = by_name(RESCORE, MAKE_LIVE, DISCARD)
