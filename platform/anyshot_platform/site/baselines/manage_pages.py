"""The organizers' page of baselines and gates."""

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.leagues.models import Gate
from anyshot_platform.contest.leagues.service import find_league, list_leagues
from anyshot_platform.contest.phases.service import find_phase, list_phases
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.execution.kinds import GATE_SEEDS
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.shell.act_frame import perform_named, save_typed
from anyshot_platform.site.shell.manage_frame import AsOrganizer, AsReviewer, manage_path, render_manage
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_platform.standings.baselines.actions import acts, gates, service

router = APIRouter(prefix="/competitions/{slug}/manage/baselines", include_in_schema=False)


@router.get("")
def show_baselines(
    request: Request, access: AsReviewer, session: SessionDep, services: ServicesDep
) -> Response:
    """Baselines, measurements, gates."""
    return _show(request, access, session, services)


def _show(
    request: Request, access: CompetitionAccess, session: Session, services: Services, **refused: Any
) -> Response:
    phases = list_phases(session, access.competition)
    baselines = service.list_baselines(session, access.competition, deleted=True)
    gated = [phase for phase in phases if phase.gate_phase_id]
    set_gates = session.scalars(select(Gate).where(Gate.phase_id.in_([phase.id for phase in gated])))
    return render_manage(
        request,
        session,
        access,
        "baselines.html",
        "baselines",
        heading="Baselines and gates",
        acts=acts.ACTS,
        baselines=[row for row in baselines if row.deleted_at is None],
        removed=[row for row in baselines if row.deleted_at is not None],
        not_run={row.id: service.why_not_run(services, row) for row in baselines},
        measurements=gates.list_measurements(session, access.competition),
        phases=[phase for phase in phases if phase.kind.value != "public"],
        gated=gated,
        leagues=list_leagues(session, access.competition),
        gates={(gate.phase_id, gate.league_id): gate for gate in set_gates},
        seen_of=lambda gate: tag_of(gates.gate_fields(gate)),
        seeds=GATE_SEEDS,
        **refused,
    )


@router.post("")
def add_baseline(
    request: Request, access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Keep a zip as a baseline; a refusal shows the form again with what was typed, without the file."""

    def change() -> None:
        uploaded = form.file("file")
        if uploaded is None:
            raise Invalid("Choose the baseline's zip.", field="file")
        service.add_baseline(
            session,
            services,
            access.competition,
            name=form.text("name"),
            content=uploaded[1],
            leagues=form.all("leagues"),
            actor_id=access.viewer.id,
        )

    def show_again(refused: dict[str, Any]) -> Response:
        return _show(request, access, session, services, ticked=form.all("leagues"), **refused)

    back, done = manage_path(access, "/baselines"), "The baseline is kept."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/gates")
def set_gate(
    request: Request, access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Set or remove a gate; where somebody set it meanwhile, show both; a refusal shows what was typed."""

    def change() -> None:
        phase = find_phase(session, access.competition, form.text("phase"))
        league = find_league(session, access.competition, form.text("league"))
        sent = form.decimal("score"), form.text("note")
        gates.set_gate(session, phase, league, *sent, access.viewer.id, form.text("seen"))

    def show_again(refused: dict[str, Any]) -> Response:
        return _show(request, access, session, services, **refused)

    back, done = manage_path(access, "/baselines#gates"), "The gate is set."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/{baseline}/{act}")
def act_on_baseline(
    request: Request,
    access: AsOrganizer,
    session: SessionDep,
    services: ServicesDep,
    baseline: str,
    act: str,
    form: FormDep,
) -> Response:
    """Run a baseline in a phase, measure a gate with it, remove it, or bring it back."""
    row, back = (
        service.find_baseline(session, access.competition, baseline),
        manage_path(access, "/baselines"),
    )
    if act in acts.RUNS:
        playable = acts.Playable(row, services)
        return perform_named(request, session, form, acts.RUNS, act, playable, access, back)
    return perform_named(request, session, form, acts.ACTS, act, row, access, back)
