"""Simulated users: each does one thing in ten seconds on average."""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

from anyshot_platform.web.viewer import SESSION_COOKIE
from benchmarks.chaos.bundles import make_bundle
from benchmarks.load.stage import SLUG

ACTION_EVERY = 10.0  # seconds, a user
UPLOAD_BYTES = 1_000_000
# What a user does next, with its weight.
ACTIONS = {"list": 5, "poll": 4, "upload": 1}


@dataclass(frozen=True)
class Member:
    """A user with both ways to come in."""

    token: str
    cookie: str
    submission_id: str


@dataclass
class Record:
    """Seconds by kind, and what failed."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)


async def simulate(address: str, members: list[Member], options: argparse.Namespace) -> Record:
    """All users at once, for the time given."""
    record = Record()
    limits = httpx.Limits(max_connections=200, max_keepalive_connections=200)
    end = time.monotonic() + options.seconds
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60.0) as client:
        users = [
            _live(client, member, random.Random(options.seed * 10_000 + n), record, end)
            for n, member in enumerate(members)
        ]
        await asyncio.gather(*users)
    return record


async def _live(
    client: httpx.AsyncClient, member: Member, chance: random.Random, record: Record, end: float
) -> None:
    actions: dict[str, Callable[..., Awaitable[None]]] = {"list": _list, "poll": _poll, "upload": _upload}
    await asyncio.sleep(chance.uniform(0, ACTION_EVERY))
    while time.monotonic() < end:
        kind = chance.choices(list(ACTIONS), list(ACTIONS.values()))[0]
        try:
            await actions[kind](client, member, chance, record)
        except httpx.TransportError as error:
            record.failures.append(f"{kind}: {type(error).__name__}")
        await asyncio.sleep(chance.uniform(0.5, 1.5) * ACTION_EVERY)


async def _list(client: httpx.AsyncClient, member: Member, chance: random.Random, record: Record) -> None:
    paths = (
        f"/competitions/{SLUG}/leaderboard",
        f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard",
        f"/api/v1/competitions/{SLUG}/submissions",
        f"/competitions/{SLUG}",
    )
    path = chance.choice(paths)
    headers = {"cookie": f"{SESSION_COOKIE}={member.cookie}", "accept": "text/html"}
    await _timed(record, "list", client.get(path, headers=headers, follow_redirects=True))


async def _poll(client: httpx.AsyncClient, member: Member, chance: random.Random, record: Record) -> None:
    headers = {"authorization": f"Bearer {member.token}"}
    await _timed(record, "poll", client.get(f"/api/v1/submissions/{member.submission_id}", headers=headers))


async def _upload(client: httpx.AsyncClient, member: Member, chance: random.Random, record: Record) -> None:
    """Begin, send and submit: three requests, timed together."""
    headers = {"authorization": f"Bearer {member.token}"}
    content = make_bundle("constant", chance.randrange(10**9), padding=UPLOAD_BYTES)
    began = time.perf_counter()
    body = {"filename": "x.zip", "size": len(content)}
    begun = await _checked(record, "upload", client.post("/api/v1/uploads", json=body, headers=headers))
    if begun is None:
        return
    upload_id = begun.json()["id"]
    put = client.put(f"/api/v1/uploads/{upload_id}", params={"offset": 0}, content=content, headers=headers)
    if await _checked(record, "upload", put) is None:
        return
    submit = client.post(
        f"/api/v1/competitions/{SLUG}/phases/feedback/submissions",
        json={"upload_id": upload_id},
        headers=headers,
    )
    if await _checked(record, "upload", submit) is not None:
        record.seconds["upload"].append(time.perf_counter() - began)


async def _timed(record: Record, kind: str, call: Awaitable[httpx.Response]) -> None:
    began = time.perf_counter()
    if await _checked(record, kind, call) is not None:
        record.seconds[kind].append(time.perf_counter() - began)


async def _checked(record: Record, kind: str, call: Awaitable[httpx.Response]) -> httpx.Response | None:
    answer = await call
    if answer.is_success:
        return answer
    record.failures.append(f"{kind}: {answer.status_code} {answer.request.url.path}")
    return None
