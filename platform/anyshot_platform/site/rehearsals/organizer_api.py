"""Rehearsals over JSON, with the checklist before a publication."""

from datetime import datetime

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field
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
from anyshot_platform.running.rehearsals.checklist import checklist
from anyshot_platform.running.rehearsals.diary import story_of
from anyshot_platform.running.rehearsals.forecast import forecast
from anyshot_platform.site.shell.act_frame import ActAnswer, ConsentIn, answer, answer_model
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.access import may_organize
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/rehearsals", tags=["organizing: rehearsals"])


class RehearseIn(ConsentIn, RehearsalOptions):
    """On how many tasks a run is rehearsed, and for how many teams the forecast is."""


class ForecastOut(BaseModel):
    """What a phase would take, if every team uses its whole quota."""

    model_config = ConfigDict(from_attributes=True)

    phase: str
    key: str
    tasks: int
    measured: int = Field(description="submissions of the rehearsal that it is calculated from")
    cheapest: float = Field(description="seconds of a machine for one submission with all tasks")
    typical: float
    dearest: float
    submissions: int
    hours: float = Field(description="machine hours, if all submissions are like the typical one")
    most_hours: float = Field(description="if all are like the dearest one")
    hardware: str
    workers: int
    busy: float | None = Field(description="share of the workers' time that the uploads of a day take")
    wait_hours: float | None
    bytes: int
    words: str


class RehearsalOut(BaseModel):
    """A rehearsal: what happened, and what follows for the competition."""

    id: str
    copy_slug: str
    tasks: int
    teams: int
    created_at: datetime
    ended_at: datetime | None
    story: list[str]
    forecast: list[ForecastOut]


class ChecklistPointOut(BaseModel):
    """A point of the checklist; `place` is the organizers' page where it is put right."""

    model_config = ConfigDict(from_attributes=True)

    title: str
    done: bool
    words: str
    place: str


class RehearsalsOut(BaseModel):
    """The checklist before a publication, and the rehearsals, newest first."""

    checklist: list[ChecklistPointOut]
    rehearsals: list[RehearsalOut]


@router.get("")
def show_rehearsals(access: AsReviewer, session: SessionDep, services: ServicesDep) -> RehearsalsOut:
    """What to look at before the competition is published, and its rehearsals."""
    points = checklist(session, services.settings, access.competition)
    rows = list_rehearsals(session, access.competition)
    return RehearsalsOut(
        checklist=[ChecklistPointOut.model_validate(point) for point in points],
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
    found = forecast(session, row)
    return RehearsalOut(
        id=row.id,
        copy_slug=session.get_one(Competition, row.copy_id).slug,
        tasks=row.tasks,
        teams=row.teams,
        created_at=row.created_at,
        ended_at=row.ended_at,
        story=story_of(row),
        forecast=[ForecastOut.model_validate(one) for one in found],
    )
