"""The final phase over JSON: preview, launch, identities of the winners, publication."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import by_name
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.results.actions import final_acts, finals, repeats, winner_acts
from anyshot_platform.standings.results.winners import Winner, read_winners

router = APIRouter(
    prefix="/api/v1/competitions/{slug}/manage/phases/{phase_slug}/final", tags=["organizing: phases"]
)
PhaseParam = Annotated[str, Path(max_length=64)]


class CandidateOut(BaseModel):
    """A team: what it enters with and in which leagues, or why it does not."""

    team: str
    submission: str | None
    score: float | None
    enters: bool
    launched: bool
    replaces: str | None = Field(description="the submission launched before, where another one stands now")
    team_id: str
    leagues: list[str]
    reasons: list[str]


class EntriesOut(BaseModel):
    """The entries that were queued now."""

    submissions: list[str]


class FailedOut(BaseModel):
    """An entry without a score: which of its runs failed (from 1), and whether the rule repeats them."""

    team: str
    submission: str
    runs: list[int]
    repeated: bool
    words: str


class PublishedOut(BaseModel):
    """Whether the results are public, and whose code is."""

    published_at: datetime | None
    code_of: list[str]


@router.get("")
def preview(access: AsReviewer, session: SessionDep, phase_slug: PhaseParam) -> list[CandidateOut]:
    """Who enters, and why the others do not."""
    phase = find_phase(session, access.competition, phase_slug)
    return [
        CandidateOut(
            team=row.team.name,
            submission=row.submission.id if row.submission else None,
            score=row.submission.score if row.submission else None,
            enters=row.enters,
            launched=row.entered,
            replaces=row.replaces.id if row.replaces else None,
            team_id=row.team.id,
            leagues=[league.slug for league in row.leagues],
            reasons=row.reasons,
        )
        for row in finals.preview(session, phase)
    ]


@router.get("/failed")
def show_failed(access: AsReviewer, session: SessionDep, phase_slug: PhaseParam) -> list[FailedOut]:
    """The entries that ended without a score, and whether their runs are repeated."""
    phase = find_phase(session, access.competition, phase_slug)
    return [_show_failed(row) for row in repeats.find_failed(session, phase)]


def _show_failed(row: repeats.FailedEntry) -> FailedOut:
    return FailedOut(
        team=row.submission.team.name,
        submission=row.submission.id,
        runs=[place + 1 for place in row.seeds],
        repeated=row.repeated,
        words=row.words,
    )


@router.get("/winners")
def show_winners(access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam) -> list[Winner]:
    """Who wins something as the boards stand now, and whether organizers know who these people are."""
    phase = find_phase(session, access.competition, phase_slug)
    return read_winners(session, phase)


def _find(session: Session, competition: Competition, phase_slug: PhaseParam) -> Phase:
    return find_phase(session, competition, phase_slug)


def _find_checked(
    session: Session,
    competition: Competition,
    phase_slug: PhaseParam,
    username: Annotated[str, Path(max_length=64)],
) -> winner_acts.Checked:
    return winner_acts.find_checked(session, find_phase(session, competition, phase_slug), username)


def _launched(session: Session, access: CompetitionAccess, phase: Phase, outcome: ActOutcome) -> EntriesOut:
    return EntriesOut(submissions=[submission.id for submission in outcome.result or []])


def _repeated(
    session: Session, access: CompetitionAccess, phase: Phase, outcome: ActOutcome
) -> list[FailedOut]:
    return [_show_failed(row) for row in outcome.result or []]


def _published(
    session: Session, access: CompetitionAccess, phase: Phase, outcome: ActOutcome
) -> PublishedOut:
    code = [submission.id for submission in outcome.result or []]
    return PublishedOut(published_at=publication_of(phase).published, code_of=code)


def _checked(
    session: Session, access: CompetitionAccess, checked: winner_acts.Checked, outcome: ActOutcome
) -> list[Winner]:
    return read_winners(session, checked.phase)


add_acts(router, by_name(final_acts.LAUNCH), _find, _launched)
add_acts(router, by_name(final_acts.REPEAT), _find, _repeated)
add_acts(router, by_name(final_acts.PUBLISH, final_acts.CORRECT, final_acts.HIDE), _find, _published)
add_acts(router, winner_acts.ACTS, _find_checked, _checked, at="/winners/{username}")
