"""Chaos: everything dies in turn, and every submission ends with exactly one right score.

With --part repeats instead, one run lasts, and its workers are killed again and again: how much is done twice?

Workers are killed with `kill -9` and paused past their lease, Redis is flushed and restarted, PostgreSQL restarted,
with --docker a Docker daemon of the benchmark's own too; at random, from a seed that is printed with the timeline.
"""

import argparse
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import DBAPIError

from anyshot_core.command import AS_PROCESS
from anyshot_platform.foundation.services import Services
from benchmarks.chaos import machines
from benchmarks.chaos.bundles import VARIANTS, make_bundle
from benchmarks.chaos.faults import FaultInjector
from benchmarks.chaos.place import Place, distributed_site
from benchmarks.chaos.repeats import measure_repeats
from benchmarks.chaos.stage import submit
from benchmarks.chaos.watching import Containers, Watch, judge, tell_failures
from benchmarks.figures import Figure, keep
from benchmarks.servers import Postgres, postgres

JANITOR_SECONDS = 30.0
LONG_MINUTES = 5.0  # of training, and as many of the test


@dataclass(frozen=True)
class Plan:
    """What one run of the benchmark does."""

    submissions: int
    seed: int
    workers: int
    sandbox: str
    minutes: float
    docker: bool
    keep_logs: str
    part: str


@dataclass(frozen=True)
class Outcome:
    """What one run of the benchmark found."""

    figures: list[Figure]
    timeline: list[str]
    failures: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="a new one each time if left out")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sandbox", choices=("docker", "bubblewrap"), default="docker")
    parser.add_argument("--minutes", type=float, default=30.0, help="give up after so long")
    parser.add_argument("--part", choices=("faults", "repeats"), default="faults")
    parser.add_argument("--docker", action="store_true", help="restart a Docker daemon of its own too")
    parser.add_argument("--keep-logs", default="", help="folder to copy the processes' logs to")
    parser.add_argument("--print-only", action="store_true", help="leave benchmarks/results as it is")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    plan = Plan(
        submissions=options.submissions,
        seed=seed,
        workers=options.workers,
        sandbox=options.sandbox,
        minutes=options.minutes,
        docker=options.docker,
        keep_logs=options.keep_logs,
        part=options.part,
    )
    outcome = run(plan)
    for line in outcome.failures:
        print(line)
    if not options.print_only:
        notes = f"seed {seed}, {plan.submissions} submissions, {plan.workers} workers, {plan.sandbox}"
        lists = {"timeline": outcome.timeline, "failures": outcome.failures}
        keep("chaos", outcome.figures, notes, partly=True, **(lists if plan.part == "faults" else {}))
    if not all(entry.met is not False for entry in outcome.figures):
        raise SystemExit(1)


def run(plan: Plan) -> Outcome:
    """One run; returns what it found."""
    print(f"seed {plan.seed}", flush=True)
    folders = tempfile.TemporaryDirectory(prefix="anyshot-chaos-", ignore_cleanup_errors=True)
    with folders as folder, postgres() as database:
        if database is None:
            raise SystemExit("Chaos needs PostgreSQL.")
        return _run(plan, Path(folder), database)


def _run(plan: Plan, home: Path, database: Postgres) -> Outcome:
    daemon, docker_host = machines.dockerd(home) if plan.docker else (None, None)
    if plan.sandbox == "docker":
        subprocess.run([*AS_PROCESS, "worker", "image", "build"], check=True, stdout=subprocess.DEVNULL)
    try:
        if daemon is not None and docker_host is not None:
            daemon.start()
            machines.wait_for_docker(docker_host, daemon)
            machines.copy_image(docker_host)
        with distributed_site(
            home, database, workers=plan.workers, sandbox=plan.sandbox, docker_host=docker_host
        ) as place:
            if plan.part == "repeats":
                return Outcome(repeats(plan, place), [], [])
            containers = Containers(home, docker_host) if plan.sandbox == "docker" else None
            faults = FaultInjector(place.workers, place.broker, place.broker_url, database, plan.seed, daemon)
            return _inject_faults(plan, place, faults, Watch(containers))
    finally:
        if daemon is not None:
            daemon.stop()
        if plan.keep_logs:
            keep_logs(home, Path(plan.keep_logs))


def repeats(plan: Plan, place: Place) -> list[Figure]:
    """The figures of the long run."""
    for process in (place.broker, place.web, *place.workers):
        process.start()
    machines.wait_for_web(place.address, place.web)
    return measure_repeats(place, LONG_MINUTES, plan.seed)


def _inject_faults(plan: Plan, place: Place, faults: FaultInjector, watch: Watch) -> Outcome:
    for process in (place.broker, place.web, *place.workers):
        process.start()
    machines.wait_for_web(place.address, place.web)
    expected = measure_expected(place)
    began = time.monotonic()
    for number in range(plan.submissions):
        variant = list(VARIANTS)[number % len(VARIANTS)]
        submit(place.client, variant, make_bundle(variant, number))
    faults.begin()
    wait_for_the_end(place.services, faults, watch, deadline=began + plan.minutes * 60)
    seconds = time.monotonic() - began
    faults.finish()
    time.sleep(JANITOR_SECONDS)  # janitors look every ten seconds for what dead workers left
    for worker in place.workers:
        worker.stop()
    figures = judge(place.services, faults, watch, expected, seconds)
    return Outcome(figures, faults.timeline, tell_failures(place.services))


def keep_logs(home: Path, target: Path) -> None:
    """Copy the processes' logs to where they can be read afterwards."""
    target.mkdir(parents=True, exist_ok=True)
    for log in home.glob("*.log"):
        shutil.copy(log, target)


def measure_expected(place: Place) -> dict[str, float]:
    """What each variant scores when nothing goes wrong."""
    client = place.client
    ids = {variant: submit(client, variant, make_bundle(variant, -1)) for variant in VARIANTS}
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        shown = {variant: client.get(f"/api/v1/submissions/{ids[variant]}").json() for variant in ids}
        if all(one["status"] not in ("queued", "running") for one in shown.values()):
            failed = [one for one in shown.values() if one["status"] != "finished"]
            if failed:
                raise RuntimeError(
                    f"a calm run failed: {failed[0]['runs'][-1]}\n{place.workers[0].log_tail()}"
                )
            return {variant: one["score"] for variant, one in shown.items()}
        time.sleep(0.5)
    raise RuntimeError(f"the calm runs did not end:\n{place.workers[0].log_tail()}")


def wait_for_the_end(services: Services, faults: FaultInjector, watch: Watch, *, deadline: float) -> None:
    """Do faults until all submissions have ended, or the time is over."""
    while time.monotonic() < deadline:
        faults.tick()
        try:
            if watch.look(services) == 0:
                return
        except DBAPIError:
            pass  # the database is being restarted
        time.sleep(0.5)


if __name__ == "__main__":
    main()
