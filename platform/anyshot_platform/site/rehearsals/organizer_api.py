"""Rehearsals over JSON, with the checklist before a publication."""

from datetime import datetime

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import carry_out
from anyshot_platform.contest.competitions.models import Competition, Rehearsal
from anyshot_platform.foundation.services import Services
from anyshot_platform.running.rehearsals.acts import (
    REHEARSE,
    Rehearsable,
    RehearsalOptions,
    list_rehearsals,
)
from anyshot_platform.running.rehearsals.checklist import ChecklistPoint, checklist
from anyshot_platform.running.rehearsals.diary import story_of
from anyshot_platform.running.rehearsals.forecast import PhaseForecast, forecast
from anyshot_platform.site.shell.act_frame import ActAnswer, ConsentIn, answer, answer_model
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.access import may_organize
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/rehearsals", tags=["organizing: rehearsals"])


class RehearseIn(ConsentIn, RehearsalOptions):
    """On how many tasks a run is rehearsed, and for how many teams the forecast is."""


class RehearsalOut(BaseModel):
    """A rehearsal: what happened, and what follows for the competition."""

    id: str
    copy_slug: str
    tasks: int
    teams: int
    created_at: datetime
    ended_at: datetime | None
    story: list[str]
    forecast: list[PhaseForecast]


class RehearsalsOut(BaseModel):
    """The checklist before a publication, and the rehearsals, newest first."""

    checklist: list[ChecklistPoint]
    rehearsals: list[RehearsalOut]


@router.get("")
def show_rehearsals(access: AsReviewer, session: SessionDep, services: ServicesDep) -> RehearsalsOut:
    """What to look at before the competition is published, and its rehearsals."""
    rows = list_rehearsals(session, access.competition)
    return RehearsalsOut(
        checklist=checklist(session, services.settings, access.competition),
        rehearsals=[_show(session, services, row) for row in rows],
    )


@router.post(
    "",
    status_code=201,
    dependencies=[Depends(may_organize)],
    response_model=answer_model(RehearsalOut),
)
def rehearse(access: AsOrganizer, session: SessionDep, services: ServicesDep, body: RehearseIn) -> ActAnswer:
    """Play the competition with its baselines in a hidden copy; one that is under way is shown instead."""
    options = RehearsalOptions(tasks=body.tasks, teams=body.teams)
    asked = ActRequest(access.viewer.id, body.reason, options, access.viewer)
    outcome = carry_out(session, REHEARSE, Rehearsable(access.competition, services), asked, body.consent())
    session.flush()
    newest = _show(session, services, list_rehearsals(session, access.competition)[0])
    return answer(RehearsalOut, newest, outcome)


def _show(session: Session, services: Services, row: Rehearsal) -> RehearsalOut:
    return RehearsalOut(
        id=row.id,
        copy_slug=session.get_one(Competition, row.copy_id).slug,
        tasks=row.tasks,
        teams=row.teams,
        created_at=row.created_at,
        ended_at=row.ended_at,
        story=story_of(row),
        forecast=forecast(session, row),
    )
