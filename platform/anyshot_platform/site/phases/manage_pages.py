"""The organizers' pages of phases: the list, the editor, acts by hand."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.datastructures import FormData
from starlette.responses import Response

from anyshot_core.protocols import ProtocolError
from anyshot_core.wire.requirements import PACKAGES_IMAGE
from anyshot_platform.actions.concurrency import Stale, seal, unseal
from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.contest.bundles.consistency import not_a_protocol
from anyshot_platform.contest.phases.actions import organizing, versions
from anyshot_platform.contest.phases.actions.acts import ACTS
from anyshot_platform.contest.phases.actions.checks import (
    foreign_pools,
    open_protocol,
    problems_of,
    usable_pools,
)
from anyshot_platform.contest.phases.actions.differences import (
    flatten,
    keep_seconds,
    keep_secrets,
    secret_fields,
    with_fields,
)
from anyshot_platform.contest.phases.actions.merging import merge
from anyshot_platform.contest.phases.actions.readiness import missing_in, odd_in, offered_packages
from anyshot_platform.contest.phases.description import PhaseSpec, label_of, labels_of
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.rows import describe_phase
from anyshot_platform.contest.phases.service import find_phase, list_phases, live_version, status_of
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid, PlatformError
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.schema.settings import settings_of
from anyshot_platform.foundation.zones import words_on_zone
from anyshot_platform.judging.runs.secrets import weaknesses
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.workers.models import Image, Worker
from anyshot_platform.running.deadlines.acts import RELIEVE
from anyshot_platform.site.competitions.manage_pages import TONES, phase_rows
from anyshot_platform.site.phases import protocol_form
from anyshot_platform.site.phases.deadline_view import read_deadline
from anyshot_platform.site.phases.protocol_form import ROLES, read_protocol
from anyshot_platform.site.schema.form import Card, Options, cards_of, read_form, written_moment
from anyshot_platform.site.shell.act_frame import ask_which, perform, perform_named
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsReviewer,
    ProvedOrganizer,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.rendering import redirect
from anyshot_platform.site.web.services import ServicesDep, SessionDep
from anyshot_scoring.rules import RULES

router = APIRouter(prefix="/competitions/{slug}/manage/phases", include_in_schema=False)


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
        phase_acts=ACTS,
        rows=phase_rows(session, access),
        deleted=list(session.scalars(query)),
    )


@router.get("/new")
def show_new(request: Request, access: AsOrganizer, session: SessionDep) -> Response:
    """The editor with the defaults of a new phase."""
    spec = PhaseSpec(
        key="feedback",
        title="New phase",
        start=now().replace(minute=0, second=0, microsecond=0),
    )
    return _editor(request, session, access, None, spec)


@router.post("/new")
def add_phase(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Add a phase, or show the form again."""
    spec, errors = _read_phase(form)
    errors |= foreign_pools(session, access.viewer, spec, None)
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


@router.get("/{phase_slug}/deadline")
def show_deadline(
    request: Request, access: AsReviewer, session: SessionDep, services: ServicesDep, phase_slug: str
) -> Response:
    """What is under way at the end of a phase, and the form that makes up for an outage."""
    phase = find_phase(session, access.competition, phase_slug)
    deadline = read_deadline(services, session, phase)
    return render_manage(
        request,
        session,
        access,
        "deadline.html",
        "phases",
        heading=f"Deadline of {phase.name}",
        deadline=deadline,
        proposed=written_moment(deadline.proposed_end, phase.time_zone),
    )


@router.get("/{phase_slug}/example.png")
def show_example(
    request: Request,
    access: AsOrganizer,
    session: SessionDep,
    services: ServicesDep,
    phase_slug: str,
    number: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """An example task of the protocol that the address gives as the editor's form does, else of the saved one."""
    version = live_version(session, find_phase(session, access.competition, phase_slug))
    sent, protocol = SentForm(FormData(request.query_params)), open_protocol(version.protocol)
    try:
        if sent.text(f"{protocol_form.PREFIX}.name"):
            protocol = protocol_form.read_protocol(sent, protocol)
    except ProtocolError as error:
        raise Invalid(str(error), field=protocol_form.PREFIX) from error
    content = protocol_form.example(session, services.storage, version, protocol, number)
    return Response(content, media_type="image/png", headers={"Cache-Control": "private, max-age=300"})


@router.post("/{phase_slug}")
def change_phase(
    request: Request, access: ProvedOrganizer, session: SessionDep, phase_slug: str, form: FormDep
) -> Response:
    """Save a phase, or draft a new version of it where the change would make scores incomparable."""
    phase = find_phase(session, access.competition, phase_slug)
    old = describe_phase(session, phase, "")
    spec, errors = _read_phase(form, old)
    errors |= foreign_pools(session, access.viewer, spec, old)
    if spec is None or errors:
        return _editor(request, session, access, phase, old, form=form, errors=errors)
    target = manage_path(access, f"/phases/{phase.slug}")
    newest = form.flag("newest_pools")
    try:
        spec = _merged(session, phase, form, spec, old)
        if form.text("act") == "version":
            drafted = versions.draft_version(
                session,
                phase,
                spec,
                form.text("reason"),
                access.viewer.id,
                new_key=form.flag("new_key"),
                newest_pools=newest,
            )
            session.flush()
            return redirect(
                f"{target}/versions/{drafted.version.number}",
                flash=_drafted(drafted),
            )
        organizing.change_phase(session, phase, spec, access.viewer.id, newest_pools=newest)
        session.flush()
    except Stale as error:
        session.rollback()
        return ask_which(request, form, error, target)
    except PlatformError as error:
        session.rollback()
        field = str(error.details.get("field", ""))
        refused = isinstance(error, organizing.Incomparable)
        shown = {field: error.message}
        return _editor(request, session, access, phase, old, form=form, errors=shown, offer_version=refused)
    return redirect(target, flash="Saved.")


def _drafted(drafted: versions.Drafted) -> str:
    words = f"Version {drafted.version.number} is drafted."
    if not drafted.saved:
        return words
    saved = f"What decides no scores does not wait for it and is saved: {labels_of(drafted.saved)}."
    return join_texts([words, saved])


def _merged(session: Session, phase: Phase, form: SentForm, sent: PhaseSpec, old: PhaseSpec) -> PhaseSpec:
    """The phase as it is, with what was changed in the form; raises `Stale` where somebody changed the same."""
    whole = keep_secrets(keep_seconds(sent, old), old)
    mine = merge(
        session,
        phase,
        unseal(form.text("seen")),
        flatten(whole),
        flatten(old),
        form.text("keep").split(),
    )
    return with_fields(old, mine | secret_fields(whole))


def _pools_held(phase: Phase | None) -> list[tuple[str, PoolVersion]]:
    """The versions of pools that a phase is scored on, live, and that its smoke tests and evaluations are on."""
    if phase is None:
        return []
    live = phase.live
    held = [
        ("meta-train", live.meta_train),
        ("meta-test", live.meta_test),
        ("smoke test", phase.smoke_pool),
        *(("further evaluations", pool) for pool in phase.evaluation_pools),
    ]
    return [(role, version) for role, version in held if version is not None]


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
    shown = _cards(session, access, phase, spec)
    return render_manage(
        request,
        session,
        access,
        "phase.html",
        "phases",
        heading=phase.name if phase else "New phase",
        phase=phase,
        acts=ACTS,
        end=next(f.value for f in shown[0].fields if f.setting.path == "end"),
        status=status_of(phase).value if phase else "",
        tones=TONES,
        submissions=organizing.count_submissions(session, phase) if phase else 0,
        values=form.values() if form else {},
        sent=form is not None,
        pools_held=_pools_held(phase),
        seen=form.text("seen") if form else seal(flatten(spec)),
        errors=errors or {},
        labels={"": "This change"} | {path: label_of(path) for path in errors or {} if path},
        offer_version=offer_version,
        missing=missing_in(session, phase) if phase else [],
        odd=odd_in(session, phase) if phase else [],
        packages=offered_packages(session, phase.live) if phase else [],
        weaknesses=[words for _, words in weaknesses(spec.tasks)],
        cards=shown,
        unfolded=_unfolded(shown, errors or {}, new=phase is None),
        roles=protocol_form.role_forms(spec),
    )


def _unfolded(cards: list[Card], errors: dict[str, str], *, new: bool) -> set[str]:
    """The parts of the form that are open from the start: those with an error, else of a new phase the first."""
    wrong = {
        card.key
        for card in cards
        for path in errors
        if path.startswith(f"{card.key}.") or path in {field.setting.path for field in card.fields}
    }
    return wrong or ({cards[0].key} if new else set())


@router.post("/{phase_slug}/{act}")
def act_on_phase(
    request: Request, access: AsOrganizer, session: SessionDep, phase_slug: str, act: str, form: FormDep
) -> Response:
    """Do one of the acts on a phase."""
    phase = find_phase(session, access.competition, phase_slug)
    places = {"delete": "/phases", RELIEVE.name: f"/phases/{phase.slug}/deadline"}
    back = manage_path(access, places.get(act, f"/phases/{phase.slug}"))
    acts = {**ACTS, RELIEVE.name: RELIEVE}
    return perform_named(request, session, form, acts, act, phase, access, back)


@router.post("/{phase_id}/restore/deleted")
def restore_phase(
    request: Request, access: AsOrganizer, session: SessionDep, phase_id: str, form: FormDep
) -> Response:
    """Restore a deleted phase with its versions and boards."""
    phase = session.get(Phase, phase_id)
    if phase is None or phase.competition_id != access.competition.id:
        raise Invalid("There is no such phase.")
    back = manage_path(access, "/phases")
    return perform(request, session, form, ACTS["restore"], phase, ActRequest(access.viewer.id), back)


def _cards(session: Session, access: CompetitionAccess, phase: Phase | None, spec: PhaseSpec) -> list[Card]:
    """The form with the settings of `spec`; a phase that exists keeps its short name."""
    return cards_of(
        spec,
        title="Name and time",
        offered=_offered(session, access, phase, spec),
        zone=spec.timezone or "UTC",
        leave_out=("key",) if phase else (),
    )


def _offered(
    session: Session, access: CompetitionAccess, phase: Phase | None, spec: PhaseSpec
) -> dict[str, Options]:
    others = [p for p in list_phases(session, access.competition) if phase is None or p.id != phase.id]
    classes = {"cpu", spec.machine.hardware, *session.scalars(select(Worker.hardware_class).distinct())}
    enabled = session.scalars(select(Image.name).where(Image.enabled))
    images = {
        spec.machine.image or "",
        "",
        *(name for name in enabled if not PACKAGES_IMAGE.fullmatch(name)),  # such a one is had by its list
    }
    return {
        "pools": [("", "none yet"), *usable_pools(session, access.viewer, spec)],
        "phases": [("", "uploads only"), *((other.slug, other.name) for other in others)],
        "rules": [(name, rule.title) for name, rule in RULES.items()],
        "hardware": [(name, name) for name in sorted(classes)],
        "images": [(name, name or "the worker's default") for name in sorted(images)],
    }


def _read_phase(form: SentForm, old: PhaseSpec | None = None) -> tuple[PhaseSpec | None, dict[str, str]]:
    """The phase that a form describes, None where it cannot be read, and what is wrong with each field.

    `old` is the phase as it is.
    """
    errors: dict[str, str] = {}
    zone = (old and form.unchanged("timezone") and old.timezone) or form.text("timezone") or "UTC"
    if words := words_on_zone(zone):
        errors["timezone"] = words
        zone = "UTC"
    given: dict[str, Any] = {"timezone": zone}
    for path in ROLES:
        if old and form.unchanged(f"{path}.name"):
            given[path] = getattr(old.tasks, path.removeprefix("tasks."))
            continue
        try:
            known = getattr(old.tasks, path.removeprefix("tasks.")) if old else {}
            given[path] = read_protocol(form, known, path)
        except ProtocolError as error:
            errors[path] = not_a_protocol(error)
    given |= {"key": old.key} if old else {}
    given |= {} if form.text("entries.phase") else {"entries.phase": None}
    if old:
        left = (setting for setting in settings_of(PhaseSpec) if form.unchanged(setting.path))
        given |= {setting.path: setting.value(old) for setting in left}
    spec, found = read_form(PhaseSpec, form, given, zone=zone)
    errors |= found
    return spec, errors | (dict(problems_of(spec)) if spec else {})
