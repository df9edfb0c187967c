"""Entries and leagues over JSON, for participants."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import require_participant
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.leagues.service import find_league
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.judging.submissions.actions.withdrawing import withdraw_together
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.entries.view import EntryOut, show_entries
from anyshot_platform.site.entries.views import EligibilityOut, show_leagues
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries.actions import acts

router = APIRouter(prefix="/api/v1/competitions/{slug}", tags=["entries"])
Participant = Annotated[CompetitionAccess, Depends(competition_role(Role.PARTICIPANT))]
SlugPart = Annotated[str, Path(max_length=64)]


class AnswersIn(BaseModel):
    """Answers to a league's questions, by key; "yes" confirms."""

    model_config = ConfigDict(extra="forbid")

    answers: dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=4000)]] = Field(
        max_length=20
    )


class ChoiceIn(BaseModel):
    """The submission that shall stand in the league; null leaves the choice to the phase's rule."""

    model_config = ConfigDict(extra="forbid")

    submission: str | None = Field(default=None, max_length=32)


class WithdrawalIn(BaseModel):
    """The submissions of one's team that are withdrawn together."""

    model_config = ConfigDict(extra="forbid")

    submissions: list[Annotated[str, Field(max_length=32)]] = Field(min_length=1, max_length=1000)


def _member(access: CompetitionAccess) -> Membership:
    return require_participant(access.membership)


@router.get("/leagues")
def list_leagues(access: Participant, session: SessionDep) -> list[EligibilityOut]:
    """What each league asks, one's own answers, and whether one's team may have an entry in it."""
    return show_leagues(session, access.competition, _member(access))


@router.put("/leagues/{league_slug}/answers")
def answer(
    access: Participant, session: SessionDep, league_slug: SlugPart, body: AnswersIn
) -> EligibilityOut:
    """Answer a league's questions, for oneself; the entries of the team follow."""
    league = find_league(session, access.competition, league_slug)
    acts.answer(session, access.competition, league, _member(access), body.answers)
    shown = show_leagues(session, access.competition, _member(access))
    return next(row for row in shown if row.league == league.slug)


@router.get("/phases/{phase_slug}/entries")
def list_entries(access: Participant, session: SessionDep, phase_slug: SlugPart) -> list[EntryOut]:
    """The entries of one's team in a phase, one a league: score, rank, what an upload would replace, history."""
    phase = find_phase(session, access.competition, phase_slug)
    return show_entries(session, phase, _member(access), access.sight_of(phase))


@router.put("/phases/{phase_slug}/entries/{league_slug}")
def choose(
    access: Participant,
    session: SessionDep,
    phase_slug: SlugPart,
    league_slug: SlugPart,
    body: ChoiceIn,
    if_match: IfMatch = None,
) -> list[EntryOut]:
    """Choose which submission stands in a league, where the phase lets teams choose."""
    phase = find_phase(session, access.competition, phase_slug)
    league = find_league(session, access.competition, league_slug)
    acts.choose_by_hand(session, phase, league, _member(access), body.submission, if_match)
    return show_entries(session, phase, _member(access), access.sight_of(phase))


@router.post("/phases/{phase_slug}/entries/withdrawals")
def withdraw(
    access: Participant, session: SessionDep, phase_slug: SlugPart, body: WithdrawalIn
) -> list[EntryOut]:
    """Withdraw submissions of one's team in one act; for good once the phase has closed."""
    phase = find_phase(session, access.competition, phase_slug)
    withdraw_together(session, phase, _member(access), body.submissions)
    return show_entries(session, phase, _member(access), access.sight_of(phase))
