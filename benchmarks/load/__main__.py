"""Five hundred simulated users against a site with 100,000 submissions: pages, polling, uploads of 1 MB.

Each user does one thing in ten seconds on average. Loopback only, bounded in time; the users run in one process, the
site in others, on the same machine: what is measured includes their fight for the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy import select

from anyshot_platform.app import make_services
from anyshot_platform.competitions.models import Membership
from anyshot_platform.migration import migrate
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.submissions.models import Submission
from anyshot_platform.users.models import User
from anyshot_platform.users.service import begin_session, create_token
from anyshot_platform.web.services import Services
from anyshot_platform.web.viewer import SESSION_COOKIE, Scope
from benchmarks.chaos import machines
from benchmarks.chaos.bundles import make_bundle
from benchmarks.figures import Figure, figure, keep
from benchmarks.load.filling import analyze, fill
from benchmarks.load.stage import SLUG, make_competition
from benchmarks.servers import postgres

ACTION_EVERY = 10.0  # seconds, a user
UPLOAD_BYTES = 1_000_000
# (kind, weight): what a user does next.
ACTIONS = (("list", 5), ("poll", 4), ("upload", 1))


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2, help="web processes")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="anyshot-load-", ignore_cleanup_errors=True) as folder:
        figures = run(Path(folder), options)
    keep("load", figures, f"{options.users} users, {options.submissions} submissions, {options.database}")


def run(home: Path, options: argparse.Namespace) -> list[Figure]:
    """Set the site up, let the users in, and count."""
    with postgres() as server:
        if server is None:
            raise SystemExit("The load benchmark needs PostgreSQL.")
        environment = machines.platform_settings(
            home, server, "memory://", ANYSHOT_WEB_PROCESSES=str(options.processes)
        )
        if options.database == "sqlite":
            del environment["ANYSHOT_DATABASE_URL"]
        services = _services_of(environment)
        members = prepare(services, options)
        services.database.dispose()
        web = machines.web(home, environment)
        web.start()
        try:
            machines.wait_for_web(environment["ANYSHOT_BASE_URL"], web)
            record = asyncio.run(simulate(environment["ANYSHOT_BASE_URL"], members, options))
        finally:
            web.stop()
    return report(record, options)


def _services_of(environment: dict[str, str]) -> Services:
    values = {
        "secret_key": environment["ANYSHOT_SECRET_KEY"],
        "home": environment["ANYSHOT_HOME"],
        "database_url": environment.get("ANYSHOT_DATABASE_URL"),
    }
    return make_services(PlatformSettings.model_validate(values))


def prepare(services: Services, options: argparse.Namespace) -> list[Member]:
    """Fill the site, and sign the users in: argon2 is not what is measured here."""
    migrate(services.database)
    phase_id = make_competition(services)
    teams = fill(services.database, phase_id, teams=max(options.users, 5000), submissions=options.submissions)
    analyze(services.database)
    members = []
    with services.database.writing() as session:
        for team_id in teams[: options.users]:
            user_id = session.scalars(select(Membership.user_id).where(Membership.team_id == team_id)).one()
            user = session.get_one(User, user_id)
            token = create_token(session, user.id, name="load", scopes=list(Scope)).secret
            cookie = begin_session(session, user, user_agent="load", days=1).secret
            own = session.scalars(select(Submission.id).where(Submission.team_id == team_id).limit(1)).one()
            members.append(Member(token, cookie, own))
    return members


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
    kinds, weights = zip(*ACTIONS, strict=True)
    await asyncio.sleep(chance.uniform(0, ACTION_EVERY))
    while time.monotonic() < end:
        kind = chance.choices(kinds, weights)[0]
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


def report(record: Record, options: argparse.Namespace) -> list[Figure]:
    """The figures of a run."""
    for failure in sorted(set(record.failures))[:10]:
        print(f"failure: {failure} ({record.failures.count(failure)} times)")
    done = sum(map(len, record.seconds.values()))
    fives = sum(": 5" in failure for failure in record.failures)
    upload, listing, poll = (_p95(record.seconds[kind]) for kind in ("upload", "list", "poll"))
    load = os.getloadavg()[0]
    return [
        figure("load.actions", done, "actions"),
        figure("load.actions_per_second", done / options.seconds, "1/s"),
        figure("load.upload_1MB_p95", upload * 1000, "ms", "< 200", upload < 0.2),
        figure("load.list_p95", listing * 1000, "ms", "< 300", listing < 0.3),
        figure("load.poll_p95", poll * 1000, "ms"),
        figure("load.median_list", statistics.median(record.seconds["list"] or [0.0]) * 1000, "ms"),
        figure("load.server_errors", fives, "answers", "0", fives == 0),
        figure(
            "load.other_failures", len(record.failures) - fives, "answers", "0", len(record.failures) == fives
        ),
        figure("load.machine_load_average", load, ""),
    ]


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else float("nan")


if __name__ == "__main__":
    main()
