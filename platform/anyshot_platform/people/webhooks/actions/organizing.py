"""The webhooks of a competition, or of the site: list, find, add."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.webhooks.delivery import require_outside
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.people.webhooks.service import EVENTS


def list_webhooks(
    session: Session, competition_id: str | None
) -> list[tuple[Webhook, list[WebhookDelivery]]]:
    """The webhooks of a competition, or of the site, each with its newest deliveries."""
    query = select(Webhook).where(Webhook.competition_id == competition_id, Webhook.deleted_at.is_(None))
    found = []
    for hook in session.scalars(query.order_by(Webhook.created_at)):
        found.append((hook, list_deliveries(session, hook)))
    return found


def list_deliveries(session: Session, hook: Webhook) -> list[WebhookDelivery]:
    """The newest deliveries of a webhook."""
    sent = select(WebhookDelivery).where(WebhookDelivery.webhook_id == hook.id)
    return list(session.scalars(sent.order_by(WebhookDelivery.created_at.desc()).limit(10)))


def find_webhook(session: Session, competition_id: str | None, webhook_id: str) -> Webhook:
    """A webhook of the competition or site; raises `NotFound`."""
    hook = session.get(Webhook, webhook_id)
    if hook is None or hook.competition_id != competition_id or hook.deleted_at is not None:
        raise NotFound("There is no such webhook.")
    return hook


def add_webhook(
    session: Session,
    competition_id: str | None,
    url: str,
    events: Sequence[str],
    actor_id: str,
    *,
    private_allowed: bool = False,
) -> Webhook:
    """Post events to an address from now on; one in a private network only where the site's operator allows it."""
    require_outside(url, private_allowed=private_allowed)
    unknown = set(events) - set(EVENTS)
    if unknown:
        raise Invalid(f"There is no event {', '.join(sorted(unknown))}.", field="events")
    hook = Webhook(competition_id=competition_id, url=url, events=list(events), created_by=actor_id)
    session.add(hook)
    session.flush()
    _record(session, hook, actor_id, "webhook.add")
    return hook


def _record(session: Session, hook: Webhook, actor_id: str, action: str) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="webhook",
        object_id=hook.id,
        competition_id=hook.competition_id,
        after={"url": hook.url, "events": hook.events},
    )
