"""What background work was given up, over JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict

from anyshot_platform.operations.set_aside import list_set_aside, retry
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import site_admin
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/api/v1/admin/set-aside", tags=["operations"])
AsAdmin = Annotated[Viewer, Depends(site_admin)]


class SetAsideOut(BaseModel):
    """One thing that was tried too often: `kind` is email, webhook or the name of a background duty."""

    model_config = ConfigDict(from_attributes=True)

    kind: str
    id: str
    what: str
    attempts: int
    error: str
    since: datetime


@router.get("")
def list_all(viewer: AsAdmin, session: SessionDep) -> list[SetAsideOut]:
    """What is set aside, newest first; at most 200."""
    return [SetAsideOut.model_validate(one) for one in list_set_aside(session)]


@router.post("/{kind}/{identity}/retry", status_code=204)
def try_again(
    kind: Annotated[str, Path(max_length=32)],
    identity: Annotated[str, Path(max_length=64)],
    viewer: AsAdmin,
    session: SessionDep,
) -> None:
    """Try one thing again, from its first attempt on."""
    retry(session, kind, identity, viewer.id)
