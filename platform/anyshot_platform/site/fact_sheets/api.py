"""One's team's fact sheet over JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.service import require_participant
from anyshot_platform.competitions.states import Due, Role
from anyshot_platform.fact_sheets import service
from anyshot_platform.fact_sheets.states import SheetState
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.teams.models import Team
from anyshot_platform.web.access import competition_role
from anyshot_platform.web.services import SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}", tags=["entries"])
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
AsReviewer = Annotated[CompetitionAccess, Depends(competition_role(Role.REVIEWER))]


class FactSheetIn(BaseModel):
    """Answers by key; a draft unless `hand_in`."""

    model_config = ConfigDict(extra="forbid")

    answers: dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=10_000)]] = Field(
        max_length=100
    )
    hand_in: bool = False
    public: bool = Field(default=False, description="the team agrees to show it beside the results")


class FactSheetOut(BaseModel):
    """A team's fact sheet, and what the competition asks."""

    team: str
    state: SheetState
    wanted_from: Due
    wanted_by: datetime | None
    questions: list[Any]
    answers: dict[str, Any]
    public: bool


@router.get("/fact-sheet")
def show(access: Participant, session: SessionDep) -> FactSheetOut:
    """One's team's fact sheet."""
    team = session.get_one(Team, require_participant(access.membership).team_id)
    return show_sheet(access.competition, service.sheet_of(session, access.competition, team))


@router.put("/fact-sheet")
def save(access: Participant, session: SessionDep, body: FactSheetIn) -> FactSheetOut:
    """Keep a draft, or hand it in; it can be handed in again."""
    membership = require_participant(access.membership)
    service.save(
        session, access.competition, membership, body.answers, hand_in=body.hand_in, public=body.public
    )
    return show(access, session)


@router.get("/manage/fact-sheets")
def list_sheets(access: AsReviewer, session: SessionDep) -> list[FactSheetOut]:
    """Every team that owes a fact sheet or has one."""
    return [show_sheet(access.competition, row) for row in service.list_sheets(session, access.competition)]


def show_sheet(competition: Competition, row: service.TeamSheet) -> FactSheetOut:
    """A fact sheet with the questions."""
    return FactSheetOut(
        team=row.team.name,
        state=row.state,
        wanted_from=competition.fact_sheet_from,
        wanted_by=competition.fact_sheet_by,
        questions=competition.fact_sheet,
        answers=row.sheet.answers if row.sheet else {},
        public=bool(row.sheet and row.sheet.public),
    )
