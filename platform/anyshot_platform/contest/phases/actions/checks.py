"""What a description of a phase must fulfil beyond its form, on the pages and over JSON alike."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from anyshot_core.evaluations import read_evaluations
from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.bundles.consistency import judge_phase, place_phase
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.models import Pool
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.visibility.pools import readable
from anyshot_platform.people.users.viewer import Viewer


def open_protocol(protocol: dict[str, Any]) -> dict[str, Any]:
    """A protocol without its secret seeds; left out when it is saved, the secrets stay."""
    return {key: value for key, value in protocol.items() if key not in SEEDS}


def usable_pools(session: Session, viewer: Viewer, spec: PhaseSpec | None) -> list[tuple[str, str]]:
    """Short names and titles of the pools that this organizer may assign, and of those that `spec` has assigned."""
    used = {spec.tasks.meta_train, spec.tasks.meta_test, spec.smoke.pool} if spec else set()
    used |= set(evaluated_pools(spec)) if spec else set()
    wanted = or_(readable(viewer), Pool.slug.in_([slug for slug in used if slug]))
    pools = session.scalars(select(Pool).where(Pool.deleted_at.is_(None), wanted).order_by(Pool.slug))
    return [(pool.slug, pool.name) for pool in pools]


def foreign_pools(
    session: Session, viewer: Viewer, spec: PhaseSpec | None, old: PhaseSpec | None
) -> dict[str, str]:
    """By field, pools of other people, whose hidden data a name alone must not open."""
    if spec is None:
        return {}
    allowed = {slug for slug, _ in usable_pools(session, viewer, old)}
    named = {
        "tasks.meta_train": spec.tasks.meta_train,
        "tasks.meta_test": spec.tasks.meta_test,
        "smoke.pool": spec.smoke.pool,
    }
    wanted = [*named.items(), *(("tasks.evaluations", pool) for pool in evaluated_pools(spec))]
    return {field: words_on_pool(pool) for field, pool in wanted if pool and pool not in allowed}


def words_on_pool(slug: str) -> str:
    """Why this pool cannot be named: whether it exists is not told."""
    return f"There is no pool {slug} that you may use."


def evaluated_pools(spec: PhaseSpec) -> list[str]:
    """Short names of the pools that further evaluations of a phase name."""
    return [one.pool for one in read_evaluations(spec.tasks.evaluations) if one.pool]


def require_sound(
    session: Session,
    viewer: Viewer,
    spec: PhaseSpec,
    phase: Phase | None = None,
    old: PhaseSpec | None = None,
) -> PhaseSpec:
    """The description with its moments in UTC.

    Raises:
        Invalid: with all that is wrong, by field, in `problems`.
    """
    problems = foreign_pools(session, viewer, spec, old) | dict(problems_of(spec, phase))
    if problems:
        field, first = next(iter(problems.items()))
        listed = [{"where": where, "problem": problem} for where, problem in problems.items()]
        raise Invalid(join_texts((field, first), by=": "), field=field, problems=listed)
    return place_phase(spec, "UTC")


def problems_of(spec: PhaseSpec, phase: Phase | None = None) -> Iterator[tuple[str, str]]:
    """What is wrong with a description by itself, by field."""
    if phase is not None and spec.key != phase.slug:
        yield "key", f"A phase keeps its short name, which is {phase.slug}."
    yield from ((found.field, found.words) for found in judge_phase(spec) if found.error)
