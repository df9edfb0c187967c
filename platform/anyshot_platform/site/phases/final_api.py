"""The final phase over JSON: preview, launch, identities of the winners, publication."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from anyshot_platform.acts.declaration import Deed
from anyshot_platform.acts.service import carry_out
from anyshot_platform.desk.phases import final_acts, finals, repeats, winner_acts
from anyshot_platform.phases.service import find_phase
from anyshot_platform.results.states import IdentityCheck
from anyshot_platform.results.winners import Winner
from anyshot_platform.sight.phases import publication_of
from anyshot_platform.site.shell.act_frame import ConsentIn
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.web.services import SessionDep

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


class LaunchIn(ConsentIn):
    """`expected` is how many entries the preview showed as entering and not launched."""

    expected: int | None = Field(default=None, ge=0)
    replace: list[Annotated[str, Field(max_length=32)]] = Field(
        default=[],
        max_length=10_000,
        description="ids of teams whose launched entry gives way to the one that stands now",
    )


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


class WinnerMemberOut(BaseModel):
    """A member of a winning team, and what was found about them: how it was checked, by whom, when."""

    username: str
    name: str
    email: str | None
    affiliation: str
    country: str
    identity: IdentityCheck
    reason: str
    checked_by: str
    checked_at: datetime | None


class WinnerOut(BaseModel):
    """A team that wins something as the boards stand; `confirmed` once every member is verified."""

    team: str
    team_id: str
    prizes: list[str]
    confirmed: bool
    members: list[WinnerMemberOut]


class CheckIn(ConsentIn):
    """What came of the check; `reason` says how it was done, or why the identity was refused."""

    identity: IdentityCheck


class PublishIn(ConsentIn):
    """`winners`: of how many of each league's best the code is published."""

    winners: int = Field(default=0, ge=0, le=100)


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


@router.post("/launch")
def launch(access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam, body: LaunchIn) -> EntriesOut:
    """Queue the runs of all who enter; those launched before stay as they are.

    409 `confirm` while the phase that feeds this one is open or its runs have not ended.
    """
    phase = find_phase(session, access.competition, phase_slug)
    deed = Deed(access.viewer.id, body.reason, {"expected": body.expected, "replace": body.replace})
    done = carry_out(session, final_acts.LAUNCH, phase, deed, body.consent())
    return EntriesOut(submissions=[submission.id for submission in done.result or []])


@router.get("/failed")
def show_failed(access: AsReviewer, session: SessionDep, phase_slug: PhaseParam) -> list[FailedOut]:
    """The entries that ended without a score, and whether their runs are repeated."""
    phase = find_phase(session, access.competition, phase_slug)
    return [_show_failed(row) for row in repeats.find_failed(session, phase)]


@router.post("/repeat")
def repeat(
    access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam, body: ConsentIn
) -> list[FailedOut]:
    """Queue again, with the same seeds, the runs that failed through no fault of their team; which these are."""
    phase = find_phase(session, access.competition, phase_slug)
    deed = Deed(access.viewer.id, body.reason)
    done = carry_out(session, final_acts.REPEAT, phase, deed, body.consent())
    return [_show_failed(row) for row in done.result or []]


def _show_failed(row: repeats.Failed) -> FailedOut:
    return FailedOut(
        team=row.submission.team.name,
        submission=row.submission.id,
        runs=[place + 1 for place in row.seeds],
        repeated=row.repeated,
        words=row.words,
    )


@router.get("/winners")
def show_winners(access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam) -> list[WinnerOut]:
    """Who wins something as the boards stand now, and whether organizers know who these people are."""
    phase = find_phase(session, access.competition, phase_slug)
    return [_show_winner(winner) for winner in winner_acts.winners_of(session, phase)]


@router.put("/winners/{username}")
def check_winner(
    access: AsOrganizer,
    session: SessionDep,
    phase_slug: PhaseParam,
    username: Annotated[str, Path(max_length=64)],
    body: CheckIn,
) -> list[WinnerOut]:
    """Note what came of checking a winner's identity; 409 without a reason."""
    phase = find_phase(session, access.competition, phase_slug)
    checked = winner_acts.find_checked(session, phase, username)
    deed = Deed(access.viewer.id, body.reason, {"outcome": body.identity})
    carry_out(session, winner_acts.CHECK, checked, deed, body.consent())
    return [_show_winner(winner) for winner in winner_acts.winners_of(session, phase)]


def _show_winner(winner: Winner) -> WinnerOut:
    members = [
        WinnerMemberOut(
            username=row.user.username,
            name=row.user.display_name,
            email=row.user.email,
            affiliation=row.user.affiliation,
            country=row.user.country,
            identity=row.outcome,
            reason=row.reason,
            checked_by=row.by,
            checked_at=row.at,
        )
        for row in winner.members
    ]
    return WinnerOut(
        team=winner.team,
        team_id=winner.team_id,
        prizes=list(winner.prizes),
        confirmed=winner.confirmed,
        members=members,
    )


@router.post("/publish")
def publish(
    access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam, body: PublishIn
) -> PublishedOut:
    """Show the results to everyone and, where asked, the winners' code; told once, harmless again.

    409 `confirm`, with podium and number of messages, until the phase's short name is in `confirm`; where a
    winner's identity is not verified, `override` too.
    """
    phase = find_phase(session, access.competition, phase_slug)
    deed = Deed(access.viewer.id, body.reason, {"winners": body.winners})
    done = carry_out(session, final_acts.PUBLISH, phase, deed, body.consent())
    code = [submission.id for submission in done.result or []]
    return PublishedOut(published_at=publication_of(phase).published, code_of=code)


@router.post("/unpublish")
def unpublish(access: AsOrganizer, session: SessionDep, phase_slug: PhaseParam) -> PublishedOut:
    """Take a publication back."""
    phase = find_phase(session, access.competition, phase_slug)
    carry_out(session, final_acts.HIDE, phase, Deed(access.viewer.id))
    return PublishedOut(published_at=None, code_of=[])
