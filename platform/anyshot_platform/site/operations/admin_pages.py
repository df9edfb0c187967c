"""The pages of site administrators: operations, users, competitions, workers and images, storage."""

from __future__ import annotations

from datetime import UTC
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select
from starlette.responses import Response

from anyshot_platform.accounts import administration
from anyshot_platform.alerts.service import list_open
from anyshot_platform.audit import service as audit
from anyshot_platform.competitions.models import Competition
from anyshot_platform.database import now
from anyshot_platform.errors import Invalid
from anyshot_platform.kernel.language import say
from anyshot_platform.kernel.paging import PageParam
from anyshot_platform.kernel.slugs import check_slug
from anyshot_platform.operations import account_acts, overview, worker_acts
from anyshot_platform.operations.set_aside import list_set_aside, retry, retry_all
from anyshot_platform.operations.watch import late_loops
from anyshot_platform.queue.loops import read_loops
from anyshot_platform.sight.access import find_competition
from anyshot_platform.site.shell.act_frame import merge, perform_named, save_merged
from anyshot_platform.site.shell.manage_frame import carry_out_change
from anyshot_platform.users.viewer import Viewer
from anyshot_platform.web.access import site_admin
from anyshot_platform.web.forms import FormDep
from anyshot_platform.web.rendering import render
from anyshot_platform.web.services import ServicesDep, SessionDep
from anyshot_platform.workers.models import Image, WorkerToken
from anyshot_platform.workers.tokens import DAYS, Reach, create_worker_token, find_worker_token

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
        queues=overview.read_queues(session),
        workers=overview.read_workers(session),
        worker_acts=worker_acts.ACTS,
        failures=overview.count_failures(session),
        lost=lost,
        about=overview.submissions_of(session, lost),
        loops=read_loops(session),
        late={loop.name for loop in late_loops(session, services.settings)},
        set_aside=list_set_aside(session),
        now=now().astimezone(UTC),
    )


@router.post("/set-aside")
def retry_everything(viewer: Admin, session: SessionDep) -> Response:
    """Try everything again that is set aside."""
    return carry_out_change(
        session, "/admin", say("All of it is tried again."), lambda: retry_all(session, viewer.id) and None
    )


@router.post("/set-aside/{kind}/{identity}")
def retry_one(viewer: Admin, session: SessionDep, kind: str, identity: str) -> Response:
    """Try one thing again that is set aside."""
    return carry_out_change(
        session, "/admin", say("It is tried again."), lambda: retry(session, kind, identity, viewer.id)
    )


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
        secret=secret,
        worker_acts=worker_acts.ACTS,
        token_acts=worker_acts.OF_TOKENS,
    )


@router.post("/workers/tokens")
def make_token(request: Request, viewer: Admin, session: SessionDep, form: FormDep) -> Response:
    """Make a worker's token and show it once."""
    slug = form.text("competition")
    only = find_competition(session, slug).id if slug else None
    reach = Reach(form.text("hardware_class", 64), only, form.number("days") or DAYS)
    secret = create_worker_token(session, form.text("name"), viewer.id, reach)
    audit.record(
        session,
        actor_id=viewer.id,
        action="worker.token",
        object_type="worker_token",
        object_id=form.text("name")[:64],
    )
    return _show_workers(request, session, secret)


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
def save_image(request: Request, viewer: Admin, session: SessionDep, form: FormDep) -> Response:
    """Offer a sandbox image, change its description, or switch it off."""

    def change() -> None:
        name = form.text("name", 64)
        if not name:
            raise Invalid(say("An image needs a name."), field="name")
        check_slug(name)
        image = session.scalars(select(Image).where(Image.name == name)).one_or_none()
        current = {"description": image.description, "enabled": image.enabled} if image else {}
        description = form.text("description")
        sent = {
            "enabled": form.text("enabled") != "0",
            **({"description": description} if description else {}),
        }
        wanted = (
            merge(session, form, ("image", name), sent, current) if image else {"description": "", **sent}
        )
        if not wanted:
            return
        image = image or Image(name=name)
        for field, value in wanted.items():
            setattr(image, field, value)
        session.add(image)
        audit.record(
            session,
            actor_id=viewer.id,
            action="image.save",
            object_type="image",
            object_id=name,
            before={field: current[field] for field in wanted if field in current},
            after=wanted,
        )

    return save_merged(request, session, form, "/admin/workers", say("Saved."), change)


@router.get("/storage")
def show_storage(request: Request, viewer: Admin, session: SessionDep) -> Response:
    """What lies in the storage."""
    rows = overview.read_storage(session)
    return render(request, "admin/storage.html", section="admin", current="storage", rows=rows)
