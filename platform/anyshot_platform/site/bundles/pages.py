"""The page on which a competition is begun: a bundle, or one that ships with Anyshot."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import NeedsConsent, carry_out, preview
from anyshot_platform.contest.bundles.actions.reporting import read_report
from anyshot_platform.contest.bundles.actions.service import clone_competition
from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.isolated_reading import read_sent_bundle
from anyshot_platform.contest.bundles.reading import BundleInvalid, CompetitionBundle
from anyshot_platform.contest.bundles.ready import ready_made
from anyshot_platform.contest.competitions.actions.acts import TAKE_SECRETS
from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.errors import Invalid, NotFound, PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.people.users.viewer import Scope, Viewer
from anyshot_platform.site.bundles.making import begin_draft, bundle_response, find_ready_made, take_bundle
from anyshot_platform.site.shell.act_frame import ask, consent_of, show_preview
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsOwner,
    AsReviewer,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.access import may_organize, signed_in_as
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
InBrowser = Annotated[Viewer, Depends(signed_in_as(Scope.ORGANIZE))]
Beginner = Annotated[Viewer, Depends(may_organize)]


@router.get("/organize")
def show_organize(request: Request, session: SessionDep, viewer: InBrowser) -> Response:
    """The viewer's competitions, and how to begin another."""
    return show_organize_page(request, session, viewer)


def show_organize_page(
    request: Request,
    session: Session,
    viewer: Viewer,
    *,
    status: int = 200,
    problems: list[str] | None = None,
) -> Response:
    """The page `/organize`, with what is wrong with what was sent."""
    organized = select(Membership.competition_id).where(
        Membership.user_id == viewer.id,
        Membership.status == MemberStatus.APPROVED,
        Membership.role != Role.PARTICIPANT,
    )
    query = select(Competition).where(Competition.id.in_(organized)).order_by(Competition.created_at.desc())
    return render(
        request,
        "manage/organize.html",
        status_code=status,
        section="organize",
        mine=list(session.scalars(query)),
        ready=ready_made(),
        problems=problems or [],
    )


@router.post("/organize/import")
def import_bundle(request: Request, services: ServicesDep, viewer: Beginner, form: FormDep) -> Response:
    """Import an uploaded zip or a ready-made competition, or show everything that is wrong with it.

    No transaction is open while it is read and its datasets are packed.
    """
    try:
        slug = _import(services, viewer, form)
    except BundleInvalid as error:
        problems, status = [problem.words for problem in error.problems], 422
    except (BundleUnreadable, ValueError) as error:
        problems, status = [str(error)], 422
    except PlatformError as error:
        problems, status = [error.message], error.status
    else:
        return redirect(f"/competitions/{slug}/manage/import")
    with services.database.reading() as session:
        return show_organize_page(request, session, viewer, status=status, problems=problems)


def _import(services: Services, viewer: Viewer, form: SentForm) -> str:
    start = form.text("start")
    moment = datetime.fromisoformat(start) if start else None
    return take_bundle(services, viewer, lambda folder: _read(form, folder), form.text("slug"), moment)


@router.get("/competitions/{slug}/manage/import")
def show_import(request: Request, access: AsReviewer, session: SessionDep) -> Response:
    """What the import that made the competition took over, what is left to do, what has no equivalent."""
    report = read_report(session, access.competition)
    if report is None:
        raise NotFound("This competition was not imported, or no report was kept.")
    return render_manage(
        request,
        session,
        access,
        "imported.html",
        "overview",
        heading="Imported",
        report=report,
    )


def _read(form: SentForm, folder: Path) -> CompetitionBundle:
    name = form.text("ready")
    if name:
        return find_ready_made(name)
    uploaded = form.file("bundle")
    if uploaded is None:
        raise BundleUnreadable("Choose the zip of a competition first.")
    return read_sent_bundle(uploaded[1], folder)


@router.post("/organize/new")
def begin_empty(request: Request, session: SessionDep, viewer: Beginner, form: FormDep) -> Response:
    """Create an empty draft."""
    try:
        made = begin_draft(session, viewer, form.text("title"), form.text("slug"))
    except PlatformError as error:
        session.rollback()
        return show_organize_page(request, session, viewer, status=error.status, problems=[error.message])
    return redirect(f"/competitions/{made.slug}/manage", flash="The draft is there. Add a phase next.")


@router.post("/competitions/{slug}/manage/clone", dependencies=[Depends(may_organize)])
def clone(access: AsOrganizer, session: SessionDep, services: ServicesDep, form: FormDep) -> Response:
    """The same competition once more, as a draft: for next year."""
    try:
        made = clone_competition(
            session,
            services.storage,
            access.competition,
            access.viewer,
            slug=form.text("slug"),
            title=form.text("title"),
            start=_start(form.text("start")),
        )
        session.flush()
    except PlatformError as error:
        if error.status not in (409, 422):
            raise
        session.rollback()
        return redirect(manage_path(access, "/exports"), flash=error.message, tone="bad")
    words = "The copy is a draft. Its keys and seeds are new; look at its dates and texts."
    return redirect(f"/competitions/{made.competition.slug}/manage", flash=words)


def _start(text: str) -> datetime | None:
    """The first moment of the copy, in UTC."""
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(f"This is not a date: {text[:40]}", field="start") from None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found


@router.get("/competitions/{slug}/manage/bundle.zip")
def download_bundle(access: AsOrganizer, session: SessionDep, services: ServicesDep) -> Response:
    """The competition as a bundle, without the seeds of hidden tasks."""
    return bundle_response(services, session, access.competition, secrets=False)


@router.get("/competitions/{slug}/manage/bundle-with-seeds")
def ask_for_secrets(request: Request, access: AsOwner, session: SessionDep) -> Response:
    """What it means to take the secrets, and the field for the name."""
    shown = preview(session, TAKE_SECRETS, access.competition, ActRequest(access.viewer.id))
    return show_preview(request, shown, manage_path(access, "/exports"))


@router.post("/competitions/{slug}/manage/bundle-with-seeds")
def download_whole_bundle(
    request: Request, access: AsOwner, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """The competition as a bundle with its keys and seeds, for owners who type its name."""
    wish, consent = ActRequest(access.viewer.id, form.text("reason")), consent_of(form)
    try:
        carry_out(session, TAKE_SECRETS, access.competition, wish, consent)
    except NeedsConsent as error:
        return ask(request, form, error, manage_path(access, "/exports"))
    return bundle_response(services, session, access.competition, secrets=True)
