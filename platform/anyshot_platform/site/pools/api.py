"""Pools over JSON: list, make, change, publish. Packs come in one at a time, in one body or in parts."""

import tempfile
from datetime import datetime
from pathlib import Path as FilePath
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.actions import acts, organizing, version_acts
from anyshot_platform.contest.pools.actions.overlaps import PoolOverlaps, compare_pool
from anyshot_platform.contest.pools.actions.uses import owner_of
from anyshot_platform.contest.pools.models import Pool, PoolVersion
from anyshot_platform.contest.pools.service import add_pack, create_pool
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions import uploads
from anyshot_platform.judging.submissions.states import UploadPurpose
from anyshot_platform.judging.visibility.access import find_access, find_competition, require_role
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.submissions.schemas import UploadIn, UploadOut, show_upload_of
from anyshot_platform.site.web.access import may_organize, signed_in_as
from anyshot_platform.site.web.bodies import BODY_OF_BYTES
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/pools", tags=["organizing: pools"])
Owner = Annotated[Viewer, Depends(signed_in_as(Scope.ORGANIZE))]
Looker = Annotated[Viewer, Depends(signed_in_as(Scope.READ))]  # at what is public, or their own
PoolParam = Annotated[str, Path(max_length=64)]


class PackOut(BaseModel):
    """A dataset as one file."""

    model_config = ConfigDict(from_attributes=True)

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


class PoolIn(BaseModel):
    """A new pool, without packs."""

    model_config = ConfigDict(extra="forbid")

    slug: str = Field(max_length=64)
    name: str = Field(default="", max_length=200)
    description: str = Field(default="", max_length=20_000)
    competition: str | None = Field(
        default=None, max_length=64, description="to whose organizers it belongs, instead of its maker alone"
    )


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
    return show_detail(session, pool, viewer)


def _own_competition(session: Session, viewer: Viewer, slug: str) -> Competition:
    access = find_access(session, viewer, find_competition(session, slug))
    require_role(access, Role.ORGANIZER)
    return access.competition


@router.get("/{pool_slug}")
def show_pool(session: SessionDep, viewer: Looker, pool_slug: PoolParam) -> PoolDetail:
    """A pool that is the viewer's own or public."""
    return show_detail(session, organizing.find_pool(session, viewer, pool_slug), viewer)


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
        return PackOut.model_validate(await to_thread.run_sync(add_pack, services, path, viewer.id))


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
    return PackOut.model_validate(pack)


def _require_own(services: Services, viewer: Viewer, pool_slug: str) -> None:
    with services.database.reading() as session:
        organizing.find_pool(session, viewer, pool_slug, to_change=True)


@router.get("/{pool_slug}/overlaps")
def show_overlaps(session: SessionDep, viewer: Owner, pool_slug: PoolParam) -> PoolOverlaps:
    """Which images of a pool are in another dataset too: of it, of a public pool, or of what its competitions use."""
    pool = organizing.find_pool(session, viewer, pool_slug, to_change=True)
    versions = organizing.list_versions(session, pool)
    if not versions:
        return PoolOverlaps(0, (), (), ())
    return compare_pool(session, pool, versions[0], viewer)


def _find_own(session: Session, viewer: Viewer, pool_slug: PoolParam) -> Pool:
    return organizing.find_pool(session, viewer, pool_slug, to_change=True)


def _after(session: Session, viewer: Viewer, pool: Pool, outcome: ActOutcome) -> PoolOut:
    return show(session, pool, viewer)


def _after_version(session: Session, viewer: Viewer, pool: Pool, outcome: ActOutcome) -> PoolDetail:
    return show_detail(session, pool, viewer)


for made, after in ((acts.ACTS, _after), (version_acts.ACTS, _after_version)):
    add_acts(router, made, _find_own, after, at="/{pool_slug}", door=signed_in_as(Scope.ORGANIZE))


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


def show_detail(session: Session, pool: Pool, viewer: Viewer) -> PoolDetail:
    """The same with its versions, newest first."""
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
        packs=[PackOut.model_validate(entry.pack) for entry in version.entries],
    )
