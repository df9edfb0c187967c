"""The organizers' page of webhooks, and the site's."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.people.webhooks.actions import organizing
from anyshot_platform.people.webhooks.actions.acts import ACTS
from anyshot_platform.people.webhooks.delivery import webhook_secret
from anyshot_platform.people.webhooks.service import EVENTS
from anyshot_platform.site.shell.act_frame import perform_named, save_typed
from anyshot_platform.site.shell.manage_frame import ProvedOrganizer, manage_path, render_manage
from anyshot_platform.site.web.access import proved, site_admin
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(include_in_schema=False)
ProvedAdmin = Annotated[Viewer, Depends(proved(site_admin))]


def _hooks(session: Session, services: Services, competition_id: str | None) -> dict[str, Any]:
    hooks = organizing.list_webhooks(session, competition_id)
    secrets = {hook.id: webhook_secret(services.signer, hook) for hook, _ in hooks}
    return {"hooks": hooks, "secrets": secrets, "events": EVENTS, "acts": ACTS}


def _add(
    session: Session, services: Services, competition_id: str | None, form: SentForm, actor_id: str
) -> None:
    inside = services.settings.webhooks_to_private_addresses
    wanted = (competition_id, form.text("url", 2000), form.all("events"), actor_id)
    organizing.add_webhook(session, *wanted, private_allowed=inside)


@router.get("/competitions/{slug}/manage/webhooks")
def show_webhooks(
    request: Request, access: ProvedOrganizer, session: SessionDep, services: ServicesDep
) -> Response:
    """The webhooks with their newest deliveries."""
    return _show(request, access, session, services)


def _show(
    request: Request, access: CompetitionAccess, session: Session, services: Services, **refused: Any
) -> Response:
    return render_manage(
        request,
        session,
        access,
        "webhooks.html",
        "webhooks",
        heading="Webhooks",
        target=manage_path(access, "/webhooks"),
        **_hooks(session, services, access.competition.id),
        **refused,
    )


@router.post("/competitions/{slug}/manage/webhooks")
def add_webhook(
    request: Request, access: ProvedOrganizer, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Add an address; a refusal shows the form again with what was typed."""
    change = partial(_add, session, services, access.competition.id, form, access.viewer.id)

    def show_again(refused: dict[str, Any]) -> Response:
        return _show(request, access, session, services, ticked=form.all("events"), **refused)

    back, done = manage_path(access, "/webhooks"), "The webhook is added."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/competitions/{slug}/manage/webhooks/{webhook_id}/{act}")
def change_webhook(
    request: Request, access: ProvedOrganizer, session: SessionDep, webhook_id: str, act: str, form: FormDep
) -> Response:
    """Switch, renew, test, remove."""
    hook = organizing.find_webhook(session, access.competition.id, webhook_id)
    return perform_named(request, session, form, ACTS, act, hook, access, manage_path(access, "/webhooks"))


@router.get("/admin/webhooks")
def show_site_webhooks(
    request: Request, viewer: ProvedAdmin, session: SessionDep, services: ServicesDep
) -> Response:
    """The site's webhooks, which get the events of all competitions and the alerts."""
    return _show_of_site(request, session, services)


def _show_of_site(request: Request, session: Session, services: Services, **refused: Any) -> Response:
    return render(
        request,
        "admin/webhooks.html",
        section="admin",
        current="webhooks",
        may_change=True,
        target="/admin/webhooks",
        **_hooks(session, services, None),
        **refused,
    )


@router.post("/admin/webhooks")
def add_site_webhook(
    request: Request, viewer: ProvedAdmin, session: SessionDep, services: ServicesDep, form: FormDep
) -> Response:
    """Add an address for the site; a refusal shows the form again with what was typed."""

    def show_again(refused: dict[str, Any]) -> Response:
        return _show_of_site(request, session, services, ticked=form.all("events"), **refused)

    change = partial(_add, session, services, None, form, viewer.id)
    done = "The webhook is added."
    return save_typed(request, session, form, "/admin/webhooks", done, change, show_again)


@router.post("/admin/webhooks/{webhook_id}/{act}")
def change_site_webhook(
    request: Request, viewer: ProvedAdmin, session: SessionDep, webhook_id: str, act: str, form: FormDep
) -> Response:
    """Switch, renew, test, remove."""
    hook = organizing.find_webhook(session, None, webhook_id)
    return perform_named(request, session, form, ACTS, act, hook, viewer, "/admin/webhooks")
