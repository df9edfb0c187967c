"""One's team's fact sheet over JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import Written, changes_upon, tag_of
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Due, Role
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.teams.models import Team
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.fact_sheets import service
from anyshot_platform.standings.fact_sheets.states import SheetState

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
    public: bool | None = Field(
        default=None,
        description="whether the team agrees to show it beside the results; left out, that stays as it is",
    )


class FactSheetOut(BaseModel):
    """A team's fact sheet, and what the competition asks."""

    team: str
    state: SheetState
    wanted_from: Due
    wanted_by: datetime | None
    questions: list[Any]
    answers: dict[str, Any]
    public: bool
    etag: str = Field(description="for `If-Match` of a change")


@router.get("/fact-sheet")
def show(access: Participant, session: SessionDep) -> FactSheetOut:
    """One's team's fact sheet."""
    team = session.get_one(Team, require_participant(access.membership).team_id)
    return show_sheet(access.competition, service.sheet_of(session, access.competition, team))


@router.put("/fact-sheet")
def save(
    access: Participant, session: SessionDep, body: FactSheetIn, if_match: IfMatch = None
) -> FactSheetOut:
    """Keep a draft, or hand it in; it can be handed in again."""
    write_sheet(session, access, body.answers, hand_in=body.hand_in, public=body.public, version=if_match)
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
        etag=tag_of(sheet_fields(competition, row)),
    )


def sheet_fields(competition: Competition, row: service.TeamSheet) -> dict[str, Any]:
    """What a team's members write: an answer to each question, and whether it is public."""
    answers = row.sheet.answers if row.sheet else {}
    asked = [str(question["key"]) for question in competition.fact_sheet]
    return {**{key: answers.get(key, "") for key in asked}, "public": bool(row.sheet and row.sheet.public)}


def write_sheet(
    session: Session,
    access: CompetitionAccess,
    answers: Mapping[str, str],
    *,
    hand_in: bool,
    public: bool | None,
    version: str | None,
) -> None:
    """Keep a draft, or hand it in; `version` and `Stale` are as in `changes_upon`."""
    membership = require_participant(access.membership)
    known = service.sheet_of(session, access.competition, session.get_one(Team, membership.team_id))
    current = sheet_fields(access.competition, known)
    agreed = current["public"] if public is None else public
    sent = {**dict.fromkeys(current, ""), **answers, "public": agreed}
    who = Written(None, known.sheet.updated_by, known.sheet.updated_at) if known.sheet else Written()
    wanted = {**current, **changes_upon(session, who, version, sent, current)}
    kept = {key: wanted[key] for key in answers}
    service.save(session, access.competition, membership, kept, hand_in=hand_in, public=agreed)
