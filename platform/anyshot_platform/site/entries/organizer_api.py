"""Entries over JSON, for organizers."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from anyshot_platform.actions.many import ManyDone
from anyshot_platform.foundation.paging import ListPage
from anyshot_platform.site.entries.view import EntryChangeOut, show_change
from anyshot_platform.site.shell.act_frame import ManyIn
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries.actions import moderating
from anyshot_platform.standings.entries.actions.moderating import EntryAct, EntryFilter, EntryRow
from anyshot_platform.standings.entries.states import Choice, EntryState

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/entries", tags=["organizing: leagues"])


class EntryTableIn(EntryFilter):
    """A page of what a filter shows."""

    page: int = Field(default=1, ge=1, le=1_000_000)


class ManagedEntryOut(BaseModel):
    """The entry of a team in a league of a phase, with its history."""

    id: str
    phase: str
    league: str
    team: str
    team_id: str
    submission: str
    number: int
    score: float | None
    state: EntryState
    choice: Choice
    reason: str
    updated_at: datetime
    history: list[EntryChangeOut]


class EntryActIn(ManyIn):
    """What is done to these entries."""

    act: EntryAct
    ids: list[Annotated[str, Field(max_length=32)]] = Field(min_length=1, max_length=1000)


@router.get("")
def list_entries(
    access: AsReviewer, session: SessionDep, wanted: Annotated[EntryTableIn, Query()]
) -> ListPage[ManagedEntryOut]:
    """All entries by phase, league and team, 50 a page."""
    rows, page = moderating.find_entries(session, access.competition, wanted, wanted.page)
    return page.of([_show(row) for row in rows])


@router.post("/acts")
def act_on_entries(access: AsOrganizer, session: SessionDep, body: EntryActIn) -> ManyDone:
    """Admit, refuse, disqualify, or undo a disqualification."""
    asked = body.act, access.viewer.id, body.reason
    return moderating.act_on(session, access.competition, body.ids, *asked, {}, body.consent())


def _show(row: EntryRow) -> ManagedEntryOut:
    return ManagedEntryOut(
        id=row.entry.id,
        phase=row.phase.slug,
        league=row.league.slug,
        team=row.team.name,
        team_id=row.team.id,
        submission=row.submission.id,
        number=row.submission.number,
        score=row.submission.score,
        state=row.entry.state,
        choice=row.entry.choice,
        reason=row.entry.reason,
        updated_at=row.entry.updated_at,
        history=[show_change(one) for one in row.history],
    )
