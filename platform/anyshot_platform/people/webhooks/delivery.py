"""Posts webhook messages: signed, retried with back-off, never into the private network.

All that are due are posted at once, each with `_DEADLINE` seconds for everything from the name to the answer's status,
so that a slow receiver keeps nobody else waiting. The answer's body is not read.

A receiver checks `X-Anyshot-Signature: sha256=HEX`, the HMAC-SHA256 of `TIMESTAMP.BODY` with the webhook's secret,
where TIMESTAMP is the header `X-Anyshot-Timestamp`; and drops a delivery whose `X-Anyshot-Delivery` it has seen.
"""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import logging
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

import httpx
from sqlalchemy import Select, func, select, update

from anyshot_platform.foundation.background.isolation import TRIES, back_off, describe_error
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import Signer
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery

log = logging.getLogger(__name__)
_BATCH = 50
_AT_ONCE_EACH = 5  # messages of one webhook: its receiver may be slow, and has no claim to the whole batch
_DEADLINE = 10.0  # seconds
_FREE_PORTS = 1024  # from here on; below are mail, SSH and other services that a message must not speak to
_RESOLVERS = ThreadPoolExecutor(8, thread_name_prefix="webhook-names")  # a name server may be slow, too
_UNICAST = ipaddress.IPv6Network("2000::/3")  # what the Internet's IPv6 addresses are taken from, one and all
_RELAYS = [ipaddress.ip_network(net) for net in ("192.88.99.0/24", "2001::/32", "2002::/16")]  # 6to4, Teredo


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


def parse_address(url: str) -> tuple[str, int]:
    """Host and port of a webhook's address; raises `ForbiddenAddress` for what nothing can be posted to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        if ":" not in host:  # no IPv6 address
            host.encode("idna")
        httpx.URL(url)
    except (ValueError, httpx.InvalidURL) as error:  # UnicodeError, too, is a ValueError
        raise ForbiddenAddress(f"Nothing can be posted to this address: {error}.", field="url") from error
    if parts.scheme not in ("http", "https") or not host:
        raise ForbiddenAddress(
            "A webhook's address begins with https:// or http:// and names a host.", field="url"
        )
    if port is None:
        port = 443 if parts.scheme == "https" else 80
    if port not in (80, 443) and port < _FREE_PORTS:
        words = f"A webhook's port is 80, 443, or {_FREE_PORTS} and above; {port} belongs to another service."
        raise ForbiddenAddress(words, field="url")
    return host, port


def require_outside(url: str, *, private_allowed: bool) -> None:
    """Raise `ForbiddenAddress` for what is seen to lie inside without asking a name server: `localhost`, an IP address.

    Any other name is looked up as a message goes out, by `resolve`: what it stands for may change.
    """
    host, port = parse_address(url)
    if private_allowed:
        return
    try:
        found = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP, flags=socket.AI_NUMERICHOST)
    except OSError:  # a name
        inside = f".{host.rstrip('.')}".endswith((".localhost", ".internal", ".local"))
    else:
        inside = not all(_is_public(str(entry[4][0])) for entry in found)
    if inside:
        raise ForbiddenAddress("Webhooks may not reach private networks.", field="url")


def resolve(url: str, *, private_allowed: bool) -> str:
    """The IP address to connect to; raises `ForbiddenAddress`.

    We resolve the name ourselves and connect to what we checked: asking twice would let a name server answer a
    public address first and a private one then.
    """
    host, port = parse_address(url)
    try:
        found = socket.getaddrinfo(host, port, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise ForbiddenAddress(f"{host} cannot be resolved.", field="url") from error
    addresses = [str(entry[4][0]) for entry in found]
    if not private_allowed and not all(map(_is_public, addresses)):
        raise ForbiddenAddress("Webhooks may not reach private networks.", field="url")
    return addresses[0]


def _is_public(text: str) -> bool:
    """Whether an address lies in the public network, and wraps or leads to no other one (NAT64, 6to4, Teredo)."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if any(address in net for net in _RELAYS) or (address.version == 6 and address not in _UNICAST):
        return False
    return address.is_global and not address.is_multicast


def send_due_deliveries(services: Services) -> int:
    """Post the messages that are due; returns how many arrived."""
    with services.database.reading() as session:
        due = [WebhookPost(*row) for row in session.execute(_due()).all()]
    taken = [post for post in due if _take(services, post.delivery)]
    return asyncio.run(_deliver_all(services, taken)) if taken else 0


@dataclass(frozen=True)
class WebhookPost:
    """A message and where it goes."""

    delivery: WebhookDelivery
    webhook: Webhook


def _due() -> Select[WebhookDelivery, Webhook]:
    place = func.row_number().over(partition_by=WebhookDelivery.webhook_id, order_by=WebhookDelivery.next_at)
    first = (
        select(WebhookDelivery.id, place.label("place"))
        .where(WebhookDelivery.ended_at.is_(None), WebhookDelivery.next_at <= now())
        .subquery()
    )
    return (
        select(WebhookDelivery, Webhook)
        .join(Webhook, Webhook.id == WebhookDelivery.webhook_id)
        .join(first, first.c.id == WebhookDelivery.id)
        .where(first.c.place <= _AT_ONCE_EACH, Webhook.deleted_at.is_(None))
        .order_by(WebhookDelivery.next_at)
        .limit(_BATCH)
    )


async def _deliver_all(services: Services, posts: Sequence[WebhookPost]) -> int:
    return sum(await asyncio.gather(*(_deliver(services, post) for post in posts)))


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
                next_at=now() + back_off(delivery.attempts + 1),
            )
            .execution_options(synchronize_session=False)
        )
        return taken.rowcount == 1  # pyright: ignore[reportAttributeAccessIssue]


async def _deliver(services: Services, post: WebhookPost) -> int:
    status, error = None, ""
    try:
        async with asyncio.timeout(_DEADLINE):
            status = await _post(services, post)
        error = "" if 200 <= status < 300 else f"answered {status}"
    except TimeoutError:
        error = f"no answer within {_DEADLINE:.0f} s"
    except Exception as problem:  # whatever the receiver or its address makes of it: the others get theirs
        log.warning("a webhook message failed", extra={"webhook_id": post.webhook.id}, exc_info=True)
        error = describe_error(problem)
    await asyncio.to_thread(_note, services, post, status, error)
    return int(not error)


def _note(services: Services, post: WebhookPost, status: int | None, error: str) -> None:
    last = not error or post.delivery.attempts + 1 >= TRIES or not post.webhook.active
    with services.database.writing() as session:
        session.execute(
            update(WebhookDelivery)
            .where(WebhookDelivery.id == post.delivery.id)
            .values(delivered=not error, status=status, error=error, ended_at=now() if last else None)
        )


async def _post(services: Services, post: WebhookPost) -> int:
    private_allowed = services.settings.webhooks_to_private_addresses
    look_up = partial(resolve, post.webhook.url, private_allowed=private_allowed)
    address = await asyncio.get_running_loop().run_in_executor(_RESOLVERS, look_up)
    url = httpx.URL(post.webhook.url)
    request = {
        "content": (body := json.dumps(post.delivery.payload, separators=(",", ":"), default=str).encode()),
        "headers": {"host": url.netloc.decode("ascii"), **_headers(services.signer, post, body)},
        "extensions": {"sni_hostname": url.host},
    }
    async with (
        httpx.AsyncClient(timeout=_DEADLINE, follow_redirects=False, trust_env=False) as client,
        client.stream("POST", url.copy_with(host=address), **request) as answer,
    ):
        return answer.status_code


def _headers(signer: Signer, post: WebhookPost, body: bytes) -> dict[str, str]:
    stamp = int(time.time())
    return {
        "content-type": "application/json",
        "user-agent": "anyshot-webhook/1",
        "x-anyshot-event": post.delivery.event,
        "x-anyshot-delivery": post.delivery.id,
        "x-anyshot-timestamp": str(stamp),
        "x-anyshot-signature": signature(webhook_secret(signer, post.webhook), stamp, body),
    }
