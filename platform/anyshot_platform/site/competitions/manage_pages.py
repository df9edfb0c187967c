"""The organizers' first page and the settings."""

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.bundles.actions.reporting import read_report
from anyshot_platform.contest.competitions.actions import acts, organizing
from anyshot_platform.contest.competitions.actions.agenda import read_agenda
from anyshot_platform.contest.competitions.files import LOGO_LIMIT
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState, Due, Registration, Visibility
from anyshot_platform.contest.phases.actions.acts import ACTS as PHASE_ACTS
from anyshot_platform.contest.phases.actions.organizing import count_submissions
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import list_phases, status_of
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.schema.form import written_moment
from anyshot_platform.site.shell.act_frame import perform_named, save_typed
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/competitions/{slug}/manage", include_in_schema=False)
TONES = {"open": "good", "upcoming": "info", "paused": "warn", "closed": ""}


def phase_rows(session: Session, access: CompetitionAccess) -> list[dict[str, object]]:
    """The phases with what their buttons need."""
    return [_phase_row(session, phase) for phase in list_phases(session, access.competition)]


def _phase_row(session: Session, phase: Phase) -> dict[str, object]:
    status = status_of(phase).value
    return {
        "phase": phase,
        "status": status,
        "end": written_moment(phase.ends_at, phase.time_zone),
        "tone": TONES[status],
        "submissions": count_submissions(session, phase),
    }


@router.get("")
def show_overview(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """State, what is missing, the phases with their buttons."""
    return render_manage(
        request,
        session,
        access,
        "overview.html",
        "overview",
        heading="Home",
        acts=acts.ACTS,
        phase_acts=PHASE_ACTS,
        rows=phase_rows(session, access),
        missing=organizing.what_is_missing(session, access.competition),
        odd=organizing.what_is_odd(session, access.competition),
        figures=organizing.figures(session, access.competition),
        agenda=read_agenda(session, access.competition),
        imported=read_report(session, access.competition) is not None,
    )


@router.post("/state")
def change_state(request: Request, access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Publish, archive, take back."""
    name = acts.STATES[form.choice("state", CompetitionState)].name
    return act_on_competition(request, access, session, name, form)


@router.post("/acts/{act}")
def act_on_competition(
    request: Request, access: AsOwner, session: SessionDep, act: str, form: FormDep
) -> Response:
    """Do one of the acts on the competition."""
    return perform_named(
        request, session, form, acts.ACTS, act, access.competition, access, manage_path(access)
    )


@router.post("/delete")
def delete(request: Request, access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Delete, if the name was typed."""
    return act_on_competition(request, access, session, "delete", form)


@router.post("/restore")
def restore(request: Request, access: AsOwner, session: SessionDep, form: FormDep) -> Response:
    """Restore a deleted competition."""
    return act_on_competition(request, access, session, "restore", form)


@router.get("/settings")
def show_settings(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """The form of the settings."""
    return _settings_form(request, access, session)


def _settings_form(
    request: Request, access: CompetitionAccess, session: Session, seen: str = "", **refused: Any
) -> Response:
    return render_manage(
        request,
        session,
        access,
        "settings.html",
        "settings",
        heading="Settings",
        fact_sheet_text=_questions(access.competition.fact_sheet),
        logo_limit=LOGO_LIMIT,
        seen=seen or tag_of(organizing.settings_of(access.competition)),
        **refused,
    )


def _questions(fact_sheet: list[dict[str, object]]) -> str:
    """The questions as the form writes them: `key: question`, a star where an answer is required."""
    return "\n".join(f"{q['key']}: {q['label']}{' *' if q.get('required') else ''}" for q in fact_sheet)


@router.post("/settings")
def save_settings(
    request: Request, access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Save what was changed; where somebody changed them meanwhile, show both."""
    competition = access.competition

    def change() -> None:
        sent = _settings(form, competition)
        organizing.change_settings(session, competition, sent, access.viewer.id, form.text("seen"))
        logo = form.file("logo")
        if logo is not None:
            organizing.set_logo(session, services.storage, competition, *logo, access.viewer.id)

    def show_again(refused: dict[str, Any]) -> Response:
        return _settings_form(request, access, session, form.text("seen"), **refused)

    back = manage_path(access, "/settings")
    return save_typed(request, session, form, back, "Saved.", change, show_again)


def _settings(form: SentForm, before: Competition) -> dict[str, object]:
    questions = []
    for line in form.text("fact_sheet").splitlines():
        key, _, label = line.partition(":")
        if label.strip():
            required = label.rstrip().endswith("*")
            questions.append({"key": key.strip(), "label": label.strip().rstrip("* "), "required": required})
    return {
        "title": form.text("title"),
        "summary": form.text("summary"),
        "contact_email": form.text("contact_email"),
        "terms": form.text("terms"),
        "visibility": form.choice("visibility", Visibility, "public"),
        "opens_at": _moment(form, "opens_at", before.opens_at),
        "registration": form.choice("registration", Registration, "open"),
        "email_domains": [
            name.strip().lower() for name in form.text("email_domains").split(",") if name.strip()
        ],
        "team_size": 1 if (size := form.number("team_size")) is None else size,
        "discussion_open": form.flag("discussion_open"),
        "prizes": form.text("prizes"),
        "fact_sheet": questions,
        "fact_sheet_from": Due(form.text("fact_sheet_from") or "finalists"),
        "fact_sheet_by": _moment(form, "fact_sheet_by", before.fact_sheet_by),
    }


def _moment(form: SentForm, name: str, before: datetime | None) -> datetime | None:
    """The moment of a field, which knows minutes only: seconds stay as they were."""
    text = form.text(name)
    try:
        found = datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None
    except ValueError:
        raise Invalid(f"This is no moment: {text[:40]}", field=name) from None
    return before if before and found == before.replace(second=0, microsecond=0) else found
