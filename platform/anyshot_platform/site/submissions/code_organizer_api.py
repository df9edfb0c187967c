"""The published code of each team over JSON, for organizers: hide that of one team, show it again."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from anyshot_platform.acts.declaration import Deed
from anyshot_platform.acts.service import carry_out
from anyshot_platform.desk.submissions.code_acts import ACTS, find_team, list_teams
from anyshot_platform.site.shell.act_frame import ConsentIn
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/code", tags=["organizing: submissions"])
TeamParam = Annotated[str, Path(max_length=32)]


class CodeAct(StrEnum):
    """What is done to the code of a team."""

    HIDE = "hide"
    SHOW = "show"


class TeamCodeOut(BaseModel):
    """A team whose code was published, or is hidden whatever is published."""

    team: str
    name: str
    hidden: bool
    submissions: list[str] = Field(description="ids of those whose code was published")


class CodeChanged(BaseModel):
    """What came of an act; `changed` is false where it was so already."""

    message: str
    changed: bool


@router.get("")
def list_codes(access: AsReviewer, session: SessionDep) -> list[TeamCodeOut]:
    """The teams whose code was published or is hidden."""
    return [
        TeamCodeOut(
            team=row.team.id,
            name=row.team.name,
            hidden=row.hidden,
            submissions=[submission.id for submission in row.submissions],
        )
        for row in list_teams(session, access.competition)
    ]


@router.post("/{team_id}/{act}")
def act_on_code(
    access: AsOrganizer, session: SessionDep, team_id: TeamParam, act: CodeAct, body: ConsentIn | None = None
) -> CodeChanged:
    """Hide the code of a team, or show it again; its places on the boards stay."""
    said = body or ConsentIn()
    team = find_team(session, access.competition, team_id)
    outcome = carry_out(session, ACTS[act], team, Deed(access.viewer.id, said.reason), said.consent())
    return CodeChanged(message=outcome.message, changed=outcome.changed)
