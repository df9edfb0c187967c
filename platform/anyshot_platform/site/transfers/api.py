"""Competitions that move between sites, over JSON: an archive goes out, comes in, and people claim their places."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from anyshot_platform.acts.declaration import ActRequest, Consent
from anyshot_platform.acts.service import carry_out
from anyshot_platform.competitions.models import Competition
from anyshot_platform.errors import Forbidden
from anyshot_platform.organizers.transfers import claims
from anyshot_platform.organizers.transfers.acts import TRANSFER
from anyshot_platform.organizers.transfers.leaving import write_archive
from anyshot_platform.services import Services
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import ConsentIn
from anyshot_platform.site.shell.manage_frame import AsOwner, AsReviewer
from anyshot_platform.site.transfers.receiving import take_in
from anyshot_platform.users.models import User
from anyshot_platform.users.viewer import Scope, Viewer
from anyshot_platform.web.access import may_organize, signed_in_as
from anyshot_platform.web.bodies import BODY_OF_BYTES
from anyshot_platform.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1", tags=["organizing: between sites"])
Beginner = Annotated[Viewer, Depends(may_organize)]
Person = Annotated[Viewer, Depends(signed_in_as(Scope.ACCOUNT))]


class TransferIn(ConsentIn):
    """`emails` takes people's confirmed addresses along; for site administrators."""

    emails: bool = False


class ReceivedOut(BaseModel):
    """The competition that an archive became, a draft, and what its organizer should know."""

    slug: str
    notices: list[str]


class PlaceholderOut(BaseModel):
    """Somebody who came with the competition."""

    name: str = Field(description="user name on the other site")
    username: str = Field(description="user name here, until the place is claimed")
    claimed_by: str | None = Field(description="user name of whom it belongs to now")


class PlaceCodeOut(BaseModel):
    """The code by which the viewer is known on the site that a competition was taken to."""

    competition: str
    title: str
    code: str


class KnownPlaceOut(BaseModel):
    """A place here that waits for the viewer's confirmed address."""

    competition: str
    title: str
    name: str


class PlacesOut(BaseModel):
    """The viewer's codes for other sites, and the places that they can claim here without one."""

    codes: list[PlaceCodeOut]
    known: list[KnownPlaceOut]


class ClaimIn(BaseModel):
    """The code that the other site shows; or the competition, where one's confirmed address came along."""

    model_config = ConfigDict(extra="forbid")

    code: Annotated[str, Field(max_length=64)] = ""
    competition: Annotated[str, Field(max_length=64)] = ""


class ClaimedOut(BaseModel):
    """What the viewer is in the competition now."""

    competition: str
    role: str


@router.post("/competitions/{slug}/manage/transfer", response_class=FileResponse)
def take_away(access: AsOwner, session: SessionDep, services: ServicesDep, body: TransferIn) -> FileResponse:
    """The competition as an archive, with people, submissions, scores, discussion and its secrets.

    409 `confirm`, with what it would do, until the competition's name is in `confirm`.
    """
    return send_archive(session, services, access, body.consent(), body.reason, emails=body.emails)


def send_archive(
    session: Session,
    services: Services,
    access: CompetitionAccess,
    consent: Consent,
    reason: str,
    *,
    emails: bool,
) -> FileResponse:
    """Carry the act out, and send the archive as it is at that moment; its file goes when it was sent.

    The act is in the log before files are copied: that takes long, and SQLite lets nobody else write meanwhile.
    """
    if emails and not access.viewer.is_site_admin:
        raise Forbidden("Whether addresses travel is decided by the site's administrators.")
    asked = ActRequest(access.viewer.id, reason, {"emails": emails})
    carry_out(session, TRANSFER, access.competition, asked, consent)
    session.commit()
    services.database.committed(session)
    file = tempfile.NamedTemporaryFile(prefix="anyshot-transfer-", suffix=".zip", delete=False)  # noqa: SIM115
    path = Path(file.name)
    file.close()
    try:
        with services.database.reading() as reading:
            competition = reading.get_one(Competition, access.competition.id)
            write_archive(services, reading, competition, path, emails=emails)
    except BaseException:
        path.unlink()
        raise
    name = f"{access.competition.slug}-transfer.zip"
    return FileResponse(
        path, filename=name, media_type="application/zip", background=BackgroundTask(path.unlink)
    )


@router.get("/competitions/{slug}/manage/placeholders")
def list_placeholders(access: AsReviewer, session: SessionDep) -> list[PlaceholderOut]:
    """The people who came with the competition from another site, and who of them has claimed their place."""
    found = claims.list_guests(session, access.competition)
    return [PlaceholderOut.model_validate(guest, from_attributes=True) for guest in found]


@router.put(
    "/transfers",
    status_code=201,
    openapi_extra=BODY_OF_BYTES,
)
async def take_in_archive(
    request: Request,
    services: ServicesDep,
    viewer: Beginner,
    slug: Annotated[str, Query(max_length=63, description="short name, instead of the archive's")] = "",
) -> ReceivedOut:
    """Create a competition of an archive of another site: a draft of the viewer's, with everything in it.

    422 `bad_transfer` where a file was altered, a row does not fit, or a score or board does not follow from the runs.
    """
    with tempfile.TemporaryDirectory(prefix="anyshot-received-") as folder:
        path = Path(folder) / "sent.zip"
        with path.open("wb") as sink:
            async for chunk in request.stream():
                sink.write(chunk)

        def move(target: Path) -> None:
            path.rename(target)

        made, notices = await to_thread.run_sync(take_in, services, viewer, move, slug)
    return ReceivedOut(slug=made, notices=notices)


@router.get("/me/places")
def list_places(session: SessionDep, services: ServicesDep, viewer: Person) -> PlacesOut:
    """The viewer's codes for other sites, and the places that wait for them here."""
    return show_places(session, services, viewer)


def show_places(session: SessionDep, services: Services, viewer: Viewer) -> PlacesOut:
    """Codes and places of a viewer."""
    user = session.get_one(User, viewer.id)
    return PlacesOut(
        codes=[
            PlaceCodeOut(competition=row.competition.slug, title=row.competition.title, code=row.code)
            for row in claims.own_codes(session, services.signer, viewer.id)
        ],
        known=[
            KnownPlaceOut(competition=competition.slug, title=competition.title, name=place.name)
            for place, competition in claims.known_places(session, user)
        ],
    )


@router.post("/me/places")
def claim_place(session: SessionDep, viewer: Person, body: ClaimIn) -> ClaimedOut:
    """Claim the place that one had in a competition on another site."""
    return claim_as(session, viewer, body.code, body.competition)


def claim_as(session: SessionDep, viewer: Viewer, code: str, competition: str) -> ClaimedOut:
    """The place of a code, or of the viewer's confirmed address."""
    user = session.get_one(User, viewer.id)
    membership = claims.claim(session, user, code=code, slug=competition)
    where = session.get_one(Competition, membership.competition_id)
    return ClaimedOut(competition=where.slug, role=membership.role.value)
