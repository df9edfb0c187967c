"""New versions of a phase: drafted, scored in the background, seen beside the old one, made live."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.actions.checks import problems_of
from anyshot_platform.contest.phases.actions.differences import (
    keep_secrets,
    other_changes,
    pools_moved,
    scoring_changes,
    with_fields,
)
from anyshot_platform.contest.phases.actions.key_acts import give_new_key
from anyshot_platform.contest.phases.actions.leaks import require_no_leak
from anyshot_platform.contest.phases.actions.organizing import change_phase, find_pools
from anyshot_platform.contest.phases.description import SETTINGS, PhaseSpec, hinders, labels_of
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase, version_values
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.contest.phases.states import RescoreMode, VersionState
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid, NotFound
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.execution.further_tests import queue_missing
from anyshot_platform.judging.execution.joining import not_queued, queue_under
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.smoke import require_nothing_hidden_shown
from anyshot_platform.people.audit import service as audit
from anyshot_platform.standings.leaderboards.service import carry_frozen, forget_boards, rebuild_boards


class CannotReuse(Invalid):
    """The earlier results do not fit the new settings; a fuller way of re-scoring is needed."""

    code = "cannot_reuse"


@dataclass(frozen=True)
class Drafted:
    """A new draft, and the settings that its description changed of the phase itself: they are saved."""

    version: PhaseVersion
    saved: list[str]


def find_version(session: Session, phase: Phase, number: int) -> PhaseVersion:
    """A version by its number; raises `NotFound`."""
    version = session.scalars(
        select(PhaseVersion).where(PhaseVersion.phase_id == phase.id, PhaseVersion.number == number)
    ).one_or_none()
    if version is None:
        raise NotFound("There is no such version.")
    return version


def draft_version(
    session: Session,
    phase: Phase,
    spec: PhaseSpec,
    reason: str,
    actor_id: str,
    *,
    new_key: bool = False,
    newest_pools: bool = False,
) -> Drafted:
    """A version that counts nothing yet; with a `new_key` its tasks are others.

    It has the live version's versions of pools, except where it names another pool or takes the `newest_pools`.
    What the description says of the phase itself (its times, quotas, what is shown) is saved at once.
    """
    saved = _save_the_rest(session, phase, spec, actor_id)
    spec = keep_secrets(spec, describe_phase(session, phase, "UTC"))
    last = session.scalar(select(func.max(PhaseVersion.number)).where(PhaseVersion.phase_id == phase.id)) or 0
    live = live_version(session, phase)
    held = () if newest_pools else (live.meta_train, live.meta_test)
    values = version_values(spec, find_pools(session, spec, held))
    version = PhaseVersion(
        phase_id=phase.id,
        number=last + 1,
        state=VersionState.DRAFT,
        reason=reason,
        created_by=actor_id,
        **values,
    )
    if new_key:
        give_new_key(version)
    session.add(version)
    require_nothing_hidden_shown(session, phase, version, phase.smoke_pool_version_id)
    require_no_leak(session, phase, version)
    _record(session, phase, version, actor_id, "version.draft", reason)
    return Drafted(version, saved)


def _save_the_rest(session: Session, phase: Phase, spec: PhaseSpec, actor_id: str) -> list[str]:
    """Save what differs and decides no score; which settings these are.

    Raises `Invalid` where they do not fit the version that is live.
    """
    live = describe_phase(session, phase, "")
    spec = spec.model_copy(update={"timezone": spec.timezone or "UTC"})
    changed = other_changes(live, spec)
    if not changed:
        return []
    values = {setting.path: setting.value(spec) for setting in SETTINGS if setting.path in changed}
    rest, known = with_fields(live, values), dict(problems_of(live))
    if wrong := {path: words for path, words in problems_of(rest) if path not in known}:
        raise Invalid(
            (
                "What decides no scores is saved at once, and does not fit the live version: "
                f"{labels_of(wrong)}. {join_texts(wrong.values())} Draft the version without it, and "
                "change it once the version is live."
            ),
            field=next(iter(wrong)),
        )
    change_phase(session, phase, rest, actor_id)
    return changed


def ways_of_rescoring(session: Session, phase: Phase, version: PhaseVersion) -> dict[RescoreMode, str | None]:
    """For each way, None if it can be taken, else why not."""
    changed = _changes(session, phase, version)
    score = [path for path in changed if hinders(path, RescoreMode.SCORE)]
    own_data = version.each_dataset and "tasks.meta_test" in changed  # learners are of their dataset
    test = [path for path in changed if hinders(path, RescoreMode.META_TEST)] + ["tasks.meta_test"] * own_data
    return {
        RescoreMode.SCORE: f"the predictions were made under other settings: {labels_of(score)}"
        if score
        else None,
        RescoreMode.META_TEST: f"the learners were trained under other settings: {labels_of(test)}"
        if test
        else None,
        RescoreMode.EVERYTHING: None,
    }


def _changes(session: Session, phase: Phase, version: PhaseVersion) -> list[str]:
    with session.no_autoflush:
        drafted = describe_phase(session, phase, "UTC", version)
    changed = scoring_changes(describe_phase(session, phase, "UTC"), drafted)
    return list(dict.fromkeys([*changed, *pools_moved(live_version(session, phase), version)]))


def start_rescoring(session: Session, phase: Phase, version: PhaseVersion, mode: RescoreMode) -> int:
    """Score under a version, in the background, what is not scored under it yet; how many runs were queued.

    What is scored under the live version later joins by itself until this one is live or discarded.
    """
    if version.number == phase.live_version:
        raise Conflict("This version is live.")
    why_not = ways_of_rescoring(session, phase, version).get(mode)
    if why_not:
        raise CannotReuse(f"Not possible: {why_not}.")
    version.state, version.rescore_mode = VersionState.SCORING, mode
    live = live_version(session, phase)
    return sum(
        queue_under(session, submission, version, mode, live)
        for submission in not_queued(session, phase, version)
    )


def make_live(session: Session, phase: Phase, version: PhaseVersion) -> PhaseVersion:
    """From now on this version's scores count; returns the one before, which is kept and can be made live again.

    What was scored before is tested further under this version too.
    """
    old = live_version(session, phase)
    carry_frozen(session, old, version)
    old.state = VersionState.RETIRED
    version.state, version.live_at = VersionState.LIVE, now()
    phase.live_version = version.number
    values = {
        row.submission_id: row
        for row in session.scalars(
            select(SubmissionScore).where(SubmissionScore.phase_version_id == version.id)
        )
    }
    for submission in session.scalars(select(Submission).where(Submission.phase_id == phase.id)):
        row = values.get(submission.id)
        submission.score, submission.half_width = (row.value, row.half_width) if row else (None, None)
    session.flush()
    rebuild_boards(session, version)
    queue_missing(session, version)
    return old


def discard(session: Session, phase: Phase, version: PhaseVersion) -> None:
    """Retire a draft; its scores are kept, its boards go."""
    version.state = VersionState.RETIRED
    forget_boards(session, version)


def _record(
    session: Session, phase: Phase, version: PhaseVersion, actor_id: str, action: str, reason: str
) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="phase",
        object_id=phase.id,
        competition_id=phase.competition_id,
        reason=reason,
        after={"version": version.number, "state": version.state.value},
    )
