"""What the platform bears: `users`, `crowd`, `streams`, `workers` (benchmarks.workers) and `database` (of a board).

Users: five hundred of them against a site with 100,000 submissions: pages, polling, uploads of 1 MB.

Each user does one thing in ten seconds on average. Loopback only, bounded in time; the users run in one process, the
site in others, on the same machine: what is measured includes their fight for the cores.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select

import benchmarks.leaderboard.__main__ as leaderboard
import benchmarks.workers.__main__ as workers
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.accounts.service import begin_session, create_token
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Scope
from benchmarks.chaos import machines
from benchmarks.chaos.stage import services_of
from benchmarks.figures import Figure, figure, keep
from benchmarks.load.crowd import come
from benchmarks.load.filling import analyze, fill
from benchmarks.load.spent import Spent
from benchmarks.load.stage import make_competition
from benchmarks.load.streams import idle, keep_waiting
from benchmarks.load.users import ACTIONS, LISTS, Member, Record, simulate
from benchmarks.servers import postgres

SETTLE_SECONDS = 15.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts; all if left out")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--visitors", type=int, default=1000, help="of the part `crowd`, at the same moment")
    parser.add_argument("--streams", type=int, default=500, help="of the part `streams`")
    parser.add_argument("--processes", type=int, default=2, help="web processes")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), default="postgresql")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for part in options.part or PARTS:
        PARTS[part](options)


def measure_users(options: argparse.Namespace) -> None:
    """The simulated users; results in `load.json`."""
    with tempfile.TemporaryDirectory(prefix="anyshot-load-", ignore_cleanup_errors=True) as folder:
        figures = run(Path(folder), options)
    keep("load", figures, f"{options.users} users, {options.submissions} submissions, {options.database}")


def measure_workers(options: argparse.Namespace) -> None:
    """Claims, cancels and throughput; results in `workers.json`."""
    workers.main([])


def measure_database(options: argparse.Namespace) -> None:
    """Boards and claims among many submissions; results in `leaderboard.json`."""
    leaderboard.main(["--submissions", str(options.submissions)])


def measure_crowd(options: argparse.Namespace) -> None:
    """A thousand visitors at the same moment; results in `crowd.json`."""
    options.users = options.visitors // 2  # each member is somebody else
    options.submissions = min(options.submissions, 2000)

    def visit(address: str, members: list[Member], spent: Spent) -> list[Figure]:
        return asyncio.run(come(address, members, options.visitors))

    with tempfile.TemporaryDirectory(prefix="anyshot-crowd-", ignore_cleanup_errors=True) as folder:
        figures = served(Path(folder), options, visit)
    notes = f"{options.visitors} visitors at once, {options.processes} processes, {options.database}"
    keep("crowd", [*figures, figure("crowd.machine_load_average", os.getloadavg()[0], "")], notes)


def measure_streams(options: argparse.Namespace) -> None:
    """Five hundred live pages on which nothing happens; results in `streams.json`."""
    options.users = max(50, -(-options.streams // 20))  # nobody may have more than twenty open
    options.submissions, options.processes = min(options.submissions, 2000), 1

    def visit(address: str, members: list[Member], spent: Spent) -> list[Figure]:
        return asyncio.run(idle(address, members, options.streams, lambda: spent.seconds()["web"]))

    with tempfile.TemporaryDirectory(prefix="anyshot-streams-", ignore_cleanup_errors=True) as folder:
        figures = served(Path(folder), options, visit, keep_waiting)
    notes = f"{options.streams} idle streams, one process, {options.database}"
    keep("streams", [*figures, figure("streams.machine_load_average", os.getloadavg()[0], "")], notes)


PARTS = {
    "users": measure_users,
    "crowd": measure_crowd,
    "streams": measure_streams,
    "workers": measure_workers,
    "database": measure_database,
}


def run(home: Path, options: argparse.Namespace) -> list[Figure]:
    """Set the site up, let the users in, and count."""

    def users(address: str, members: list[Member], spent: Spent) -> list[Figure]:
        return report(asyncio.run(simulate(address, members, options)), options)

    return served(home, options, users)


def served(
    home: Path,
    options: argparse.Namespace,
    visit: Callable[[str, list[Member], Spent], list[Figure]],
    arrange: Callable[[Services, list[Member]], None] = lambda services, members: None,
) -> list[Figure]:
    """Set the site up, `arrange` it, let `visit` use it, and count what it spent."""
    with postgres() as server:
        if server is None:
            raise SystemExit("The load benchmark needs PostgreSQL.")
        environment = machines.platform_settings(
            home, server, "memory://", ANYSHOT_WEB_PROCESSES=str(options.processes)
        )
        if options.database == "sqlite":
            del environment["ANYSHOT_DATABASE_URL"]
        services = services_of(environment)
        members = prepare(services, options)
        arrange(services, members)
        services.database.dispose()
        web = machines.web(home, environment)
        web.start()
        try:
            machines.wait_for_web(environment["ANYSHOT_BASE_URL"], web)
            time.sleep(SETTLE_SECONDS)  # one process is ready, and the others compile their templates
            spent = Spent({"web": web.pid, "database": server.pid})
            figures = visit(environment["ANYSHOT_BASE_URL"], members, spent)
            cores = spent.cores()
        finally:
            web.stop()
    return [
        *figures,
        *(figure(f"load.cores_of_{name}", value, "") for name, value in cores.items()),
    ]


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


def report(record: Record, options: argparse.Namespace) -> list[Figure]:
    """The figures of a run."""
    for failure in sorted(set(record.failures))[:10]:
        print(f"failure: {failure} ({record.failures.count(failure)} times)")
    done = sum(len(record.seconds[kind]) for kind in ACTIONS)
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
        *(figure(f"load.list_p95 {path}", _p95(record.seconds[path]) * 1000, "ms") for path in LISTS),
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
