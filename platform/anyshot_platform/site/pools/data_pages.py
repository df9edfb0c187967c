"""The tab Data of a competition: what is public with pictures, licences and checksums, what is hidden by number."""

from functools import lru_cache
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_core.data.problems import BadPack
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.actions.organizing import contact_sheet
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.data import data_of, find_public_pack
from anyshot_platform.site.shell.page_header import read_header
from anyshot_platform.site.web.access import visible_competition
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/data", include_in_schema=False)
Visible = Annotated[CompetitionAccess, Depends(visible_competition)]


@router.get("")
def show_data(request: Request, access: Visible, session: SessionDep) -> Response:
    """The data of a competition."""
    pools = data_of(session, access.competition)
    return render(
        request,
        "competitions/data.html",
        section="competitions",
        head=read_header(session, access),
        tab="data",
        public=[pool for pool in pools if pool.public],
        hidden=[pool for pool in pools if not pool.public],
        organizes=access.may(Role.ORGANIZER),
        signed_in=access.viewer.is_signed_in,
    )


@router.get("/{digest}/sheet.png")
def show_sheet(access: Visible, session: SessionDep, services: ServicesDep, digest: str) -> Response:
    """The contact sheet of a public dataset. Its address holds the digest, so it never changes."""
    pack = find_public_pack(session, access.competition, digest)
    return Response(
        _sheet(session, services.storage, pack.digest),
        media_type="image/png",
        headers={"Cache-Control": "private, max-age=86400"},
    )


def _sheet(session: Session, storage: Storage, digest: str) -> bytes:
    try:
        return _drawn(storage, digest)
    except (OSError, BadPack) as error:
        raise NotFound("The pack's file cannot be read.") from error


@lru_cache(maxsize=64)  # some 100 KB each: drawing one reads a pack and takes a tenth of a second
def _drawn(storage: Storage, digest: str) -> bytes:
    return contact_sheet(storage, digest)
