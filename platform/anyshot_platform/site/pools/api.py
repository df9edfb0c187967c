"""Pools over JSON: list, make, change, publish. Packs come in one at a time, in one body or in parts."""

import tempfile
from datetime import datetime
from pathlib import Path as FilePath
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import NO_OPTIONS, Act, ActRequest, Opts
from anyshot_platform.actions.service import ActOutcome, carry_out
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.actions import acts, organizing, version_acts
from anyshot_platform.contest.pools.actions.overlaps import compare_pool
from anyshot_platform.contest.pools.actions.uses import owner_of
from anyshot_platform.contest.pools.models import Pack, Pool, PoolVersion
from anyshot_platform.contest.pools.service import add_pack, create_pool
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions import uploads
from anyshot_platform.judging.submissions.states import UploadPurpose
from anyshot_platform.judging.visibility.access import find_access, find_competition, require_role
from anyshot_platform.judging.visibility.pools import find_packs
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.shell.act_frame import ActAnswer, ConsentIn, answer, answer_model
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.submissions.schemas import UploadIn, UploadOut, show_upload_of
from anyshot_platform.site.web.access import may_organize, signed_in_as
from anyshot_platform.site.web.bodies import BODY_OF_BYTES
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/pools", tags=["organizing: pools"])
Owner = Annotated[Viewer, Depends(signed_in_as(Scope.ORGANIZE))]
Looker = Annotated[Viewer, Depends(signed_in_as(Scope.READ))]  # at what is public, or their own
PoolParam = Annotated[str, Path(max_length=64)]
DatasetParam = Annotated[str, Path(max_length=200)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class PackOut(BaseModel):
    """A dataset as one file."""

    name: str
    domain: str
    digest: str
    size: int
    images: int
    classes: int


class PoolVersionOut(BaseModel):
    """One state of a pool; phases refer to it, so it never changes."""

    number: int
    digest: str
    note: str
    created_at: datetime
    packs: list[PackOut]


class PoolOut(BaseModel):
    """A pool; a public one can be downloaded by participants."""

    slug: str
    name: str
    description: str
    combines: list[str]
    competition: str | None = Field(description="short name of the competition that it belongs to")
    published_at: datetime | None
    publish_when_over: bool
    deleted: bool


class PoolDetail(PoolOut):
    """A pool with its versions, newest first."""

    versions: list[PoolVersionOut]


class SharedOut(BaseModel):
    """Images of a dataset that another has too, or that look like one of it."""

    dataset: str
    other: str
    pool: str = Field(description="short name of a pool that holds the other")
    equal: int = Field(
        description="images of the dataset whose pixels are the same as those of one of the other"
    )
    near: int = Field(
        description="images of the dataset that are not equal to one of the other, but look like one"
    )
    examples: list[str]
    words: str


class RepeatedOut(BaseModel):
    """Images that one dataset has twice, or that look like an earlier one of it: a warning."""

    dataset: str
    equal: int
    near: int
    relabelled: int = Field(description="pairs of these that have two classes")
    examples: list[str]
    words: str


class ComparisonOut(BaseModel):
    """The images of a pool's newest version, compared with those that must not be the same."""

    compared: int = Field(description="datasets outside of the pool that it was compared with")
    waiting: list[str] = Field(description="datasets whose images have no fingerprints yet")
    shared: list[SharedOut]
    repeated: list[RepeatedOut]


class PoolIn(BaseModel):
    """A new pool, without packs."""

    model_config = ConfigDict(extra="forbid")

    slug: str = Field(max_length=64)
    name: str = Field(default="", max_length=200)
    description: str = Field(default="", max_length=20_000)
    competition: str | None = Field(
        default=None, max_length=64, description="to whose organizers it belongs, instead of its maker alone"
    )


class PoolVersionIn(BaseModel):
    """Packs by digest, uploaded before, in their order."""

    model_config = ConfigDict(extra="forbid")

    packs: list[Digest] = Field(min_length=1, max_length=1000)
    note: str = Field(default="", max_length=2000)


class DatasetIn(BaseModel):
    """A pack by digest, uploaded before, in the place of the dataset of its name."""

    model_config = ConfigDict(extra="forbid")

    pack: Digest
    note: str = Field(default="", max_length=2000)


class GiveIn(ConsentIn):
    """The competition that a pool shall belong to."""

    competition: str = Field(max_length=64)


class PublishIn(ConsentIn):
    """Whether participants may download the pool, now or by the clock when all that use it is over.

    Publishing asks for the pool's short name in `confirm`; 409 `confirm` shows what would happen.
    """

    published: bool
    when_over: bool | None = Field(default=None, description="left out: as it is")


@router.get("")
def list_pools(session: SessionDep, viewer: Looker) -> list[PoolOut]:
    """The viewer's pools and the public ones."""
    return [show(session, pool, viewer) for pool in organizing.list_pools(session, viewer)]


@router.post("", status_code=201)
def add_pool(
    session: SessionDep, viewer: Annotated[Viewer, Depends(may_organize)], body: PoolIn
) -> PoolDetail:
    """Create a pool."""
    pool = create_pool(
        session,
        slug=body.slug,
        name=body.name or body.slug,
        owner_id=viewer.id,
        description=body.description,
        competition_id=_own_competition(session, viewer, body.competition).id if body.competition else None,
    )
    return _show_detail(session, pool, viewer)


def _own_competition(session: Session, viewer: Viewer, slug: str) -> Competition:
    access = find_access(session, viewer, find_competition(session, slug))
    require_role(access, Role.ORGANIZER)
    return access.competition


@router.get("/{pool_slug}")
def show_pool(session: SessionDep, viewer: Looker, pool_slug: PoolParam) -> PoolDetail:
    """A pool that is the viewer's own or public."""
    return _show_detail(session, organizing.find_pool(session, viewer, pool_slug), viewer)


@router.put(
    "/{pool_slug}/packs",
    status_code=201,
    openapi_extra=BODY_OF_BYTES,
)
async def upload_pack(
    request: Request, services: ServicesDep, viewer: Owner, pool_slug: PoolParam
) -> PackOut:
    """Upload a `.anyshot-pack`; it is checked and kept, and belongs to no version yet."""
    await to_thread.run_sync(_require_own, services, viewer, pool_slug)
    with tempfile.TemporaryDirectory() as folder:
        path = FilePath(folder) / "upload.anyshot-pack"
        with path.open("wb") as sink:
            async for chunk in request.stream():
                sink.write(chunk)
        return _show_pack(await to_thread.run_sync(add_pack, services, path, viewer.id))


@router.post("/{pool_slug}/uploads", status_code=201)
def begin_upload(services: ServicesDep, viewer: Owner, pool_slug: PoolParam, body: UploadIn) -> UploadOut:
    """Start the upload of a pack in parts, or go on with one of the same digest that was broken off.

    The parts are sent like those of a submission, to `PUT /api/v1/uploads/{upload_id}`.
    """
    with services.database.writing() as session:
        organizing.find_pool(session, viewer, pool_slug, to_change=True)
        upload = uploads.begin_or_resume(
            services,
            session,
            viewer.id,
            filename=body.filename,
            size=body.size,
            digest=body.digest,
            purpose=UploadPurpose.PACK,
        )
        return show_upload_of(services, upload)


@router.post("/{pool_slug}/uploads/{upload_id}/pack", status_code=201)
def finish_upload(
    services: ServicesDep,
    viewer: Owner,
    pool_slug: PoolParam,
    upload_id: Annotated[str, Path(max_length=32)],
) -> PackOut:
    """Check a complete upload and keep it; the pack belongs to no version yet."""
    _require_own(services, viewer, pool_slug)
    with uploads.sealed_upload(services, viewer.id, upload_id, UploadPurpose.PACK) as (_, path, _digest):
        pack = add_pack(services, path, viewer.id)
    with services.database.writing() as session:
        uploads.use_up(session, upload_id)
    uploads.drop_upload(services, upload_id)
    return _show_pack(pack)


@router.put("/{pool_slug}/datasets/{name}", response_model=answer_model(PoolDetail))
def put_dataset(
    session: SessionDep, viewer: Owner, pool_slug: PoolParam, name: DatasetParam, body: DatasetIn
) -> ActAnswer:
    """Create a version in which the pack takes the place of the dataset of its name; all others stay."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    (pack,) = find_packs(session, viewer, [body.pack])
    if pack.name != name:
        raise Invalid(f"This pack holds {pack.name}, not {name}.", field="pack")
    return _make(
        session,
        viewer,
        pool,
        version_acts.VERSION,
        version_acts.Packs(packs=[body.pack], keep=True, note=body.note),
    )


def _make(session: Session, viewer: Viewer, pool: Pool, act: Act[Pool, Opts], options: Opts) -> ActAnswer:
    """Create a version of a pool as the act does."""
    outcome = carry_out(session, act, pool, ActRequest(viewer.id, options=options, viewer=viewer))
    session.flush()
    return answer(PoolDetail, _show_detail(session, pool, viewer), outcome)


@router.delete("/{pool_slug}/datasets/{name}", response_model=answer_model(PoolDetail))
def remove_dataset(session: SessionDep, viewer: Owner, pool_slug: PoolParam, name: DatasetParam) -> ActAnswer:
    """Create a version without a dataset; phases keep the version that they use."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    if name not in {row.name for row in organizing.newest_packs(session, pool)}:
        raise NotFound(f"The newest version of {pool_slug} holds no dataset {name}.")
    return _make(session, viewer, pool, version_acts.REMOVE_DATASET, version_acts.DatasetChoice(dataset=name))


@router.put("/{pool_slug}/competition", response_model=answer_model(PoolOut))
def give_pool(session: SessionDep, viewer: Owner, pool_slug: PoolParam, body: GiveIn) -> ActAnswer:
    """Give a pool to a competition that the viewer organizes: from then on it belongs to its organizers."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    asked = ActRequest(viewer.id, body.reason, acts.Receiver(competition=body.competition), viewer)
    outcome = carry_out(session, acts.GIVE, pool, asked, body.consent())
    return answer(PoolOut, show(session, pool, viewer), outcome)


def _require_own(services: Services, viewer: Viewer, pool_slug: str) -> None:
    with services.database.reading() as session:
        organizing.find_pool(session, viewer, pool_slug, to_change=True)


@router.post("/{pool_slug}/versions", status_code=201, response_model=answer_model(PoolDetail))
def put_packs(session: SessionDep, viewer: Owner, pool_slug: PoolParam, body: PoolVersionIn) -> ActAnswer:
    """Create a version of packs that the viewer uploaded before, or finds in a pool of their own or a public one.

    422 `unknown_packs` for all others, whether or not they are on this site: a digest is no right to a dataset.
    """
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    return _make(
        session, viewer, pool, version_acts.VERSION, version_acts.Packs(packs=body.packs, note=body.note)
    )


@router.post("/{pool_slug}/combine", status_code=201, response_model=answer_model(PoolDetail))
def combine(session: SessionDep, viewer: Owner, pool_slug: PoolParam) -> ActAnswer:
    """Create a version of the packs of the pools that this one combines."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    return _make(session, viewer, pool, version_acts.COMBINE, NO_OPTIONS)


@router.put("/{pool_slug}/publication", response_model=answer_model(PoolOut))
def publish(session: SessionDep, viewer: Owner, pool_slug: PoolParam, body: PublishIn) -> ActAnswer:
    """Let participants download a pool, now or when it is over, or take that back."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    wanted = list[Act[Pool]]()
    if body.published != (pool.published_at is not None):
        wanted.append(acts.PUBLISH if body.published else acts.HIDE)
    if body.when_over is not None and body.when_over != pool.publish_when_over:
        wanted.append(acts.PUBLISH_LATER if body.when_over else acts.KEEP_HIDDEN)
    asked = ActRequest(viewer.id, body.reason)
    outcomes = [carry_out(session, act, pool, asked, body.consent()) for act in wanted]
    return answer(PoolOut, show(session, pool, viewer), *outcomes)


@router.get("/{pool_slug}/overlaps")
def show_overlaps(session: SessionDep, viewer: Owner, pool_slug: PoolParam) -> ComparisonOut:
    """Which images of a pool are in another dataset too: of it, of a public pool, or of what its competitions use."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    versions = organizing.list_versions(session, pool)
    if not versions:
        return ComparisonOut(compared=0, waiting=[], shared=[], repeated=[])
    found = compare_pool(session, pool, versions[0], viewer)
    return ComparisonOut.model_validate(found, from_attributes=True)


def _find_own(session: Session, viewer: Viewer, pool_slug: PoolParam) -> Pool:
    return organizing.find_pool(session, viewer, pool_slug, to_change=True)


def _after(session: Session, viewer: Viewer, pool: Pool, outcome: ActOutcome) -> PoolOut:
    return show(session, pool, viewer)


add_acts(
    router,
    acts.ACTS | version_acts.ACTS,
    _find_own,
    _after,
    at="/{pool_slug}",
    door=signed_in_as(Scope.ORGANIZE),
)


def show(session: Session, pool: Pool, viewer: Viewer) -> PoolOut:
    """A pool, as the viewer sees it."""
    owner = owner_of(session, pool, viewer)
    return PoolOut(
        slug=pool.slug,
        name=pool.name,
        description=pool.description,
        combines=pool.combines,
        competition=owner.slug if owner else None,
        published_at=pool.published_at,
        publish_when_over=pool.publish_when_over,
        deleted=pool.deleted_at is not None,
    )


def _show_detail(session: Session, pool: Pool, viewer: Viewer) -> PoolDetail:
    versions = organizing.list_versions(session, pool)
    return PoolDetail(
        **show(session, pool, viewer).model_dump(), versions=[_show_version(row) for row in versions]
    )


def _show_version(version: PoolVersion) -> PoolVersionOut:
    return PoolVersionOut(
        number=version.number,
        digest=version.digest,
        note=version.note,
        created_at=version.created_at,
        packs=[_show_pack(entry.pack) for entry in version.entries],
    )


def _show_pack(pack: Pack) -> PackOut:
    return PackOut(
        name=pack.name,
        domain=pack.domain,
        digest=pack.digest,
        size=pack.size,
        images=pack.images,
        classes=pack.classes,
    )
