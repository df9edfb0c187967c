"""Acts on pools: publishing one, now or by the clock, hiding it again, giving it away, deleting it."""

from collections.abc import Sequence

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

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
from anyshot_platform.actions.service import carry_out_by_clock
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.pools.actions.overlaps import all_packs, phases_that_show
from anyshot_platform.contest.pools.actions.uses import (
    competitions_using,
    first_use,
    is_over,
    phases_holding,
    phases_testing_on,
    phases_trying,
)
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import count
from anyshot_platform.judging.visibility.access import find_access, find_competition, listed_for, require_role
from anyshot_platform.people.users.viewer import Viewer

DELETED = "The pool is deleted: restore it first."
_NOT_TESTED_ON = "No phase trains or tests on it yet: until one has, and is over, it stays hidden."


def pool_target(session: Session, pool: Pool) -> Target:
    return Target("pool", pool.id, pool.slug, f"“{pool.name}”", competitions_using(session, pool))


def _is_hidden(pool: Pool) -> bool:
    return pool.deleted_at is None and pool.published_at is None


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
        return Findings(
            refused=["The pool has no packs yet: uploaded packs count once a version of it holds them."]
        )
    images = sum(entry.pack.images for entry in version.entries)
    return Findings(
        refused=[
            (
                f"{_named(session, phase, request.actor_id)} has not ended and tests on datasets of "
                "this pool: publishing it would give its labels away."
            )
            for phase in phases_testing_on(session, pool)
        ]
        + [
            f"“{phase.name}” has not ended and tests on the same images: {shared.words}"
            for phase, shared in phases_that_show(session, pool, all_packs(session, pool))
        ],
        does=[
            (
                f"Everybody with an account can download {count(len(version.entries), 'dataset')} with "
                f"{count(images, 'image')}, labels included."
            )
        ],
        warnings=["What somebody has downloaded cannot be called back."],
    )


def _publish(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.published_at = now()
    return ActDone("Participants can download it.", after={"pool": pool.slug, "public": True})


def _look_hide(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.published_at is None:
        return Findings(done="The pool is hidden already.")
    return Findings(
        does=[
            "Nobody but those who may change it can download it any more.",
            "It is not published by itself either, until you ask for that again.",
        ],
        warnings=["What somebody has downloaded cannot be called back."],
    )


def _hide(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.published_at, pool.publish_when_over = None, False
    return ActDone("It is hidden again.", after={"pool": pool.slug, "public": False})


def _look_publish_later(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.deleted_at is not None:
        return Findings(refused=[DELETED])
    if pool.published_at is not None:
        return Findings(done="The pool is public already.")
    if pool.publish_when_over:
        return Findings(done="It will be published by itself already.")
    phases = [_named(session, phase, request.actor_id) for phase in phases_holding(session, pool)]
    trying = [_named(session, phase, request.actor_id) for phase in phases_trying(session, pool)]
    return Findings(
        does=[
            (
                "As soon as every phase that uses it is closed, and its results are published where "
                "they have to be, everybody with an account can download the pool, labels included. "
                "Nobody is asked again."
            ),
            *(f"{name} uses it." for name in phases),
        ],
        warnings=[
            *([] if phases else [_NOT_TESTED_ON]),
            *(
                (
                    f"{name} has its smoke tests on this pool: there are none until it is public. The "
                    "clock does not wait for smoke tests."
                )
                for name in trying
            ),
        ],
    )


def _publish_later(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.publish_when_over = True
    return ActDone(
        "It will be published when every phase that uses it is over.",
        before={"when_over": False},
        after={"pool": pool.slug, "when_over": True},
    )


def _look_keep_hidden(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if pool.published_at is not None:
        return Findings(done="The pool is public already; hide it to keep it hidden.")
    if not pool.publish_when_over:
        return Findings(done="It stays hidden until somebody publishes it, as before.")
    return Findings(does=["It is not published by itself any more."])


def _keep_hidden(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    pool.publish_when_over = False
    return ActDone(
        "It stays hidden until you publish it.",
        before={"when_over": True},
        after={"pool": pool.slug, "when_over": False},
    )


def pools_to_publish(session: Session) -> Sequence[str]:
    """The ids of the pools whose owners want them published as soon as their phases are over."""
    waiting = Pool.publish_when_over, Pool.published_at.is_(None), Pool.deleted_at.is_(None)
    return session.scalars(select(Pool.id).where(*waiting)).all()


def publish_if_over(session: Session, pool_id: str) -> bool:
    """Publish the pool where its owner would be let, once its phases are over, and say whether that was done.

    Called by the sweeper. A phase is over when its time is, and its results are published where they have to be.
    """
    pool = session.get_one(Pool, pool_id)
    phases = phases_holding(session, pool)
    over = bool(phases) and all(is_over(phase) for phase in phases)
    return over and carry_out_by_clock(session, PUBLISH, pool, ActRequest(pool.owner_id))


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


class Receiver(ActOptions):
    """`competition` is the short name of one that you organize."""

    competition: str = Field(max_length=64)


def _receiver(session: Session, request: ActRequest[Receiver]) -> Competition:
    """The competition that gets the pool; raises `NotFound` or `Forbidden` where who asks does not organize it."""
    found = find_competition(session, request.options.competition)
    access = find_access(session, request.viewer, found)
    require_role(access, Role.ORGANIZER)
    return access.competition


def _look_give(session: Session, pool: Pool, request: ActRequest[Receiver]) -> Findings:
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
            (
                f"The organizers of “{receiver.title}” ({people}) can look into it, change, publish "
                "and delete it; nobody else can, not even who made it."
            )
        ]
    )


def _give(session: Session, pool: Pool, request: ActRequest[Receiver]) -> ActDone:
    receiver, before = _receiver(session, request), pool.competition_id
    pool.competition_id = receiver.id
    after = {"pool": pool.slug, "competition": receiver.slug}
    return ActDone(f"The pool belongs to “{receiver.title}”.", {"competition_id": before}, after)


PUBLISH: Act[Pool] = Act(
    key="pool.publish",
    title="Publish the pool {}",
    target=pool_target,
    look=_look_publish,
    do=_publish,
    undo="It can be hidden again, but what was downloaded until then stays with those who have it.",
    danger=Danger.NAME,
    button=Button("Publish for download", "globe", _is_hidden),
)
HIDE: Act[Pool] = Act(
    key="pool.unpublish",
    title="Hide the pool {}",
    target=pool_target,
    look=_look_hide,
    do=_hide,
    undo="Publish it again.",
    button=Button("Hide it again", "eye-off", lambda pool: not pool.deleted_at and bool(pool.published_at)),
    danger=Danger.PROOF,
)
PUBLISH_LATER: Act[Pool] = Act(
    key="pool.publish_when_over",
    title="Publish the pool {} when it is over",
    target=pool_target,
    look=_look_publish_later,
    do=_publish_later,
    undo="Until it is published you can say that it stays hidden.",
    danger=Danger.NAME,
    button=Button(
        "Publish when it is over", "clock", lambda pool: _is_hidden(pool) and not pool.publish_when_over
    ),
)
KEEP_HIDDEN: Act[Pool] = Act(
    key="pool.keep_hidden",
    title="Keep the pool {} hidden",
    target=pool_target,
    look=_look_keep_hidden,
    do=_keep_hidden,
    undo="Let it be published when it is over.",
    button=Button("Keep it hidden", "clock", lambda pool: _is_hidden(pool) and pool.publish_when_over),
    danger=Danger.NONE,
)
GIVE = Act(
    key="pool.give",
    title="Give away the pool {}",
    target=pool_target,
    look=_look_give,
    do=_give,
    undo="Its organizers can give it away again.",
    options=Receiver,
    danger=Danger.PROOF,
)
DELETE: Act[Pool] = Act(
    key="pool.delete",
    title="Delete the pool {}",
    target=pool_target,
    look=_look_delete,
    do=_delete,
    undo="Restore it.",
    button=Button("Delete", "trash-2", lambda pool: not pool.deleted_at, style="btn--danger"),
    danger=Danger.PROOF,
)
RESTORE: Act[Pool] = Act(
    key="pool.restore",
    title="Restore the pool {}",
    target=pool_target,
    look=_look_restore,
    do=_restore,
    undo="Delete it again.",
    button=Button("Restore", "undo-2", lambda pool: bool(pool.deleted_at)),
    danger=Danger.NONE,
)
ACTS = by_name(PUBLISH, PUBLISH_LATER, KEEP_HIDDEN, HIDE, GIVE, DELETE, RESTORE)
