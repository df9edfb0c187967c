"""Posts webhook messages: signed, retried with back-off, never into the private network.

A receiver checks `X-Anyshot-Signature: sha256=HEX`, the HMAC-SHA256 of `TIMESTAMP.BODY` with the webhook's secret,
where TIMESTAMP is the header `X-Anyshot-Timestamp`; and drops a delivery whose `X-Anyshot-Delivery` it has seen.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import logging
import socket
import time
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
from sqlalchemy import select, update

from anyshot_platform.database import now
from anyshot_platform.errors import Invalid
from anyshot_platform.web.services import Services
from anyshot_platform.web.signing import Signer
from anyshot_platform.webhooks.models import Webhook, WebhookDelivery

log = logging.getLogger(__name__)
_TRIES = 8
_BATCH = 50
_TIMEOUT = 5.0


class ForbiddenAddress(Invalid):
    """The address is none that we post to."""

    code = "forbidden_address"


def webhook_secret(signer: Signer, webhook: Webhook) -> str:
    """The secret that a webhook's messages are signed with; shown to who made it."""
    return signer.sign("webhook", f"{webhook.id}:{webhook.secret_version}")


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The value of the signature header."""
    mac = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256)
    return f"sha256={mac.hexdigest()}"


def resolve(url: str, *, private_allowed: bool) -> str:
    """The IP address to connect to; raises `ForbiddenAddress`.

    We resolve the name ourselves and connect to what we checked: asking twice would let a name server answer a
    public address first and a private one then.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ForbiddenAddress("A webhook's address begins with https:// or http://.", field="url")
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, proto=socket.IPPROTO_TCP)
    except OSError as error:
        raise ForbiddenAddress(f"{parts.hostname} cannot be resolved.", field="url") from error
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not private_allowed and not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise ForbiddenAddress("Webhooks may not reach private networks.", field="url")
    return addresses[0]


def send_due_deliveries(services: Services) -> int:
    """Post the messages that are due; returns how many arrived."""
    with services.database.reading() as session:
        due = session.execute(
            select(WebhookDelivery, Webhook)
            .join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
            .where(WebhookDelivery.ended_at.is_(None), WebhookDelivery.next_at <= now())
            .order_by(WebhookDelivery.next_at)
            .limit(_BATCH)
        ).all()
    return sum(
        _deliver(services, delivery, webhook) for delivery, webhook in due if _take(services, delivery)
    )


def _take(services: Services, delivery: WebhookDelivery) -> bool:
    """Claim a delivery, so that no two processes send it, until its next try is due."""
    with services.database.writing() as session:
        taken = session.execute(
            update(WebhookDelivery)
            .where(
                WebhookDelivery.id == delivery.id,
                WebhookDelivery.attempts == delivery.attempts,
                WebhookDelivery.ended_at.is_(None),
            )
            .values(
                attempts=WebhookDelivery.attempts + 1,
                next_at=now() + timedelta(seconds=15 * 3**delivery.attempts),
            )
            .execution_options(synchronize_session=False)
        )
        return taken.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]


def _deliver(services: Services, delivery: WebhookDelivery, webhook: Webhook) -> int:
    status, error = None, ""
    try:
        status = _post(services, delivery, webhook)
        error = "" if 200 <= status < 300 else f"answered {status}"
    except (httpx.HTTPError, ForbiddenAddress) as problem:
        error = str(problem) or type(problem).__name__
    arrived = not error
    last = arrived or delivery.attempts + 1 >= _TRIES or not webhook.active
    with services.database.writing() as session:
        session.execute(
            update(WebhookDelivery)
            .where(WebhookDelivery.id == delivery.id)
            .values(delivered=arrived, status=status, error=error[:1000], ended_at=now() if last else None)
        )
    return int(arrived)


def _post(services: Services, delivery: WebhookDelivery, webhook: Webhook) -> int:
    address = resolve(webhook.url, private_allowed=services.settings.webhooks_to_private_addresses)
    body = json.dumps(delivery.payload, separators=(",", ":"), default=str).encode()
    stamp = int(time.time())
    url = httpx.URL(webhook.url)
    headers = {
        "host": url.netloc.decode(),
        "content-type": "application/json",
        "user-agent": "anyshot-webhook/1",
        "x-anyshot-event": delivery.event,
        "x-anyshot-delivery": delivery.id,
        "x-anyshot-timestamp": str(stamp),
        "x-anyshot-signature": signature(webhook_secret(services.signer, webhook), stamp, body),
    }
    with httpx.Client(timeout=_TIMEOUT, follow_redirects=False, trust_env=False) as client:
        answer = client.post(
            url.copy_with(host=address),
            content=body,
            headers=headers,
            extensions={"sni_hostname": url.host},
        )
    return answer.status_code
