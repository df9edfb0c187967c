"""Webhooks over JSON: a competition's for its organizers, the site's for administrators."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from anyshot_platform.actions.service import ActOutcome
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.people.webhooks.actions import organizing
from anyshot_platform.people.webhooks.actions.acts import ACTS
from anyshot_platform.people.webhooks.delivery import webhook_secret
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.site.shell.act_routes import add_acts
from anyshot_platform.site.shell.manage_frame import ProvedOrganizer
from anyshot_platform.site.web.access import proved, site_admin
from anyshot_platform.site.web.services import ServicesDep, SessionDep

OF_COMPETITION = "/api/v1/competitions/{slug}/manage/webhooks"
OF_SITE = "/api/v1/admin/webhooks"
router = APIRouter(tags=["organizing: webhooks"])
HookParam = Annotated[str, Path(max_length=32)]
ProvedAdmin = Annotated[Viewer, Depends(proved(site_admin))]


class WebhookIn(BaseModel):
    """An address to post events to; no events means all."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(max_length=2000)
    events: list[Annotated[str, Field(max_length=64)]] = Field(default=[], max_length=50)


class DeliveryOut(BaseModel):
    """A message to an address: `status` is the last answer's, `ended_at` empty while it is tried again."""

    model_config = ConfigDict(from_attributes=True)

    event: str
    created_at: datetime
    attempts: int
    delivered: bool
    status: int | None
    error: str
    ended_at: datetime | None


class WebhookOut(BaseModel):
    """A webhook with its newest deliveries; `secret` is the key of the signatures."""

    id: str
    url: str
    events: list[str]
    active: bool
    secret: str
    created_at: datetime
    deliveries: list[DeliveryOut]


@router.get(OF_COMPETITION)
def list_webhooks(access: ProvedOrganizer, session: SessionDep, services: ServicesDep) -> list[WebhookOut]:
    """The webhooks of the competition, oldest first."""
    return _list(session, services, access.competition.id)


@router.post(OF_COMPETITION, status_code=201)
def add_webhook(
    access: ProvedOrganizer, session: SessionDep, services: ServicesDep, body: WebhookIn
) -> WebhookOut:
    """Post the events of the competition to an address."""
    return _add(session, services, access.competition.id, body, access.viewer.id)


@router.get(OF_SITE)
def list_site_webhooks(viewer: ProvedAdmin, session: SessionDep, services: ServicesDep) -> list[WebhookOut]:
    """The webhooks of the site, which get the events of all competitions, and the alerts."""
    return _list(session, services, None)


@router.post(OF_SITE, status_code=201)
def add_site_webhook(
    viewer: ProvedAdmin, session: SessionDep, services: ServicesDep, body: WebhookIn
) -> WebhookOut:
    """Post the events of the site to an address."""
    return _add(session, services, None, body, viewer.id)


def _find(session: Session, competition: Competition, webhook_id: HookParam) -> Webhook:
    return organizing.find_webhook(session, competition.id, webhook_id)


def _after(
    session: Session, access: CompetitionAccess, hook: Webhook, outcome: ActOutcome, services: ServicesDep
) -> WebhookOut:
    return _show(services, hook, organizing.list_deliveries(session, hook))


def _find_of_site(session: Session, viewer: Viewer, webhook_id: HookParam) -> Webhook:
    return organizing.find_webhook(session, None, webhook_id)


def _after_of_site(
    session: Session, viewer: Viewer, hook: Webhook, outcome: ActOutcome, services: ServicesDep
) -> WebhookOut:
    return _show(services, hook, organizing.list_deliveries(session, hook))


add_acts(router, ACTS, _find, _after, at=OF_COMPETITION + "/{webhook_id}")
add_acts(router, ACTS, _find_of_site, _after_of_site, at=OF_SITE + "/{webhook_id}", door=site_admin)


def _list(session: Session, services: Services, competition_id: str | None) -> list[WebhookOut]:
    return [_show(services, hook, sent) for hook, sent in organizing.list_webhooks(session, competition_id)]


def _add(
    session: Session, services: Services, competition_id: str | None, body: WebhookIn, actor_id: str
) -> WebhookOut:
    inside = services.settings.webhooks_to_private_addresses
    wanted = (competition_id, body.url, body.events, actor_id)
    hook = organizing.add_webhook(session, *wanted, private_allowed=inside)
    return _show(services, hook, [])


def _show(services: Services, hook: Webhook, sent: list[WebhookDelivery]) -> WebhookOut:
    return WebhookOut(
        id=hook.id,
        url=hook.url,
        events=hook.events,
        active=hook.active,
        secret=webhook_secret(services.signer, hook),
        created_at=hook.created_at,
        deliveries=[DeliveryOut.model_validate(row) for row in sent],
    )
