"""Baselines and gates over JSON, for organizers."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import Gate, League
from anyshot_platform.contest.leagues.service import find_league
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.uploads import take_upload
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.baselines.actions import acts, gates, service
from anyshot_platform.standings.baselines.models import Baseline

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage", tags=["organizing: baselines and gates"])
BaselineParam = Annotated[str, Path(max_length=64)]
PhaseParam = Annotated[str, Path(max_length=64)]
LeagueParam = Annotated[str, Path(max_length=64)]


class BaselineOut(BaseModel):
    """A baseline of the competition."""

    key: str
    name: str
    builtin: str | None
    digest: str | None
    weights: str = Field(description="the pretrained weights that it starts from; empty: random ones")
    deleted: bool = Field(description="removed: it is not run, and can be restored")
    not_run: str = Field(description="why it cannot be run on this site; empty where it can")
    leagues: list[str]


class BaselineIn(BaseModel):
    """A zip that was uploaded (`POST /api/v1/uploads`), and the leagues on whose boards it stands."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    upload_id: str = Field(max_length=32)
    leagues: list[Annotated[str, Field(max_length=64)]] = Field(default=[], max_length=100)


class QueuedOut(BaseModel):
    """The submission whose runs were queued; none where they were queued before and have not ended."""

    message: str
    submission: str | None
    runs: int


class GateIn(BaseModel):
    """The score that entries of the league must beat; null removes the gate."""

    model_config = ConfigDict(extra="forbid")

    score: Annotated[float, Field(ge=-100, le=100)] | None
    note: str = Field(default="", max_length=2000)


class GateOut(BaseModel):
    """A gate into a phase."""

    phase: str
    league: str
    score: float
    note: str
    set_at: datetime
    etag: str = Field(description="for `If-Match` of a change")


@router.get("/baselines")
def list_baselines(
    access: AsReviewer, session: SessionDep, services: ServicesDep, deleted: bool = False
) -> list[BaselineOut]:
    """The baselines in their order; with `deleted`, those that were removed too."""
    rows = service.list_baselines(session, access.competition, deleted=deleted)
    return [_show(services, row) for row in rows]


@router.post("/baselines", status_code=201)
def add_baseline(
    access: AsOrganizer, session: SessionDep, services: ServicesDep, body: BaselineIn
) -> BaselineOut:
    """Keep an uploaded zip as a baseline, if it passes the checks of a submission."""
    _, content = take_upload(services, session, access.viewer.id, body.upload_id)
    made = service.add_baseline(
        session,
        services,
        access.competition,
        name=body.name,
        content=content,
        leagues=body.leagues,
        actor_id=access.viewer.id,
    )
    return _show(services, made)


def _find(session: Session, competition: Competition, baseline_slug: BaselineParam) -> Baseline:
    return service.find_baseline(session, competition, baseline_slug)


def _after(
    session: Session,
    access: CompetitionAccess,
    baseline: Baseline,
    outcome: ActOutcome,
    services: ServicesDep,
) -> BaselineOut:
    return _show(services, baseline)


def _find_playable(
    session: Session, competition: Competition, baseline_slug: BaselineParam, services: ServicesDep
) -> acts.Playable:
    return acts.Playable(service.find_baseline(session, competition, baseline_slug), services)


def _after_queueing(
    session: Session, access: CompetitionAccess, playable: acts.Playable, outcome: ActOutcome
) -> QueuedOut:
    made = outcome.result
    return QueuedOut(
        message=outcome.message,
        submission=made.id if made else None,
        runs=service.count_runs(session, made) if made else 0,
    )


add_acts(router, acts.ACTS, _find, _after, at="/baselines/{baseline_slug}")
add_acts(router, acts.RUNS, _find_playable, _after_queueing, at="/baselines/{baseline_slug}", status=202)


@router.get("/gates")
def list_gates(access: AsReviewer, session: SessionDep) -> list[GateOut]:
    """The gates of all phases."""
    rows = session.execute(
        select(Gate, Phase, League)
        .join(Phase, Phase.id == Gate.phase_id)
        .join(League, League.id == Gate.league_id)
        .where(Phase.competition_id == access.competition.id, Phase.deleted_at.is_(None))
        .order_by(Phase.position, League.position)
    )
    return [_show_gate(gate, phase, league) for gate, phase, league in rows]


@router.get("/gates/measurements")
def list_measurements(access: AsReviewer, session: SessionDep) -> list[gates.Measurement]:
    """What the seeded runs of baselines propose, newest first."""
    return gates.list_measurements(session, access.competition)


@router.put("/gates/{phase_slug}/{league_slug}")
def set_gate(
    access: AsOrganizer,
    session: SessionDep,
    phase_slug: PhaseParam,
    league_slug: LeagueParam,
    body: GateIn,
    if_match: IfMatch = None,
) -> GateOut | None:
    """Set the gate of a league into a phase, or remove it."""
    phase = find_phase(session, access.competition, phase_slug)
    league = find_league(session, access.competition, league_slug)
    gates.set_gate(session, phase, league, body.score, body.note, access.viewer.id, if_match)
    gate = gates.find_gate(session, phase, league)
    return _show_gate(gate, phase, league) if gate else None


def _show(services: Services, row: Baseline) -> BaselineOut:
    return BaselineOut(
        key=row.slug,
        name=row.name,
        builtin=row.builtin,
        digest=row.digest,
        weights=row.weights,
        deleted=row.deleted_at is not None,
        not_run=service.why_not_run(services, row),
        leagues=row.leagues,
    )


def _show_gate(gate: Gate, phase: Phase, league: League) -> GateOut:
    return GateOut(
        phase=phase.slug,
        league=league.slug,
        score=gate.score,
        note=gate.note,
        set_at=gate.set_at,
        etag=tag_of(gates.gate_fields(gate)),
    )
