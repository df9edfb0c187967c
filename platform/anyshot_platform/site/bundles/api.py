"""Competitions are begun, imported and taken as bundles over JSON."""

from datetime import datetime
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import carry_out
from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.isolated_reading import read_sent_bundle
from anyshot_platform.contest.bundles.reading import BundleInvalid
from anyshot_platform.contest.bundles.ready import ReadyMade, ready_made
from anyshot_platform.contest.competitions.actions.acts import TAKE_SECRETS
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.schema.quantities import Moment
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.bundles.making import (
    ReadBundle,
    begin_draft,
    bundle_response,
    find_ready_made,
    take_bundle,
)
from anyshot_platform.site.shell.act_frame import ConsentIn
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsOwner
from anyshot_platform.site.web.access import may_organize
from anyshot_platform.site.web.bodies import BODY_OF_BYTES
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1", tags=["organizing: competitions"])
Beginner = Annotated[Viewer, Depends(may_organize)]
Slug = Annotated[str, Query(max_length=63, description="short name, instead of the bundle's")]
Start = Annotated[
    Moment | None, Query(description="moves all phases so that the first starts then; UTC without a zone")
]
_ZIP: dict[int | str, dict[str, Any]] = {200: {"content": {"application/zip": {}}, "description": "A zip."}}


class BeginIn(BaseModel):
    """An empty draft; without a short name it gets one from its title."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=200)
    slug: str = Field(default="", max_length=63)


class ReadyIn(BaseModel):
    """A competition that ships with Anyshot, as a draft; `start` moves all its phases, UTC without a zone."""

    model_config = ConfigDict(extra="forbid")

    slug: str = Field(default="", max_length=63)
    start: Moment | None = None


class BegunOut(BaseModel):
    """The short name of a new draft. What an import left to do is at `/competitions/{slug}/manage/import`."""

    slug: str


@router.post("/competitions", status_code=201)
def begin_competition(session: SessionDep, viewer: Beginner, body: BeginIn) -> BegunOut:
    """Create an empty competition: a draft of the viewer's."""
    return BegunOut(slug=begin_draft(session, viewer, body.title, body.slug).slug)


@router.get("/ready-made")
def list_ready_made(viewer: Beginner) -> list[ReadyMade]:
    """The competitions that ship with Anyshot."""
    return ready_made()


@router.post("/ready-made/{name}", status_code=201)
def begin_ready_made(services: ServicesDep, viewer: Beginner, name: str, body: ReadyIn) -> BegunOut:
    """Create a draft of a competition that ships with Anyshot."""
    return _take(services, viewer, lambda _: find_ready_made(name), body.slug, body.start)


@router.put(
    "/bundles",
    status_code=201,
    openapi_extra=BODY_OF_BYTES,
)
async def import_bundle_file(
    request: Request, services: ServicesDep, viewer: Beginner, slug: Slug = "", start: Start = None
) -> BegunOut:
    """Create a draft from a bundle: of Anyshot, Codabench or CodaLab, zipped.

    422 `invalid` where something is wrong with it; `problems` then has all of it, with file and line.
    """
    content = await request.body()

    def take() -> BegunOut:
        return _take(services, viewer, lambda folder: read_sent_bundle(content, folder), slug, start)

    return await to_thread.run_sync(take)


def _take(
    services: Services, viewer: Viewer, read: ReadBundle, slug: str, start: datetime | None
) -> BegunOut:
    try:
        return BegunOut(slug=take_bundle(services, viewer, read, slug, start))
    except BundleInvalid as error:
        problems = [
            {"where": f"{one.file}, line {one.line}: {one.path}", "problem": one.message}
            for one in error.problems
        ]
        raise Invalid(error.problems[0].words, problems=problems) from None
    except BundleUnreadable as error:
        raise Invalid(str(error)) from None


@router.get("/competitions/{slug}/manage/bundle", response_class=Response, responses=_ZIP)
def take_bundle_out(access: AsOrganizer, session: SessionDep, services: ServicesDep) -> Response:
    """The competition as a bundle that can be imported again, without the seeds of hidden tasks."""
    return bundle_response(services, session, access.competition, secrets=False)


@router.post("/competitions/{slug}/manage/bundle-with-seeds", response_class=Response, responses=_ZIP)
def take_whole_bundle_out(
    access: AsOwner, session: SessionDep, services: ServicesDep, body: ConsentIn
) -> Response:
    """The competition as a bundle with its keys and seeds.

    409 `confirm`, with what it would do, until the competition's name is in `confirm`.
    """
    asked = ActRequest(access.viewer.id, body.reason)
    carry_out(session, TAKE_SECRETS, access.competition, asked, body.consent())
    return bundle_response(services, session, access.competition, secrets=True)
