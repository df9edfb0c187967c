"""Acts that create a version of a pool: of chosen packs, without a dataset, of the packs of other pools."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import (
    Act,
    ActDone,
    ActOptions,
    ActRequest,
    Danger,
    Findings,
    by_name,
)
from anyshot_platform.contest.pools.actions import organizing
from anyshot_platform.contest.pools.actions.acts import DELETED, pool_target
from anyshot_platform.contest.pools.actions.uses import LIVE, uses_of
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.foundation.errors import Conflict, NotFound
from anyshot_platform.foundation.filters import count, join_texts
from anyshot_platform.judging.visibility.pools import find_packs
from anyshot_platform.people.users.viewer import Viewer

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_UNDO = "Create a version of the earlier packs; earlier versions stay as they are."


class Packs(ActOptions):
    """`packs` are digests of packs that were uploaded before, in their order."""

    packs: list[Digest] = Field(min_length=1, max_length=1000)
    keep: bool = Field(
        default=False, description="keep the other datasets; one of the same name gives way to the new pack"
    )
    note: str = Field(default="", max_length=2000)


class DatasetChoice(ActOptions):
    """`dataset` is the name of one that the newest version holds."""

    dataset: str = Field(max_length=200)


def _chosen(session: Session, pool: Pool, request: ActRequest[Packs]) -> list[Pack]:
    """The packs that the version shall hold; raises `UnknownPacks` for those that are not the viewer's to use."""
    wanted = request.options
    rows = find_packs(session, request.viewer, wanted.packs)
    return organizing.merged(organizing.newest_packs(session, pool), rows) if wanted.keep else rows


def _look_version(session: Session, pool: Pool, request: ActRequest[Packs]) -> Findings:
    return _look(session, pool, _chosen(session, pool, request), request.viewer)


def _look(session: Session, pool: Pool, rows: Sequence[Pack], viewer: Viewer) -> Findings:
    """What a version of these packs would change."""
    before = {row.name: row.id for row in organizing.newest_packs(session, pool)}
    if pool.deleted_at is not None:
        return Findings(refused=[DELETED])
    if list(before.values()) == [row.id for row in rows] and rows:
        names = ", ".join(before)
        return Findings(done=f"The newest version of {pool.slug} holds exactly this already: {names}.")
    return Findings(
        refused=organizing.why_not_put(session, pool, rows),
        does=[
            (
                f"A version of {count(len(rows), 'dataset')} is created: "
                f"{_difference(before, rows) or 'in another order'}."
            ),
            "Phases keep the version that they use until their settings name another.",
        ],
        warnings=_staying(session, pool, viewer),
    )


def _staying(session: Session, pool: Pool, viewer: Viewer) -> list[str]:
    """The phases that do not get the new version, each with the one that it keeps."""
    waiting = organizing.waiting_version(session, pool)
    return [
        f"“{phase}” of “{title}” stays on version {number} until its settings name the new one."
        for title, phase, number in uses_of(session, pool, viewer, LIVE)
        if waiting is None or number != waiting.number
    ]


def _difference(before: dict[str, str], rows: Sequence[Pack]) -> str:
    """What is new, replaced and gone, as the note of a version says it."""
    gone = [name for name in before if name not in {row.name for row in rows}]
    said = [
        f"{row.name} replaced" if row.name in before else f"{row.name} added"
        for row in rows
        if before.get(row.name) != row.id
    ]
    return join_texts([*said, *(f"{name} removed" for name in gone)], ", ")


def _make(session: Session, pool: Pool, rows: Sequence[Pack], note: str, request: ActRequest) -> ActDone:
    before = {row.name: row.id for row in organizing.newest_packs(session, pool)}
    made = organizing.put_packs(
        session, pool, rows, note or _difference(before, rows)[:2000], request.actor_id
    )
    return ActDone(
        f"Version {made.number} holds {count(len(made.entries), 'dataset')}.",
        before={"packs": list(before)},
        after={"slug": pool.slug, "version": made.number, "packs": [row.name for row in rows]},
        result=made,
    )


def _version(session: Session, pool: Pool, request: ActRequest[Packs]) -> ActDone:
    return _make(session, pool, _chosen(session, pool, request), request.options.note, request)


def _without(session: Session, pool: Pool, request: ActRequest[DatasetChoice]) -> list[Pack]:
    return [row for row in organizing.newest_packs(session, pool) if row.name != request.options.dataset]


def _look_remove(session: Session, pool: Pool, request: ActRequest[DatasetChoice]) -> Findings:
    left, name = _without(session, pool, request), request.options.dataset
    if len(left) == len(organizing.newest_packs(session, pool)):
        return Findings(done=f"The newest version of {pool.slug} holds no dataset {name}.")
    return _look(session, pool, left, request.viewer)


def _remove(session: Session, pool: Pool, request: ActRequest[DatasetChoice]) -> ActDone:
    return _make(session, pool, _without(session, pool, request), "", request)


def _look_combine(session: Session, pool: Pool, request: ActRequest) -> Findings:
    if not pool.combines:
        return Findings(refused=["This pool combines no others."])
    try:
        rows = organizing.combined_packs(session, pool, request.viewer)
        return _look(session, pool, rows, request.viewer)
    except (Conflict, NotFound) as error:
        return Findings(refused=[error.message])


def _combine(session: Session, pool: Pool, request: ActRequest) -> ActDone:
    rows = organizing.combined_packs(session, pool, request.viewer)
    return _make(session, pool, rows, f"combines {', '.join(pool.combines)}", request)


VERSION = Act(
    key="pool.version",
    title="Create a version of the pool {}",
    target=pool_target,
    look=_look_version,
    do=_version,
    undo=_UNDO,
    options=Packs,
    danger=Danger.NONE,
)
REMOVE_DATASET = Act(
    key="pool.remove_dataset",
    title="Take a dataset out of the pool {}",
    target=pool_target,
    look=_look_remove,
    do=_remove,
    undo=_UNDO,
    options=DatasetChoice,
    danger=Danger.NONE,
)
COMBINE = Act(
    key="pool.combine",
    title="Take the packs of the pools that {} combines",
    target=pool_target,
    look=_look_combine,
    do=_combine,
    undo=_UNDO,
    danger=Danger.NONE,
)
ACTS = by_name(VERSION, REMOVE_DATASET, COMBINE)
