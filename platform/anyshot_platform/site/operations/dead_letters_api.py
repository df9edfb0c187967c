"""What background work was given up, over JSON."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.operations.dead_letter_acts import ACTS, OF_ALL
from anyshot_platform.running.operations.dead_letters import SetAside, find_given_up, list_set_aside
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(prefix="/api/v1/admin/set-aside", tags=["operations"])
AsAdmin = Annotated[Viewer, Depends(site_admin)]


@router.get("")
def list_all(viewer: AsAdmin, session: SessionDep) -> list[SetAside]:
    """What is set aside, newest first; at most 200."""
    return list_set_aside(session)


def _one(
    session: Session,
    viewer: Viewer,
    kind: Annotated[str, Path(max_length=32)],
    identity: Annotated[str, Path(max_length=64)],
) -> SetAside:
    return find_given_up(session, kind, identity)


def _all(session: Session, viewer: Viewer) -> list[SetAside]:
    return list_set_aside(session)


def _show_one(session: Session, viewer: Viewer, one: SetAside, outcome: ActOutcome) -> SetAside:
    return find_given_up(session, one.kind, one.id)


def _show_all(session: Session, viewer: Viewer, all_: list[SetAside], outcome: ActOutcome) -> list[SetAside]:
    return [find_given_up(session, one.kind, one.id) for one in all_]


add_acts(router, ACTS, _one, _show_one, at="/{kind}/{identity}", door=site_admin)
add_acts(router, OF_ALL, _all, _show_all, door=site_admin)
