"""What organizers do to phases: edit, open and close by hand, freeze."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.consistency import judge_circles
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.actions.differences import (
    difference,
    keep_secrets,
    new_secrets,
    pools_moved,
    scoring_changes,
)
from anyshot_platform.contest.phases.actions.key_acts import KEY_IS_PUBLIC, why_key_stays
from anyshot_platform.contest.phases.actions.leaks import require_no_leak
from anyshot_platform.contest.phases.description import PhaseSpec, labels_of
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.rows import describe_phase, phase_values, version_values
from anyshot_platform.contest.phases.service import list_phases, live_version, status_of
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.contest.pools.service import newest_version
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.schema.settings import Effect, effects
from anyshot_platform.judging.evaluations.points import hold_pools
from anyshot_platform.judging.execution.further_tests import cancel_dropped, queue_missing
from anyshot_platform.judging.runs.secrets import commitment_of
from anyshot_platform.judging.submissions.actions.submitting import count_late
from anyshot_platform.judging.submissions.counting import count_uploads
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.smoke import require_nothing_hidden_shown
from anyshot_platform.people.audit import service as audit
from anyshot_platform.standings.baselines.actions.gates import follow_gates
from anyshot_platform.standings.leaderboards.service import rebuild_boards


class Incomparable(Conflict):
    """The change is one for a new version: there are scores, or a published commitment, that it would make untrue."""

    code = "incomparable"


def count_submissions(session: Session, phase: Phase) -> int:
    """Submissions that were, or are to be, scored."""
    return count_uploads(session, Submission.phase_id == phase.id)


def _require_free(session: Session, competition: Competition, key: str) -> None:
    """Raise `Invalid` where a phase has this short name, deleted or not."""
    query = select(Phase).where(Phase.competition_id == competition.id, Phase.slug == key)
    phase = session.scalars(query).one_or_none()
    if phase is not None and phase.deleted_at is not None:
        words = "A deleted phase has this short name: restore it, or take another one."
        raise Invalid(words, field="key")
    if phase is not None:
        raise Invalid(f"There is a phase “{key}” already.", field="key")


def add_phase(session: Session, competition: Competition, spec: PhaseSpec, actor_id: str) -> Phase:
    """A new phase with its first version."""
    _require_free(session, competition, spec.key)
    phase = Phase(
        competition_id=competition.id,
        position=len(list_phases(session, competition)),
        **phase_values(spec, spec.timezone or "UTC"),
    )
    phase.versions.append(
        PhaseVersion(
            number=1, live_at=now(), created_by=actor_id, **version_values(spec, find_pools(session, spec))
        )
    )
    session.add(phase)
    session.flush()
    link_phase(session, phase, spec)
    hold_pools(session, phase)
    require_nothing_hidden_shown(session, phase, live_version(session, phase), None)
    require_no_leak(session, phase, live_version(session, phase))
    _record(session, phase, actor_id, "phase.add", after={"key": spec.key})
    return phase


def change_phase(
    session: Session, phase: Phase, spec: PhaseSpec, actor_id: str, *, newest_pools: bool = False
) -> None:
    """Bring a phase in line with a description; its pools keep their versions, unless it takes the `newest_pools`.

    Raises:
        Incomparable: something that decides what a score is would change while there are submissions, or its key after
            the commitment is published.
        Conflict: its key is published, and it would not be closed.
    """
    old = describe_phase(session, phase, "")
    spec = keep_secrets(spec.model_copy(update={"timezone": spec.timezone or "UTC"}), old)
    version, pools_before = live_version(session, phase), _pools_of(session, phase)
    pools = find_pools(session, spec, () if newest_pools else (version.meta_train, version.meta_test))
    values = version_values(spec, pools)
    wanted = PhaseVersion(**values)
    moved = pools_moved(version, wanted)
    changed = list(dict.fromkeys([*scoring_changes(old, spec), *moved]))
    if changed and count_submissions(session, phase):
        raise Incomparable(
            (
                "This phase has submissions, and other values of these settings would make their "
                f"scores incomparable: {labels_of(changed)}. Create a new version instead: it scores "
                "the submissions again and shows both before it counts."
            ),
            fields=changed,
        )
    if changed:
        _require_same_key(session, phase, version, wanted)
    evaluations_before = phase.evaluations
    for name, value in phase_values(spec, spec.timezone or "UTC").items():
        setattr(phase, name, value)
    _require_closed_for_good(phase)
    if changed:
        for name, value in values.items():
            setattr(version, name, value)
        session.flush()
        session.expire(version, ["meta_train", "meta_test"])
    smoke_before, source_before = phase.smoke_pool_version_id, phase.gate_phase_id
    link_phase(session, phase, spec, newest_pools=newest_pools)
    evaluated = hold_pools(session, phase, newest=newest_pools) or phase.evaluations != evaluations_before
    require_nothing_hidden_shown(session, phase, version, smoke_before)
    if changed or evaluated:
        require_no_leak(session, phase, version)
    if evaluated:
        cancel_dropped(session, version, by=actor_id)
        queue_missing(session, version)
    if Effect.BOARD in effects(old, spec):
        rebuild_boards(session, version)
    count_late(session, phase, phase.ends_at)
    if phase.gate_phase_id != source_before:
        follow_gates(session, source_before, phase.gate_phase_id)
    pools_after = _pools_of(session, phase)
    before = {**_not_in(pools_before, pools_after), **difference(old, spec)}
    after = {**_not_in(pools_after, pools_before), **difference(spec, old)}
    after |= new_secrets(spec, old) if changed else {}
    if before or after:
        _record(session, phase, actor_id, "phase.change", before=before, after=after)


def _require_same_key(session: Session, phase: Phase, version: PhaseVersion, wanted: PhaseVersion) -> None:
    """Raise `Incomparable` where the commitment that everybody has seen would be another one."""
    if commitment_of(wanted) == commitment_of(version):
        return
    for why in why_key_stays(session, phase):
        raise Incomparable(why, field="tasks.key", fields=["tasks.key"])


def _require_closed_for_good(phase: Phase) -> None:
    """Raise `Conflict` where everybody can draw the tasks of a phase that is not closed."""
    status = status_of(phase)
    if phase.key_published_at is not None and status != PhaseStatus.CLOSED:
        raise Conflict(KEY_IS_PUBLIC, field="start" if status == PhaseStatus.UPCOMING else "end")


def _pools_of(session: Session, phase: Phase) -> dict[str, str]:
    """The pools of a phase with their versions, by setting."""
    live = live_version(session, phase)
    ids = (live.meta_train_pool_version_id, live.meta_test_pool_version_id, phase.smoke_pool_version_id)
    rows = [session.get(PoolVersion, one) if one else None for one in ids]
    found = {
        path: [row]
        for path, row in zip(("tasks.meta_train", "tasks.meta_test", "smoke.pool"), rows, strict=True)
        if row is not None
    }
    if phase.evaluation_pools:
        found["tasks.evaluations"] = phase.evaluation_pools
    return {
        path: "; ".join(sorted(f"{row.pool.slug}, version {row.number}" for row in versions))
        for path, versions in found.items()
    }


def _not_in(pools: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    return {path: words for path, words in pools.items() if others.get(path) != words}


def link_phase(session: Session, phase: Phase, spec: PhaseSpec, *, newest_pools: bool = False) -> None:
    """Set what refers to other rows: the phase that entries come from, the smoke test's pool."""
    source = None
    if spec.entries is not None:
        others = select(Phase).where(
            Phase.competition_id == phase.competition_id, Phase.slug == spec.entries.phase
        )
        source = session.scalars(others).one_or_none()
        if source is None or source.id == phase.id:
            raise Invalid("Entries must come from another phase of this competition.", field="entries")
    phase.gate_phase_id = source.id if source else None
    _require_no_circle(session, phase)
    kept = phase.smoke_pool_version_id if not newest_pools else None
    held = session.get(PoolVersion, kept) if kept else None
    smoke = find_pools(session, spec, (held,)).get(spec.smoke.pool or "")
    phase.smoke_pool_version_id = smoke.id if smoke else None


def _require_no_circle(session: Session, phase: Phase) -> None:
    """Raise `Invalid` where phases take their entries from each other."""
    session.flush()
    rows = session.scalars(select(Phase).where(Phase.competition_id == phase.competition_id)).all()
    keys = {row.id: row.slug for row in rows}
    feeds = {row.slug: keys[row.gate_phase_id] for row in rows if row.gate_phase_id in keys}
    for key, words in judge_circles(feeds):
        if key == phase.slug:
            raise Invalid(words, field="entries.phase")


def find_pools(
    session: Session, spec: PhaseSpec, held: Iterable[PoolVersion | None] = ()
) -> dict[str, PoolVersion]:
    """The versions of the pools that a phase names: those `held` already, else the newest.

    Raises `Invalid` for names that are none.
    """
    names = {name for name in (spec.tasks.meta_train, spec.tasks.meta_test, spec.smoke.pool) if name}
    found = {version.pool.slug: version for version in held if version is not None}
    for name in names - found.keys():
        version = newest_version(session, name)
        if version is None:
            raise Invalid(f"There is no pool “{name}”.", field="tasks")
        found[name] = version
    return found


def _record(session: Session, phase: Phase, actor_id: str, action: str, **details: Any) -> None:
    session.flush()
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="phase",
        object_id=phase.id,
        competition_id=phase.competition_id,
        **details,
    )
