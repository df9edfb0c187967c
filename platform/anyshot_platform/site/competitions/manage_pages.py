"""The organizers' first page, settings and texts."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session
from starlette.responses import JSONResponse, Response

from anyshot_platform.acts.merging import Stale, changes, seal, unseal
from anyshot_platform.bundles.page_values import fill, unknown_in
from anyshot_platform.competitions.files import find_file, is_image, list_files
from anyshot_platform.competitions.models import Competition
from anyshot_platform.competitions.states import CompetitionState, Due, Registration, Visibility
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.language import say
from anyshot_platform.organizers.bundles.reporting import read_report
from anyshot_platform.organizers.competitions import acts, file_acts, organizing
from anyshot_platform.organizers.competitions.agenda import read_agenda
from anyshot_platform.organizers.competitions.texts import values_now
from anyshot_platform.organizers.phases.acts import ACTS as PHASE_ACTS
from anyshot_platform.organizers.phases.organizing import count_submissions
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import list_phases, status_of
from anyshot_platform.sight.access import CompetitionAccess
from anyshot_platform.site.described.form import written_moment
from anyshot_platform.site.shell.act_frame import ask_which, perform_named
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    carry_out_change,
    manage_path,
    render_manage,
)
from anyshot_platform.web.forms import FormDep, SentForm
from anyshot_platform.web.markdown import markdown
from anyshot_platform.web.services import ServicesDep, SessionDep

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
        heading=say("Overview"),
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
    """The form of the settings, and the pages of text."""
    return render_manage(
        request,
        session,
        access,
        "settings.html",
        "settings",
        heading=say("Settings and texts"),
        fact_sheet_text=_questions(access.competition.fact_sheet),
        seen=seal(organizing.settings_of(access.competition)),
        values=values_now(session, access.competition),
        files=list_files(session, access.competition),
        is_image=is_image,
        file_acts=file_acts.ACTS,
        page_seen={page.id: seal(organizing.page_fields(page)) for page in access.competition.pages},
    )


def _questions(fact_sheet: list[dict[str, object]]) -> str:
    """The questions as the form writes them: `key: question`, a star where an answer is required."""
    return "\n".join(f"{q['key']}: {q['label']}{' *' if q.get('required') else ''}" for q in fact_sheet)


@router.post("/settings")
def save_settings(
    request: Request, access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Save what was changed; where somebody changed the same meanwhile, show both."""
    competition = access.competition

    def change() -> None:
        sent = _settings(form, competition)
        mine = changes(
            session,
            ("competition", competition.id),
            unseal(form.text("seen")),
            {name: organizing.plain(value) for name, value in sent.items()},
            organizing.settings_of(competition),
            unseal(form.text("insist")),
        )
        values = {name: sent[name] for name in mine}
        organizing.change_settings(session, competition, values, access.viewer.id)
        logo = form.file("logo")
        if logo is not None:
            organizing.set_logo(session, services.storage, access.competition, *logo, access.viewer.id)

    back = manage_path(access, "/settings")
    try:
        return carry_out_change(session, back, say("Saved."), change)
    except Stale as error:
        return ask_which(request, form, error, back)


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
        "team_size": form.number("team_size") or 1,
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
        raise Invalid(say("This is no moment: %(text)s", text=text[:40]), field=name) from None
    return before if before and found == before.replace(second=0, microsecond=0) else found


@router.post("/files")
def put_file(access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep) -> Response:
    """Keep a file for the pages, under its own name or another."""

    def change() -> str:
        sent = form.file("file")
        if sent is None:
            raise Invalid(say("Choose a file first."), field="file")
        name = form.text("name") or sent[0].rpartition("/")[2].replace(" ", "-")
        organizing.put_file(session, services.storage, access.competition, name, sent[1], access.viewer.id)
        return say("Write files/%(name)s where a page shall show it.", name=name)

    return carry_out_change(session, manage_path(access, "/settings#files"), "", change)


@router.post("/files/{name}/remove")
def remove_file(
    request: Request, access: AsOrganizer, session: SessionDep, name: str, form: FormDep
) -> Response:
    """Take a file away."""
    file, back = find_file(session, access.competition, name), manage_path(access, "/settings#files")
    return perform_named(request, session, form, file_acts.ACTS, "remove", file, access, back)


@router.post("/pages")
def save_page(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Add or change a page of text; where somebody changed the same meanwhile, show both."""
    competition = access.competition

    def change() -> None:
        page_id = form.text("page_id") or None
        fields = {"title": form.text("title"), "body": form.text("body")}
        if page_id:
            now_there = organizing.page_fields(organizing.find_page(competition, page_id))
            seen, insist = unseal(form.text("seen")), unseal(form.text("insist"))
            fields = now_there | changes(session, ("page", page_id), seen, fields, now_there, insist)
        organizing.save_page(session, competition, fields["title"], fields["body"], access.viewer.id, page_id)

    back = manage_path(access, "/settings#pages")
    try:
        return carry_out_change(session, back, say("The page is saved."), change)
    except Stale as error:
        return ask_which(request, form, error, back)


@router.post("/pages/preview")
def preview_page(access: AsOrganizer, session: SessionDep, form: FormDep) -> JSONResponse:
    """A text as the page would show it, and what is wrong with the values in it; nothing is saved."""
    text, values = form.text("body"), values_now(session, access.competition)
    files = f"/competitions/{access.competition.slug}/files/"
    return JSONResponse(
        {"html": str(markdown(fill(text, values), files)), "problems": unknown_in(text, values)}
    )


@router.post("/pages/{page_id}/move")
def move_page(access: AsOrganizer, session: SessionDep, page_id: str, form: FormDep) -> Response:
    """Move a page up or down."""
    by = -1 if form.text("by") == "-1" else 1
    change = partial(organizing.move_page, session, access.competition, page_id, by)
    return carry_out_change(session, manage_path(access, "/settings#pages"), "", change)


@router.post("/pages/{page_id}/delete")
def delete_page(access: AsOrganizer, session: SessionDep, page_id: str) -> Response:
    """Remove a page; its text stays in the audit log."""
    change = partial(organizing.delete_page, session, access.competition, page_id, access.viewer.id)
    return carry_out_change(
        session,
        manage_path(access, "/settings#pages"),
        say("The page is removed; its text is in the audit log."),
        change,
    )
