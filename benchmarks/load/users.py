"""Simulated users: each does one thing in ten seconds on average."""

import argparse
import asyncio
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from anyshot_platform.site.web.viewer import SESSION_COOKIE
from benchmarks.chaos.bundles import make_bundle
from benchmarks.load.stage import SLUG
from benchmarks.load.wire import Answer, NoAnswer, Wire

ACTION_EVERY = 10.0  # seconds, a user
UPLOAD_BYTES = 1_000_000
# What a user does next, with its weight.
ACTIONS = {"list": 5, "poll": 4, "upload": 1}
LISTS = (
    f"/competitions/{SLUG}/leaderboard",
    f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard",
    f"/api/v1/competitions/{SLUG}/submissions",
    f"/competitions/{SLUG}",
)


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

    def note(self, kind: str, began: float) -> None:
        """Something that began at `began` (`time.perf_counter`) is done."""
        self.seconds[kind].append(time.perf_counter() - began)


async def simulate(address: str, members: list[Member], options: argparse.Namespace) -> Record:
    """All users at once, for the time given."""
    record, wire = Record(), Wire(address)
    end = time.monotonic() + options.seconds
    users = [
        _live(wire, member, random.Random(options.seed * 10_000 + n), record, end)
        for n, member in enumerate(members)
    ]
    await asyncio.gather(*users)
    wire.close()
    return record


async def _live(wire: Wire, member: Member, chance: random.Random, record: Record, end: float) -> None:
    actions: dict[str, Callable[..., Awaitable[None]]] = {"list": _list, "poll": _poll, "upload": _upload}
    await asyncio.sleep(chance.uniform(0, ACTION_EVERY))
    while time.monotonic() < end:
        kind = chance.choices(list(ACTIONS), list(ACTIONS.values()))[0]
        try:
            await actions[kind](wire, member, chance, record)
        except NoAnswer as error:
            record.failures.append(f"{kind}: {error}")
        await asyncio.sleep(chance.uniform(0.5, 1.5) * ACTION_EVERY)


async def _list(wire: Wire, member: Member, chance: random.Random, record: Record) -> None:
    path = chance.choice(LISTS)
    headers = {"cookie": f"{SESSION_COOKIE}={member.cookie}", "accept": "text/html"}
    began = time.perf_counter()
    if await _checked(record, path, wire.ask("GET", path, headers)) is not None:
        record.note("list", began)
        record.note(path, began)


async def _poll(wire: Wire, member: Member, chance: random.Random, record: Record) -> None:
    began = time.perf_counter()
    call = wire.ask("GET", f"/api/v1/submissions/{member.submission_id}", _token(member))
    if await _checked(record, "poll", call) is not None:
        record.note("poll", began)


async def _upload(wire: Wire, member: Member, chance: random.Random, record: Record) -> None:
    """Begin, send and submit: three requests, timed together."""
    content = make_bundle("constant", chance.randrange(10**9), padding=UPLOAD_BYTES)
    began = time.perf_counter()
    body = {"filename": "x.zip", "size": len(content)}
    begun = await _checked(record, "begin", wire.post("/api/v1/uploads", _token(member), body))
    if begun is None:
        return
    upload_id = begun.json()["id"]
    put = wire.ask("PUT", f"/api/v1/uploads/{upload_id}?offset=0", _token(member), body=content)
    if await _checked(record, "send", put) is None:
        return
    path = f"/api/v1/competitions/{SLUG}/phases/feedback/submissions"
    submit = wire.post(path, _token(member), {"upload_id": upload_id})
    if await _checked(record, "submit", submit) is not None:
        record.note("upload", began)


def _token(member: Member) -> dict[str, str]:
    return {"authorization": f"Bearer {member.token}"}


async def _checked(record: Record, kind: str, call: Awaitable[Answer]) -> Answer | None:
    answer = await call
    if answer.is_success:
        return answer
    record.failures.append(f"{kind}: {answer.status}")
    return None
