"""Acts on pools: publishing one, hiding it again, deleting it."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.acts.declaration import Act, ActDone, ActRequest, Findings, Target, by_name
from anyshot_platform.competitions.models import Competition, Membership
from anyshot_platform.competitions.states import MemberStatus, Role
from anyshot_platform.database import now
from anyshot_platform.organizers.pools.overlaps import all_packs, phases_that_show
from anyshot_platform.organizers.pools.uses import competitions_using, first_use, phases_testing_on
from anyshot_platform.phases.models import Phase
from anyshot_platform.pools.models import Pool, PoolVersion
from anyshot_platform.sight.access import listed_for
from anyshot_platform.users.viewer import Viewer

DELETED = "The pool is deleted: restore it first."


def _target(session: Session, pool: Pool) -> Target:
    return Target("pool", pool.id, pool.slug, f"“{pool.name}”", competitions_using(session, pool))


def _newest(session: Session, pool: Pool) -> PoolVersion | None:
    query = select(PoolVersion).where(PoolVersion.pool_id == pool.id).order_by(PoolVersion.number.desc())
    return next((version for version in session.scalars(query) if version.entries), None)


def _named(session: Session, phase: Phase, actor_id: str) -> str:
    """A phase and its competition, where lists show that to the actor."""
    shown = (Competition.id == phase.competition_id, listed_for(Viewer(user_id=actor_id)))
    title = session.scalar(select(Competition.title).where(*shown))
    return f"“{phase.name}” of “{title}”" if title else "A phase of a competition that you do not see"


def _look_publish(session: Session, pool: Pool, request: ActRequest) -> Findings:
    version = _newest(session, pool)
    if pool.deleted_at is not None:
        return Findings(refused=[DELETED])
    if pool.published_at is not None:
        return Findings(done="The pool is public already.")
    if version is None:
        return Findings(refused=["The pool has no packs yet."])
    images = sum(entry.pack.images for entry in version.entries)
    return Findings(
        refused=[
            f"{_named(session, phase, request.actor_id)} has not ended and tests on datasets of this pool: "
            "publishing it would give its labels away."
            for phase in phases_testing_on(session, pool)
        ]
        + [
            f"“{phase.name}” has not ended and tests on the same images: {shared.words}"
            for phase, shared in phases_that_show(session, pool, all_packs(session, pool))
        ],
        does=[
            f"Everybody with an account can download {len(version.entries)} datasets with {images:,} images, "
            "labels included."
        ],
        warnings=["What somebody has downloaded cannot be called back."],
    )


def _publish(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.published_at = now()
    return ActDone("Participants can download it.", after={"pool": pool.slug, "public": True})


def _look_hide(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.published_at is None:
        return Findings(done="The pool is hidden already.")
    return Findings(does=["Nobody but those who may change it can download it any more."])


def _hide(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.published_at = None
    return ActDone("It is hidden again.", after={"pool": pool.slug, "public": False})


def _look_delete(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.deleted_at is not None:
        return Findings(done="The pool is deleted already.")
    phase = first_use(session, pool)
    return Findings(
        refused=[f"{_named(session, phase, request.actor_id)} uses this pool."] if phase else [],
        does=["No list shows it any more, and no phase can name it. Its datasets are kept."],
    )


def _delete(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.deleted_at = now()
    return ActDone("The pool is deleted; you can restore it.", after={"pool": pool.slug})


def _look_restore(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.deleted_at is None:
        return Findings(done="The pool is not deleted.")
    return Findings(does=["It is listed again and can be named in phases, with all its versions."])


def _restore(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.deleted_at = None
    return ActDone("The pool is back.", after={"slug": pool.slug})


def _receiver(session: Session, request: ActRequest) -> Competition:
    return session.get_one(Competition, request.options["competition_id"])


def _look_give(session: Session, pool: Pool, request: ActRequest) -> Findings:
    receiver = _receiver(session, request)
    if pool.deleted_at is not None:
        return Findings(refused=[DELETED])
    if pool.competition_id == receiver.id:
        return Findings(done=f"The pool belongs to “{receiver.title}” already.")
    people = session.scalar(
        select(func.count(Membership.id)).where(
            Membership.competition_id == receiver.id,
            Membership.status == MemberStatus.APPROVED,
            Membership.role.in_([Role.OWNER, Role.ORGANIZER]),
        )
    )
    return Findings(
        does=[
            f"The {people} organizers of “{receiver.title}” can look into it, change, publish and delete it; "
            "nobody else can, also not who made it."
        ]
    )


def _give(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    receiver, before = _receiver(session, request), pool.competition_id
    pool.competition_id = receiver.id
    after = {"pool": pool.slug, "competition": receiver.slug}
    return ActDone(f"The pool belongs to “{receiver.title}”.", {"competition_id": before}, after)


PUBLISH = Act(
    key="pool.publish",
    title="Publish the pool {}",
    target=_target,
    look=_look_publish,
    do=_publish,
    undo="It can be hidden again, but what was downloaded until then stays with those who have it.",
    dangerous=True,
)
HIDE = Act("pool.unpublish", "Hide the pool {}", _target, _look_hide, _hide, "Publish it again.")
GIVE = Act(
    "pool.give", "Give away the pool {}", _target, _look_give, _give, "Its organizers can give it away again."
)
DELETE = Act("pool.delete", "Delete the pool {}", _target, _look_delete, _delete, "Restore it.")
RESTORE = Act("pool.restore", "Restore the pool {}", _target, _look_restore, _restore, "Delete it again.")
ACTS = by_name(PUBLISH, HIDE, GIVE, DELETE, RESTORE)
