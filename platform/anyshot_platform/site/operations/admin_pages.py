"""The pages of site administrators: operations, users, competitions, workers and images, storage."""

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.responses import Response

from anyshot_core.installation import join_line
from anyshot_platform.actions.concurrency import changes_upon, tag_of
from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import ActRefused, carry_out
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.foundation.background.loops import read_loops
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.judging.workers.models import Image, WorkerToken
from anyshot_platform.judging.workers.packages import asked_images
from anyshot_platform.judging.workers.tokens import find_worker_token
from anyshot_platform.people.accounts import administration
from anyshot_platform.people.alerts.service import list_open
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.running.operations import (
    account_acts,
    alert_acts,
    dead_letter_acts,
    image_acts,
    overview,
    worker_acts,
)
from anyshot_platform.running.operations.dead_letters import find_given_up, list_set_aside
from anyshot_platform.running.operations.watch import late_loops
from anyshot_platform.site.shell.act_frame import perform_named, read_options, save_form
from anyshot_platform.site.web.access import site_admin
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.rendering import redirect, render
from anyshot_platform.site.web.services import ServicesDep, SessionDep, site_address

router = APIRouter(prefix="/admin", include_in_schema=False)
Admin = Annotated[Viewer, Depends(site_admin)]


@router.get("")
def show_operations(request: Request, viewer: Admin, session: SessionDep, services: ServicesDep) -> Response:
    """Queues, workers, failures, alerts, background threads, what is set aside."""
    lost = overview.lost_attempts(session)
    return render(
        request,
        "admin/operations.html",
        section="admin",
        current="operations",
        alerts=list_open(session),
        alert_acts=alert_acts.ACTS,
        queues=overview.read_queues(session),
        workers=overview.read_workers(session),
        worker_acts=worker_acts.ACTS,
        failures=overview.count_failures(session),
        lost=lost,
        about=overview.submissions_of(session, lost),
        loops=read_loops(session),
        late={loop.name for loop in late_loops(session, services.settings)},
        set_aside=list_set_aside(session),
        set_aside_acts=dead_letter_acts.ACTS,
        all_acts=dead_letter_acts.OF_ALL,
        now=now().astimezone(UTC),
    )


@router.post("/alerts/{alert_id}/{act}")
def act_on_alert(
    request: Request, viewer: Admin, session: SessionDep, alert_id: str, act: str, form: FormDep
) -> Response:
    """Close an alert that is dealt with."""
    alert = alert_acts.find_alert(session, alert_id)
    return perform_named(request, session, form, alert_acts.ACTS, act, alert, viewer, "/admin")


@router.post("/set-aside/{act}")
def act_on_all(request: Request, viewer: Admin, session: SessionDep, act: str, form: FormDep) -> Response:
    """Try everything again that is set aside."""
    found = list_set_aside(session)
    return perform_named(request, session, form, dead_letter_acts.OF_ALL, act, found, viewer, "/admin")


@router.post("/set-aside/{kind}/{identity}/{act}")
def act_on_one(
    request: Request, viewer: Admin, session: SessionDep, kind: str, identity: str, act: str, form: FormDep
) -> Response:
    """Try one thing again that is set aside, or give it up."""
    found = find_given_up(session, kind, identity)
    return perform_named(request, session, form, dead_letter_acts.ACTS, act, found, viewer, "/admin")


@router.get("/users")
def show_users(
    request: Request, viewer: Admin, session: SessionDep, q: str = "", page: PageParam = 1
) -> Response:
    """The site's accounts, with a search."""
    users, place = administration.list_users(session, q, page)
    return render(
        request,
        "admin/users.html",
        section="admin",
        current="users",
        users=users,
        page=place,
        q=q,
        own_id=viewer.id,
        acts=account_acts.ACTS,
    )


@router.post("/users/{user_id}/{act}")
def act_on_user(
    request: Request, viewer: Admin, session: SessionDep, user_id: str, act: str, form: FormDep
) -> Response:
    """Block, unblock, promote, demote, let organize, sign out."""
    user = administration.find_user(session, user_id)
    return perform_named(request, session, form, account_acts.ACTS, act, user, viewer, "/admin/users")


@router.get("/competitions")
def show_competitions(request: Request, viewer: Admin, session: SessionDep) -> Response:
    """All competitions, also drafts and deleted ones."""
    found = session.scalars(select(Competition).order_by(Competition.created_at.desc()).limit(500))
    return render(
        request, "admin/competitions.html", section="admin", current="competitions", rows=list(found)
    )


@router.get("/workers")
def show_workers(request: Request, viewer: Admin, session: SessionDep) -> Response:
    """Workers, their tokens, images."""
    return _show_workers(request, session)


def _show_workers(request: Request, session: SessionDep, secret: str = "") -> Response:
    tokens = session.scalars(select(WorkerToken).order_by(WorkerToken.created_at.desc()))
    return render(
        request,
        "admin/workers.html",
        section="admin",
        current="workers",
        workers=overview.read_workers(session),
        tokens=list(tokens),
        images=list(session.scalars(select(Image).order_by(Image.name))),
        asked=asked_images(session),
        secret=secret,
        join_line=join_line(site_address(request), kit_version()),
        worker_acts=worker_acts.ACTS,
        token_acts=worker_acts.OF_TOKENS,
        image_acts=image_acts.ACTS,
        seen=tag_of({}),
    )


@router.post("/workers/tokens")
def make_token(request: Request, viewer: Admin, session: SessionDep, form: FormDep) -> Response:
    """Create a worker's token and show it once."""
    try:
        wish = ActRequest(viewer.id, options=read_options(worker_acts.TOKEN, form), viewer=viewer)
        made = carry_out(session, worker_acts.TOKEN, worker_acts.Tokens(), wish)
    except (ActRefused, Invalid) as error:
        return redirect("/admin/workers", flash=error.message, tone="bad")
    return _show_workers(request, session, made.result.text)


@router.post("/workers/tokens/{token_id}/{act}")
def act_on_token(
    request: Request, viewer: Admin, session: SessionDep, token_id: str, act: str, form: FormDep
) -> Response:
    """Revoke a token."""
    token = find_worker_token(session, token_id)
    return perform_named(request, session, form, worker_acts.OF_TOKENS, act, token, viewer, "/admin/workers")


@router.post("/workers/{worker_id}/{act}")
def act_on_worker(
    request: Request, viewer: Admin, session: SessionDep, worker_id: str, act: str, form: FormDep
) -> Response:
    """Give a worker nothing more, or work again."""
    worker = overview.find_worker(session, worker_id)
    return perform_named(request, session, form, worker_acts.ACTS, act, worker, viewer, "/admin/workers")


@router.post("/images")
def offer_image(request: Request, viewer: Admin, session: SessionDep, form: FormDep) -> Response:
    """Offer a sandbox image, or describe one otherwise; where somebody described it meanwhile, show both."""

    def change() -> str:
        image = image_acts.find_image(session, form.text("name", 64))
        options = read_options(image_acts.OFFER, form)
        described = {"description": text} if (text := options.description) else {}
        changes_upon(
            session, ("image", image.name), form.text("seen"), described, image_acts.image_fields(image)
        )
        wish = ActRequest(viewer.id, options=options, viewer=viewer)
        return carry_out(session, image_acts.OFFER, image, wish).message

    return save_form(request, session, form, "/admin/workers", "Saved.", change)


@router.post("/images/{name}/{act}")
def act_on_image(
    request: Request, viewer: Admin, session: SessionDep, name: str, act: str, form: FormDep
) -> Response:
    """Switch an image off, or offer it again."""
    image = image_acts.find_image(session, name)
    return perform_named(request, session, form, image_acts.ACTS, act, image, viewer, "/admin/workers")


@router.get("/storage")
def show_storage(request: Request, viewer: Admin, session: SessionDep) -> Response:
    """What lies in the storage."""
    rows = overview.read_storage(session)
    return render(request, "admin/storage.html", section="admin", current="storage", rows=rows)
