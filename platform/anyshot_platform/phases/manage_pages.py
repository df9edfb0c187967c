"""The organizers' pages of phases: the list, the editor, acts by hand, versions."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.bundles.crosschecks import is_zone
from anyshot_platform.bundles.giving_out import describe_phase
from anyshot_platform.bundles.quantities import parse_duration, parse_size, write_duration, write_size
from anyshot_platform.bundles.schema import PhaseSpec, SmokeSpec, TasksSpec
from anyshot_platform.competitions.manage_frame import (
    AsOrganizer,
    AsReviewer,
    act,
    manage_path,
    render_manage,
)
from anyshot_platform.competitions.manage_pages import TONES, phase_rows
from anyshot_platform.database import now
from anyshot_platform.errors import Invalid, PlatformError
from anyshot_platform.phases import organizing, versions
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import find_phase, list_phases, live_version, status_of
from anyshot_platform.phases.states import RescoreMode
from anyshot_platform.pools.models import Pool
from anyshot_platform.web.access import CompetitionAccess
from anyshot_platform.web.forms import FormDep, SentForm
from anyshot_platform.web.rendering import redirect
from anyshot_platform.web.services import SessionDep
from anyshot_platform.workers.models import Image, Worker
from anyshot_scoring.rankings import RULES
from anyshot_starting_kit.protocols import PROTOCOLS, ProtocolError, protocol_from_dict

router = APIRouter(prefix="/competitions/{slug}/manage/phases", include_in_schema=False)
_NUMBERS = (
    "tasks.count",
    "scoring.runs",
    "quota.per_day",
    "quota.total",
    "quota.running",
    "smoke.tasks",
    "smoke.per_day",
)
_NO_POOLS = {"tasks": TasksSpec(), "smoke": SmokeSpec()}
_FLAGS = (
    "accepts_uploads",
    "tasks.isolated",
    "tasks.keep_learner",
    "tasks.same_test_tasks",
    "quota.cancelled_counts",
    "shown.scores",
    "shown.dataset_names",
    "shown.others",
    "shown.confusion",
    "shown.after_publishing",
)


@router.get("")
def show_phases(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """All phases; deleted ones can be restored."""
    query = select(Phase).where(Phase.competition_id == access.competition.id, Phase.deleted_at.is_not(None))
    return render_manage(
        request,
        session,
        access,
        "phases.html",
        "phases",
        heading="Phases",
        rows=phase_rows(session, access),
        deleted=list(session.scalars(query)),
    )


@router.get("/new")
def show_new(request: Request, access: AsOrganizer, session: SessionDep) -> Response:
    """The editor, empty."""
    spec = PhaseSpec(
        key="feedback", title="New phase", start=now().replace(minute=0, second=0, microsecond=0)
    )
    return _editor(request, session, access, None, spec)


@router.post("/new")
def add_phase(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Add a phase, or show the form again."""
    spec, errors = read_phase(form)
    _check_pools(session, access, spec, None, errors)
    if spec is None or errors:
        blank = PhaseSpec(key="feedback", title="?", start=now())
        return _editor(request, session, access, None, blank, form=form, errors=errors)
    try:
        phase = organizing.add_phase(session, access.competition, spec, access.viewer.id)
        session.flush()
    except PlatformError as error:
        session.rollback()
        field = str(error.details.get("field", ""))
        return _editor(request, session, access, None, spec, form=form, errors={field: error.message})
    return redirect(manage_path(access, f"/phases/{phase.slug}"), flash=f"{phase.name} is added.")


@router.get("/{phase_slug}")
def show_phase(request: Request, access: AsReviewer, session: SessionDep, phase_slug: str) -> Response:
    """The editor of a phase with its versions."""
    phase = find_phase(session, access.competition, phase_slug)
    return _editor(request, session, access, phase, describe_phase(session, phase, ""))


@router.post("/{phase_slug}")
def change_phase(
    request: Request, access: AsOrganizer, session: SessionDep, phase_slug: str, form: FormDep
) -> Response:
    """Save a phase, or draft a new version of it where the change would make scores incomparable."""
    phase = find_phase(session, access.competition, phase_slug)
    spec, errors = read_phase(form, key=phase.slug)
    old = describe_phase(session, phase, "")
    _check_pools(session, access, spec, old, errors)
    if spec is None or errors:
        return _editor(request, session, access, phase, old, form=form, errors=errors)
    target = manage_path(access, f"/phases/{phase.slug}")
    try:
        if form.text("deed") == "version":
            drafted = versions.draft_version(session, phase, spec, form.text("reason"), access.viewer.id)
            session.flush()
            return redirect(
                f"{target}/versions/{drafted.number}", flash=f"Version {drafted.number} is drafted."
            )
        organizing.change_phase(session, phase, spec, access.viewer.id)
        session.flush()
    except PlatformError as error:
        session.rollback()
        field = str(error.details.get("field", ""))
        refused = isinstance(error, organizing.Incomparable)
        shown = {field: error.message}
        return _editor(request, session, access, phase, old, form=form, errors=shown, offer_version=refused)
    return redirect(target, flash="Saved.")


def _editor(
    request: Request,
    session: Session,
    access: CompetitionAccess,
    phase: Phase | None,
    spec: PhaseSpec,
    *,
    form: SentForm | None = None,
    errors: dict[str, str] | None = None,
    offer_version: bool = False,
) -> Response:
    zone = ZoneInfo(spec.timezone or "UTC")
    classes = session.scalars(select(Worker.hardware_class).distinct())
    images = session.scalars(select(Image.name).where(Image.enabled))
    return render_manage(
        request,
        session,
        access,
        "phase.html",
        "phases",
        heading=phase.name if phase else "New phase",
        phase=phase,
        spec=spec,
        start=spec.start.astimezone(zone).strftime("%Y-%m-%dT%H:%M"),
        end=spec.end.astimezone(zone).strftime("%Y-%m-%dT%H:%M") if spec.end else "",
        status=status_of(phase).value if phase else "",
        tones=TONES,
        submissions=organizing.count_submissions(session, phase) if phase else 0,
        values=form.values() if form else {},
        sent=form is not None,
        errors=errors or {},
        offer_version=offer_version,
        as_time=write_duration,
        as_size=write_size,
        protocol=json.dumps(spec.tasks.protocol) if spec.tasks.protocol else '{"name": "any_way_any_shot"}',
        protocols=sorted(PROTOCOLS),
        rules=[(name, rule.title) for name, rule in RULES.items()],
        pools=_pool_options(session, access, spec),
        phases=[
            (p.slug, p.name)
            for p in list_phases(session, access.competition)
            if phase is None or p.id != phase.id
        ],
        hardware_options=[(name, name) for name in sorted({"cpu", spec.machine.hardware, *classes})],
        image_options=[
            (name, name or "the worker's default") for name in sorted({spec.machine.image or "", "", *images})
        ],
    )


def _pool_options(session: Session, access: CompetitionAccess, spec: PhaseSpec) -> list[tuple[str, str]]:
    """The pools that this organizer may assign, and those that are assigned."""
    used = {spec.tasks.meta_train, spec.tasks.meta_test, spec.smoke.pool}
    pools = session.scalars(select(Pool).where(Pool.deleted_at.is_(None)).order_by(Pool.slug))
    shown = [
        (pool.slug, pool.name)
        for pool in pools
        if pool.slug in used
        or access.viewer.is_site_admin
        or pool.owner_id == access.viewer.user_id
        or pool.published_at is not None
    ]
    return [("", "none yet"), *shown]


def _check_pools(
    session: Session,
    access: CompetitionAccess,
    spec: PhaseSpec | None,
    old: PhaseSpec | None,
    errors: dict[str, str],
) -> None:
    """Refuse pools of other people, whose hidden data a name alone must not open."""
    if spec is None:
        return
    allowed = {slug for slug, _ in _pool_options(session, access, old or spec.model_copy(update=_NO_POOLS))}
    for name, pool in (
        ("tasks.meta_train", spec.tasks.meta_train),
        ("tasks.meta_test", spec.tasks.meta_test),
        ("smoke.pool", spec.smoke.pool),
    ):
        if (pool or "") not in allowed:
            errors[name] = f"There is no pool {pool} that you may use."


def read_phase(form: SentForm, key: str | None = None) -> tuple[PhaseSpec | None, dict[str, str]]:
    """The phase that a form describes, or what is wrong with each field."""
    errors: dict[str, str] = {}
    zone = form.text("timezone") or "UTC"
    if not is_zone(zone):
        errors["timezone"] = f"There is no time zone {zone}; write one like Europe/Paris."
        zone = "UTC"
    raw: dict[str, Any] = {"key": key or form.text("key"), "title": form.text("title"), "timezone": zone}
    raw |= {name: form.text(name) for name in ("description", "kind")}
    for name in ("start", "end"):
        raw[name] = _moment(form.text(name), zone, name, errors)
    for name in _NUMBERS:
        _put(raw, name, _number(form, name, errors))
    for name in _FLAGS:
        _put(raw, name, form.flag(name))
    for name in ("budget.run", "budget.meta_train", "budget.task", "smoke.budget"):
        _put(raw, name, _quantity(parse_duration, form.text(name), name, errors))
    for name in ("machine.memory", "machine.scratch", "machine.output"):
        _put(raw, name, _quantity(parse_size, form.text(name), name, errors))
    for name in ("tasks.meta_train", "tasks.meta_test", "smoke.pool", "machine.image"):
        _put(raw, name, form.text(name) or None)
    for name in ("scoring.combine", "scoring.ranking", "scoring.board_shows", "shown.logs", "shown.board"):
        _put(raw, name, form.text(name))
    for name in (
        "machine.hardware",
        "machine.cpus",
        "machine.gpus",
        "machine.processes",
        "tasks.shards",
        "priority",
    ):
        _put(raw, name, form.text(name) or None)
    _put(raw, "tasks.protocol", _protocol(form.text("tasks.protocol"), errors))
    source = form.text("entries.phase")
    raw["entries"] = {"phase": source} if source else None
    return _validate(_without_empty(raw), errors)


def _validate(raw: dict[str, Any], errors: dict[str, str]) -> tuple[PhaseSpec | None, dict[str, str]]:
    try:
        spec = PhaseSpec.model_validate(raw)
    except ValidationError as error:
        for details in error.errors():
            name = ".".join(str(part) for part in details["loc"])
            errors.setdefault(name, str(details["msg"]).removeprefix("Value error, "))
        return None, errors
    if spec.end is not None and spec.end <= spec.start:
        errors["end"] = "The phase ends before it starts."
    return (None, errors) if errors else (spec, {})


_UNLIMITED = {
    "quota.per_day",
    "quota.total",
    "quota.running",
    "smoke.per_day",
    "budget.meta_train",
    "budget.task",
}


def _put(raw: dict[str, Any], name: str, value: Any) -> None:
    part, _, key = name.rpartition(".")
    (raw.setdefault(part, {}) if part else raw)[key] = value


def _without_empty(raw: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not filled in, so that defaults hold; where empty means unlimited it stays."""
    kept: dict[str, Any] = {}
    for key, value in raw.items():
        if isinstance(value, dict) and key != "protocol":
            kept[key] = {k: v for k, v in value.items() if v is not None or f"{key}.{k}" in _UNLIMITED}
        elif value is not None and value != "":
            kept[key] = value
    return kept


def _moment(text: str, zone: str, name: str, errors: dict[str, str]) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    except ValueError:
        errors[name] = f"This is no moment: {text}"
        return None


def _number(form: SentForm, name: str, errors: dict[str, str]) -> int | None:
    try:
        return form.number(name)
    except Invalid as error:
        errors[name] = error.message
        return None


def _quantity(parse: Any, text: str, name: str, errors: dict[str, str]) -> Any:
    if not text:
        return None
    try:
        return parse(text)
    except ValueError as error:
        errors[name] = str(error)
        return None


def _protocol(text: str, errors: dict[str, str]) -> dict[str, Any]:
    if not text:
        return {}
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("a JSON object is wanted")
        protocol_from_dict(data)
    except (ValueError, TypeError, ProtocolError) as error:
        errors["tasks.protocol"] = f"Not a task protocol: {error}"
        return {}
    return data


@router.post("/{phase_slug}/{deed}")
def act_on_phase(
    access: AsOrganizer, session: SessionDep, phase_slug: str, deed: str, form: FormDep
) -> Response:
    """Open, pause, resume, close, extend, freeze, unfreeze, delete, redraw seeds."""
    phase = find_phase(session, access.competition, phase_slug)
    actor, reason = access.viewer.id, form.text("reason")

    def extend() -> None:
        errors: dict[str, str] = {}
        end = _moment(form.text("end"), phase.time_zone, "end", errors)
        if errors:
            raise Invalid(errors["end"], field="end")
        organizing.extend(session, phase, end, actor)

    deeds = {
        "open": (lambda: organizing.open_now(session, phase, actor), f"{phase.name} is open."),
        "pause": (lambda: organizing.pause(session, phase, actor, reason), f"{phase.name} is paused."),
        "resume": (lambda: organizing.resume(session, phase, actor), f"{phase.name} goes on."),
        "close": (lambda: organizing.close(session, phase, actor, reason), f"{phase.name} is closed."),
        "extend": (extend, f"The end of {phase.name} is moved."),
        "freeze": (lambda: organizing.freeze(session, phase, actor), "The board is frozen."),
        "unfreeze": (lambda: organizing.unfreeze(session, phase, actor), "The board has caught up."),
        "delete": (
            lambda: organizing.delete_phase(session, phase, actor),
            f"{phase.name} is deleted; restore it below.",
        ),
        "seeds": (lambda: organizing.redraw_seeds(session, phase, actor), "New secret seeds are drawn."),
    }
    if deed not in deeds:
        raise Invalid("There is no such act.")
    work, message = deeds[deed]
    back = manage_path(access, "/phases" if deed == "delete" else f"/phases/{phase.slug}")
    return act(session, back, message, work)


@router.post("/{phase_id}/restore/deleted")
def restore_phase(access: AsOrganizer, session: SessionDep, phase_id: str) -> Response:
    """Undo a deletion."""
    phase = session.get(Phase, phase_id)
    if phase is None or phase.competition_id != access.competition.id:
        raise Invalid("There is no such phase.")
    deed = lambda: organizing.restore_phase(session, phase, access.viewer.id)  # noqa: E731
    return act(session, manage_path(access, "/phases"), f"{phase.name} is back.", deed)


@router.get("/{phase_slug}/versions/{number}")
def show_version(
    request: Request, access: AsReviewer, session: SessionDep, phase_slug: str, number: int
) -> Response:
    """A version: its settings, its re-scoring, old and new scores side by side."""
    phase = find_phase(session, access.competition, phase_slug)
    version = versions.find_version(session, phase, number)
    live = live_version(session, phase)
    return render_manage(
        request,
        session,
        access,
        "version.html",
        "phases",
        heading=f"{phase.name}, version {number}",
        phase=phase,
        version=version,
        live=live,
        ways=versions.ways_of_rescoring(session, phase, version) if version is not live else {},
        progress=versions.progress_of(session, version),
        rows=versions.compare(session, phase, live, version) if version is not live else [],
    )


@router.post("/{phase_slug}/versions/{number}/{deed}")
def act_on_version(
    access: AsOrganizer, session: SessionDep, phase_slug: str, number: int, deed: str, form: FormDep
) -> Response:
    """Re-score, make live, give up."""
    phase = find_phase(session, access.competition, phase_slug)
    version = versions.find_version(session, phase, number)
    actor = access.viewer.id
    target = manage_path(access, f"/phases/{phase.slug}/versions/{number}")

    def rescore() -> str:
        if form.text("mode") not in set(RescoreMode):
            raise Invalid("Choose how to score again.")
        queued = versions.start_rescoring(session, phase, version, RescoreMode(form.text("mode")), actor)
        return f"{queued} runs are queued."

    deeds: dict[str, tuple[Any, str]] = {
        "rescore": (rescore, ""),
        "live": (lambda: versions.make_live(session, phase, version, actor), f"Version {number} is live."),
        "discard": (
            lambda: versions.discard(session, phase, version, actor),
            f"Version {number} is given up.",
        ),
    }
    if deed not in deeds:
        raise Invalid("There is no such act.")
    work, message = deeds[deed]
    return act(session, target, message, work)
