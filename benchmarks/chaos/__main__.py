"""Chaos: everything dies in turn, and every submission ends with exactly one right score.

Workers are killed with `kill -9` and paused past their lease, Redis is flushed and restarted, PostgreSQL restarted,
with --docker the Docker daemon too; at random, from a seed that is printed with the timeline.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import httpx
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from anyshot_platform.app import make_services
from anyshot_platform.competitions.service import add_member
from anyshot_platform.competitions.states import Role
from anyshot_platform.database import now
from anyshot_platform.migration import migrate
from anyshot_platform.phases.models import Phase
from anyshot_platform.pools.service import add_pack
from anyshot_platform.runs.models import Attempt, Run
from anyshot_platform.runs.states import RUNNING
from anyshot_platform.scores.models import SubmissionScore
from anyshot_platform.settings import PlatformSettings
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionStatus
from anyshot_platform.users.service import create_token, create_user
from anyshot_platform.web.services import Services
from anyshot_platform.web.viewer import Scope
from anyshot_platform.workers.tokens import create_worker_token
from anyshot_starting_kit.data.pack import pack_dataset
from anyshot_starting_kit.demo_data import make_demo_data
from benchmarks.chaos import machines
from benchmarks.chaos.bundles import VARIANTS, make_bundle
from benchmarks.chaos.mischief import Mischief
from benchmarks.figures import Figure, figure, keep
from benchmarks.load.stage import SLUG, make_competition
from benchmarks.servers import Postgres, postgres

DATASETS = ("OCR_LAT", "SHP_FIL")
TASKS = 4
UNLEASED_SECONDS = 45.0
JANITOR_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """What one run of the benchmark does."""

    submissions: int
    seed: int
    workers: int
    sandbox: str
    minutes: float
    docker: bool


@dataclass
class Watch:
    """What was seen while it went on."""

    longest_unleased: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="a new one each time if left out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sandbox", choices=("docker", "bubblewrap"), default="docker")
    parser.add_argument("--minutes", type=float, default=30.0, help="give up after so long")
    parser.add_argument("--docker", action="store_true", help="restart the Docker daemon too")
    parser.add_argument("--print-only", action="store_true", help="leave benchmarks/results as it is")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    plan = Plan(options.submissions, seed, options.workers, options.sandbox, options.minutes, options.docker)
    figures = run(plan)
    if not options.print_only:
        notes = f"seed {seed}, {plan.submissions} submissions, {plan.workers} workers, {plan.sandbox}"
        keep("chaos", figures, notes)
    if not all(entry.met is not False for entry in figures):
        raise SystemExit(1)


def run(plan: Plan) -> list[Figure]:
    """One run; returns its figures."""
    print(f"seed {plan.seed}", flush=True)
    folders = tempfile.TemporaryDirectory(prefix="anyshot-chaos-", ignore_cleanup_errors=True)
    with folders as folder, postgres() as database:
        if database is None:
            raise SystemExit("Chaos needs PostgreSQL.")
        return _run(plan, Path(folder), database)


def _run(plan: Plan, home: Path, database: Postgres) -> list[Figure]:
    broker, broker_url = machines.redis(home)
    environment = machines.platform_settings(home / "site", database, broker_url)
    settings = PlatformSettings.model_validate(
        {
            "secret_key": environment["ANYSHOT_SECRET_KEY"],
            "home": home / "site",
            "database_url": database.url,
        }
    )
    services = make_services(settings)
    migrate(services.database)
    make_stage(services, home)
    token, worker_token = make_tokens(services)
    web = machines.web(home, environment)
    workers = [
        machines.worker(home, f"worker{number}", environment, worker_token, plan.sandbox)
        for number in range(plan.workers)
    ]
    if plan.sandbox == "docker":
        subprocess.run([*machines.ANYSHOT, "worker", "image", "build"], check=True, stdout=subprocess.DEVNULL)
    processes = [broker, web, *workers]
    for process in processes:
        process.start()
    try:
        machines.wait_for_web(environment["ANYSHOT_BASE_URL"], web)
        client = httpx.Client(
            base_url=environment["ANYSHOT_BASE_URL"], headers={"authorization": f"Bearer {token}"}, timeout=30
        )
        expected = measure_expected(client, services, workers)
        mischief = Mischief(workers, broker, broker_url, database, plan.seed, plan.docker)
        watch = Watch()
        began = time.monotonic()
        for number in range(plan.submissions):
            submit(client, list(VARIANTS)[number % len(VARIANTS)], number)
        ended = wait_for_the_end(services, mischief, watch, deadline=began + plan.minutes * 60)
        seconds = time.monotonic() - began
        mischief.finish()
        time.sleep(JANITOR_SECONDS)  # workers that were just started look for what the killed ones left
        for worker in workers:
            worker.stop()
        return judge(plan, services, mischief, watch, expected, home, ended=ended, seconds=seconds)
    finally:
        for process in reversed(processes):
            process.stop()
        services.database.dispose()


def make_stage(services: Services, home: Path) -> None:
    """A competition with two small generated datasets."""
    folder = make_demo_data(home / "data", classes=6, images=12, datasets=DATASETS)
    packs = [add_pack(services, pack_dataset(folder / name, home).path).id for name in DATASETS]
    make_competition(services, packs, tasks=TASKS)


def make_tokens(services: Services) -> tuple[str, str]:
    """A participant's and a worker's token."""
    with services.database.writing() as session:
        user = create_user(session, username="alice", email="alice@example.org", password=None)
        competition = session.scalars(select(Phase)).one().competition
        add_member(session, competition, user, Role.PARTICIPANT)
        token = create_token(session, user.id, name="chaos", scopes=list(Scope)).secret
        return token, create_worker_token(session, "chaos")


def submit(client: httpx.Client, variant: str, number: int) -> str:
    """Upload and submit one bundle, again and again while the database is away; returns the submission's id."""
    content = make_bundle(variant, number)
    while True:
        try:
            begun = client.post(
                "/api/v1/uploads", json={"filename": f"{variant}.zip", "size": len(content)}
            ).raise_for_status()
            path = f"/api/v1/uploads/{begun.json()['id']}"
            client.put(path, params={"offset": 0}, content=content).raise_for_status()
            body = {"upload_id": begun.json()["id"], "comment": variant}
            answer = client.post(f"/api/v1/competitions/{SLUG}/phases/feedback/submissions", json=body)
            return answer.raise_for_status().json()["id"]
        except (httpx.TransportError, httpx.HTTPStatusError) as error:
            print(f"submitting again: {error}", flush=True)
            time.sleep(1)


def measure_expected(
    client: httpx.Client, services: Services, workers: list[machines.Process]
) -> dict[str, float]:
    """What each variant scores when nothing goes wrong."""
    ids = {variant: submit(client, variant, -1) for variant in VARIANTS}
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        shown = {variant: client.get(f"/api/v1/submissions/{ids[variant]}").json() for variant in ids}
        if all(one["status"] not in ("queued", "running") for one in shown.values()):
            failed = [one for one in shown.values() if one["status"] != "finished"]
            if failed:
                raise RuntimeError(f"a calm run failed: {failed[0]['runs'][-1]}\n{workers[0].log_tail()}")
            return {variant: one["score"] for variant, one in shown.items()}
        time.sleep(0.5)
    raise RuntimeError(f"the calm runs did not end:\n{workers[0].log_tail()}")


def wait_for_the_end(services: Services, mischief: Mischief, watch: Watch, *, deadline: float) -> bool:
    """Do mischief until all submissions have ended; False if they have not in time."""
    while time.monotonic() < deadline:
        mischief.tick()
        try:
            if look(services, watch) == 0:
                return True
        except DBAPIError:
            pass  # the database is being restarted
        time.sleep(0.5)
    return False


def look(services: Services, watch: Watch) -> int:
    """How many submissions have not ended; notes the longest that a running one was without a lease."""
    with services.database.reading() as session:
        oldest = session.scalar(select(func.min(Run.lease_expires_at)).where(Run.state.in_(sorted(RUNNING))))
        if oldest is not None:
            watch.longest_unleased = max(watch.longest_unleased, (now() - oldest) / timedelta(seconds=1))
        return (
            session.scalar(
                select(func.count(Submission.id)).where(
                    Submission.status.in_([SubmissionStatus.QUEUED, SubmissionStatus.RUNNING])
                )
            )
            or 0
        )


def judge(
    plan: Plan,
    services: Services,
    mischief: Mischief,
    watch: Watch,
    expected: dict[str, float],
    home: Path,
    *,
    ended: bool,
    seconds: float,
) -> list[Figure]:
    """Count what went wrong."""
    with services.database.reading() as session:
        rows = session.scalars(select(Submission).where(Submission.comment.in_(list(VARIANTS)))).all()
        scores = session.scalars(select(SubmissionScore)).all()
        attempts = session.scalar(select(func.count(Attempt.id))) or 0
        recovery = _slowest_recovery(session, mischief.kills)
    by_submission: dict[str, list[float]] = {}
    for score in scores:
        by_submission.setdefault(score.submission_id, []).append(score.value)
    open_ones = sum(row.status in (SubmissionStatus.QUEUED, SubmissionStatus.RUNNING) for row in rows)
    finished = [row for row in rows if row.status == SubmissionStatus.FINISHED]
    not_one = sum(len(by_submission.get(row.id, [])) != 1 for row in finished)
    wrong = sum(by_submission.get(row.id, [None])[0] != expected[row.comment] for row in finished)
    left = count_containers(home)
    total = len(rows)
    unended = open_ones + (0 if ended else 1)
    return [
        figure("chaos.submissions", total, "submissions", "", None),
        figure("chaos.strikes", len(mischief.timeline), "strikes", "", None),
        figure("chaos.attempts", attempts, "attempts", "", None),
        figure("chaos.seconds", seconds, "s", "", None),
        figure("chaos.not_ended", unended, "submissions", "0", unended == 0),
        figure("chaos.failed", total - len(finished), "submissions", "0", total == len(finished)),
        figure("chaos.not_exactly_one_score", not_one, "submissions", "0", not_one == 0),
        figure("chaos.wrong_scores", wrong, "submissions", "0", wrong == 0),
        figure("chaos.containers_left", left, "containers", "0", left == 0),
        figure(
            "chaos.longest_without_lease",
            watch.longest_unleased,
            "s",
            f"< {UNLEASED_SECONDS:.0f}",
            watch.longest_unleased < UNLEASED_SECONDS,
        ),
        figure("chaos.slowest_killed_to_claimed_again", recovery, "s", "", None),
    ]


def _slowest_recovery(session: Session, kills: list[tuple[str, datetime]]) -> float:
    """The longest from a `kill -9` of a worker to the next claim of the run that it had."""
    attempts = session.scalars(select(Attempt).order_by(Attempt.run_id, Attempt.epoch)).all()
    slowest = 0.0
    for one, following in pairwise(attempts):
        if one.run_id != following.run_id or one.outcome != "WORKER_LOST" or one.ended_at is None:
            continue
        times = [at for name, at in kills if name == one.worker_name and one.claimed_at <= at <= one.ended_at]
        slowest = max([slowest, *((following.claimed_at - at).total_seconds() for at in times)])
    return slowest


def count_containers(home: Path) -> int:
    """Containers that this benchmark's workers left, now that they have stopped."""
    listed = subprocess.run(
        ["docker", "ps", "-a", "--filter", "label=org.anyshot.owner", "--format", "{{.ID}} {{.Labels}}"],
        capture_output=True,
        text=True,
    )
    return sum(f"chaos-{home.name}" in line for line in listed.stdout.splitlines())


if __name__ == "__main__":
    main()
