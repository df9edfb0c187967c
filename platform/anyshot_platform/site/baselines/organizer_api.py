"""Baselines and gates over JSON, for organizers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from anyshot_platform.acts.merging import require_tag, tag_of
from anyshot_platform.baselines import gates, service
from anyshot_platform.baselines.models import Baseline
from anyshot_platform.leagues.models import Gate, League
from anyshot_platform.leagues.service import find_league
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import find_phase
from anyshot_platform.services import Services
from anyshot_platform.site.shell.act_frame import IfMatch
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer
from anyshot_platform.submissions.uploads import take_upload
from anyshot_platform.web.services import ServicesDep, SessionDep

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
    not_run: str = Field(description="why it cannot be run on this site; empty where it can")
    leagues: list[str]


class BaselineIn(BaseModel):
    """A zip that was uploaded (`POST /api/v1/uploads`), and the leagues on whose boards it stands."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    upload_id: str = Field(max_length=32)
    leagues: list[Annotated[str, Field(max_length=64)]] = Field(default=[], max_length=100)


class RunIn(BaseModel):
    """Where a baseline is run."""

    model_config = ConfigDict(extra="forbid")

    phase: str = Field(max_length=64)


class QueuedOut(BaseModel):
    """The submission whose runs were queued."""

    submission: str
    runs: int


class MeasurementOut(BaseModel):
    """Seeded runs of a baseline for a gate; `mean` is the proposal, null until all runs have ended."""

    submission: str
    baseline: str
    phase: str
    scores: list[float]
    runs: int
    ended: int
    mean: float | None
    spread: float | None


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
def list_baselines(access: AsReviewer, session: SessionDep, services: ServicesDep) -> list[BaselineOut]:
    """The baselines in their order."""
    return [_show(services, row) for row in service.list_baselines(session, access.competition)]


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


@router.post("/baselines/{baseline_slug}/run", status_code=202)
def run_baseline(
    access: AsOrganizer, session: SessionDep, services: ServicesDep, baseline_slug: BaselineParam, body: RunIn
) -> QueuedOut:
    """Score a baseline in a phase: a marked row on the boards, out of the ranking."""
    baseline = service.find_baseline(session, access.competition, baseline_slug)
    phase = find_phase(session, access.competition, body.phase)
    submission = service.run_baseline(session, services, phase, baseline, access.viewer.id)
    return QueuedOut(submission=submission.id, runs=service.count_runs(session, submission))


@router.post("/baselines/{baseline_slug}/measure", status_code=202)
def measure_gate(
    access: AsOrganizer, session: SessionDep, services: ServicesDep, baseline_slug: BaselineParam, body: RunIn
) -> QueuedOut:
    """Run a baseline over ten fresh seeds; their mean is proposed as the gate."""
    baseline = service.find_baseline(session, access.competition, baseline_slug)
    phase = find_phase(session, access.competition, body.phase)
    submission = gates.measure_gate(session, services, phase, baseline, access.viewer.id)
    return QueuedOut(submission=submission.id, runs=service.count_runs(session, submission))


@router.delete("/baselines/{baseline_slug}")
def remove_baseline(
    access: AsOrganizer, session: SessionDep, services: ServicesDep, baseline_slug: BaselineParam
) -> BaselineOut:
    """Hide a baseline; rows that it has on boards stay."""
    baseline = service.find_baseline(session, access.competition, baseline_slug)
    service.remove_baseline(session, baseline, access.viewer.id)
    return _show(services, baseline)


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
def list_measurements(access: AsReviewer, session: SessionDep) -> list[MeasurementOut]:
    """What the seeded runs of baselines propose, newest first."""
    return [
        MeasurementOut(
            submission=row.submission.id,
            baseline=row.baseline,
            phase=row.submission.phase.slug,
            scores=list(row.scores),
            runs=row.total,
            ended=row.ended,
            mean=row.mean,
            spread=row.spread,
        )
        for row in gates.list_measurements(session, access.competition)
    ]


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
    current = gates.gate_fields(gates.find_gate(session, phase, league))
    sent = {"score": body.score, "note": body.note}
    require_tag(session, ("phase", phase.id), if_match, sent, current)
    gates.set_gate(session, phase, league, body.score, body.note, access.viewer.id)
    gate = gates.find_gate(session, phase, league)
    return _show_gate(gate, phase, league) if gate else None


def _show(services: Services, row: Baseline) -> BaselineOut:
    return BaselineOut(
        key=row.slug,
        name=row.name,
        builtin=row.builtin,
        digest=row.digest,
        weights=row.weights,
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
