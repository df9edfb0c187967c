"""Leagues over JSON, for organizers: editing, and deciding who stands in them."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_core.wire.evidence import Evidence
from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.service import ActOutcome, warnings_of
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues import service
from anyshot_platform.contest.leagues.actions import entry_acts, organizing
from anyshot_platform.contest.leagues.actions.acts import ACTS
from anyshot_platform.contest.leagues.description import LeagueSpec, describe_league
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.entries.views import DecisionRow, list_decisions
from anyshot_platform.site.shell.act_frame import ActAnswer, IfMatch, ManyIn, show_changed
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.shell.merge_patch import Patch, patched
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries.actions import team_acts

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/leagues", tags=["organizing: leagues"])
LeagueParam = Annotated[str, Path(max_length=64)]
IdParam = Annotated[str, Path(max_length=32)]


SEEN = "what was decided when you read it: 409 `stale` where somebody decided otherwise since"


class LeagueState(BaseModel):
    """A league as in a bundle."""

    deleted: bool
    etag: str = Field(description="for `If-Match` of a change")
    settings: LeagueSpec


class LeagueEntryOut(BaseModel):
    """A submission in a league that does not admit everybody, with the evidence."""

    submission: str
    league: str
    team: str
    members: list[str]
    status: EntryStatus
    reason: str
    decided_by: str = Field(description="the organizer who decided; empty where none did")
    decided_at: datetime | None
    evidence: Evidence | None
    suspicious: list[str] = Field(description="what of the evidence speaks for pretrained weights, in words")


class EntryIn(BaseModel):
    """A decision on one entry of a league."""

    model_config = ConfigDict(extra="forbid")

    submission: str = Field(max_length=32)
    league: str = Field(max_length=64)
    seen: EntryStatus | None = Field(default=None, description=SEEN)


class DecisionIn(ManyIn):
    """Admit or refuse these entries."""

    entries: list[EntryIn] = Field(min_length=1, max_length=1000)
    admit: bool


class DecidedOut(ActAnswer):
    """How many entries changed."""

    changed: int


@router.get("")
def list_leagues(access: AsReviewer, session: SessionDep) -> list[LeagueState]:
    """The leagues in their order, deleted ones too."""
    return [_show(row) for row in service.list_leagues(session, access.competition, deleted=True)]


@router.post("", status_code=201)
def add_league(access: AsOrganizer, session: SessionDep, body: LeagueSpec) -> LeagueState:
    """Add a league."""
    return _show(organizing.save_league(session, access.competition, body, access.viewer.id))


@router.put("/{league_slug}")
def change_league(
    access: AsOrganizer,
    session: SessionDep,
    league_slug: LeagueParam,
    body: LeagueSpec,
    if_match: IfMatch = None,
) -> LeagueState:
    """Change a league; its short name stays."""
    league = service.find_league(session, access.competition, league_slug)
    return _change_league(access, session, league, body, if_match)


@router.patch("/{league_slug}")
def change_part_of_league(
    access: AsOrganizer,
    session: SessionDep,
    league_slug: LeagueParam,
    body: Patch,
    if_match: IfMatch = None,
) -> LeagueState:
    """Change the settings of a league that are named; the others stay."""
    league = service.find_league(session, access.competition, league_slug)
    return _change_league(access, session, league, patched(describe_league(league), body), if_match)


def _change_league(
    access: CompetitionAccess,
    session: Session,
    league: League,
    body: LeagueSpec,
    if_match: str | None,
) -> LeagueState:
    if body.key != league.slug:
        raise Invalid(f"A league keeps its short name, which is {league.slug}.", field="key")
    saved = organizing.save_league(session, access.competition, body, access.viewer.id, league, if_match)
    return _show(saved)


def _find(session: Session, competition: Competition, league_slug: LeagueParam) -> League:
    return service.find_league(session, competition, league_slug)


def _after(session: Session, access: CompetitionAccess, league: League, outcome: ActOutcome) -> LeagueState:
    return _show(league)


add_acts(router, ACTS, _find, _after, at="/{league_slug}")


@router.get("/entries")
def list_entries(
    access: AsReviewer, session: SessionDep, status: EntryStatus | None = None
) -> list[LeagueEntryOut]:
    """Entries of the leagues that do not admit everybody, those that wait first."""
    return [
        LeagueEntryOut(
            submission=row.submission.id,
            league=row.league.slug,
            team=row.team,
            members=list(row.members),
            status=row.entry.status,
            reason=row.entry.reason,
            decided_by=row.decided_by,
            decided_at=row.entry.decided_at,
            evidence=row.entry.evidence,
            suspicious=row.entry.evidence.suspicious if row.entry.evidence else [],
        )
        for row in organizing.list_entries(session, access.competition, status=status)
    ]


class TeamDecisionIn(ManyIn):
    """Admit or refuse teams in a league that asks."""

    league: str = Field(max_length=64)
    teams: list[Annotated[str, Field(max_length=32)]] = Field(min_length=1, max_length=1000)
    admit: bool
    seen: dict[str, EntryStatus] = Field(default={}, max_length=1000, description=f"by team: {SEEN}")


@router.get("/teams")
def list_teams(access: AsReviewer, session: SessionDep) -> list[DecisionRow]:
    """Teams in the leagues that ask, with the members' answers, country and affiliation."""
    return list_decisions(session, service.list_leagues(session, access.competition))


@router.post("/teams/decide")
def decide_teams(access: AsOrganizer, session: SessionDep, body: TeamDecisionIn) -> DecidedOut:
    """Admit or refuse teams; boards follow, the teams hear of it."""
    league = service.find_league(session, access.competition, body.league)
    status = EntryStatus.ADMITTED if body.admit else EntryStatus.REFUSED
    seen = {
        _find_applicant(session, access.competition, body.league, team_id).name: known
        for team_id, known in body.seen.items()
    }
    asked = status, access.viewer.id, body.reason, seen, body.consent()
    chosen = [(league, team_id) for team_id in body.teams]
    return _decided(team_acts.judge(session, access.competition, chosen, *asked))


@router.post("/entries/decide")
def decide(access: AsOrganizer, session: SessionDep, body: DecisionIn) -> DecidedOut:
    """Admit or refuse entries; boards follow."""
    leagues = {row.slug: row.id for row in service.list_leagues(session, access.competition, deleted=True)}
    chosen = [(entry.submission, leagues.get(entry.league, "")) for entry in body.entries]
    status = EntryStatus.ADMITTED if body.admit else EntryStatus.REFUSED
    seen = {
        entry_acts.name_of(entry_acts.find_judged(session, access.competition, *one)): entry.seen
        for one, entry in zip(chosen, body.entries, strict=True)
        if entry.seen is not None
    }
    asked = status, access.viewer.id, body.reason, seen, body.consent()
    return _decided(organizing.decide(session, access.competition, chosen, *asked))


def _decided(outcomes: list[ActOutcome]) -> DecidedOut:
    return DecidedOut(changed=sum(one.changed for one in outcomes), warnings=list(warnings_of(outcomes)))


def _find_judged(
    session: Session, competition: Competition, league_slug: LeagueParam, submission_id: IdParam
) -> entry_acts.Judged:
    league = service.find_league(session, competition, league_slug)
    return entry_acts.find_judged(session, competition, submission_id, league.id)


def _find_applicant(
    session: Session, competition: Competition, league_slug: LeagueParam, team_id: IdParam
) -> team_acts.Applicant:
    league = service.find_league(session, competition, league_slug)
    return team_acts.find_applicant(session, competition, league, team_id)


add_acts(router, entry_acts.ACTS, _find_judged, show_changed, at="/{league_slug}/entries/{submission_id}")
add_acts(router, team_acts.ACTS, _find_applicant, show_changed, at="/{league_slug}/teams/{team_id}")


def _show(league: League) -> LeagueState:
    settings = describe_league(league)
    etag = tag_of(settings.model_dump(mode="json"))
    return LeagueState(deleted=league.deleted_at is not None, etag=etag, settings=settings)
