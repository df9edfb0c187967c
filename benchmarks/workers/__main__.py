"""Workers of a distributed site: from queued to claimed, from cancel to an empty sandbox, what a second one adds, and
what thousands ask of the site.

PostgreSQL, Redis, the web service and real sandboxes, all on this machine, which should have nothing else to do.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from anyshot_core.command import AS_PROCESS
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.workers.models import Worker
from benchmarks.chaos import machines
from benchmarks.chaos.bundles import make_bundle, make_slow_bundle
from benchmarks.chaos.place import distributed_site
from benchmarks.chaos.stage import TASKS
from benchmarks.figures import Figure, figure, keep
from benchmarks.servers import postgres
from benchmarks.workers.fleet import measure_fleet
from benchmarks.workers.place import Place

PARTS = ("claims", "cancel", "dead_worker", "throughput", "fleet")
CANCEL_AT = {
    "queued": RunState.QUEUED,
    "preparing": RunState.PREPARING,
    "meta-testing": RunState.META_TESTING,
}


def main(arguments: list[str] | None = None) -> None:
    """All parts, or those that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=40, help="submissions that meet an idle worker")
    parser.add_argument(
        "--seconds", type=float, default=16.0, help="work of a submission in the throughput part"
    )
    parser.add_argument(
        "--each", type=int, default=4, help="submissions for each worker in the throughput part"
    )
    parser.add_argument(
        "--fleet",
        type=int,
        nargs="+",
        default=[100, 200, 300, 400],
        help="sizes of the fleet, which runs nothing",
    )
    parser.add_argument(
        "--fleet-seconds", type=float, default=60.0, help="for which the fleet works at each size"
    )
    usual = PlatformSettings.model_fields
    parser.add_argument(
        "--lease", type=float, default=usual["lease_seconds"].default, help="seconds of the site's leases"
    )
    parser.add_argument(
        "--processes", type=int, default=usual["web_processes"].default, help="web processes of the site"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="only these parts")
    parser.add_argument("--print-only", action="store_true", help="leave benchmarks/results as it is")
    options = parser.parse_args(arguments)
    folders = tempfile.TemporaryDirectory(prefix="anyshot-workers-", ignore_cleanup_errors=True)
    with folders as folder:
        figures = run(Path(folder), options)
    if not options.print_only:
        notes = (
            f"{options.claims} claims, {options.seconds:g} s a submission, {options.each} for each worker; "
            f"{options.processes} web processes, leases of {options.lease:g} s"
        )
        keep("workers", figures, notes, partly=bool(options.part))


def run(home: Path, options: argparse.Namespace) -> list[Figure]:
    """Bring the site up and measure."""
    with postgres() as database:
        if database is None:
            raise SystemExit("This benchmark needs PostgreSQL.")
        subprocess.run([*AS_PROCESS, "worker", "image", "build"], check=True, stdout=subprocess.DEVNULL)
        settings = {
            "ANYSHOT_LEASE_SECONDS": str(options.lease),
            "ANYSHOT_WEB_PROCESSES": str(options.processes),
        }
        with distributed_site(home, database, workers=2, **settings) as site:
            for process in (site.broker, site.web, site.workers[0]):
                process.start()
            machines.wait_for_web(site.address, site.web)
            parts = options.part or PARTS
            place = Place(site.services, site.client, site.workers)
            figures = measure(place, parts, options)
            if "fleet" in parts:
                for worker in site.workers:
                    worker.stop()
                serving = {"web": site.web.pid, "database": database.pid}
                figures += measure_fleet(place, options.fleet, options.fleet_seconds, serving)
            return figures


def measure(place: Place, parts: Sequence[str], options: argparse.Namespace) -> list[Figure]:
    """The parts with sandboxes that are asked for; the first two with one worker, the others with two."""
    place.wait([place.submit(lambda n: make_bundle("constant", n))])
    figures = []
    if "claims" in parts:
        figures += measure_claims(place, options.claims)
    if "cancel" in parts:
        figures += measure_cancel(place)
    if "dead_worker" in parts or "throughput" in parts:
        place.workers[1].start()
        _warm_up(place, 100_000)
    if "dead_worker" in parts:
        figures += measure_dead_worker(place)
    if "throughput" in parts:
        figures += measure_throughput(place, options.seconds, options.each)
    return figures


def measure_claims(place: Place, count: int) -> list[Figure]:
    """Seconds from queued to claimed, one submission after the other, with an idle worker."""
    waits = []
    for _ in range(count):
        (run,) = place.wait([place.submit(lambda n: make_bundle("constant", n))])
        waits.append(_seconds(run.queued_at, run.claimed_at))
    p95 = sorted(waits)[int(0.95 * (count - 1))]
    return [
        figure("workers.queued_to_claimed_median", statistics.median(waits) * 1000, "ms"),
        figure("workers.queued_to_claimed_p95", p95 * 1000, "ms", "< 1000", p95 < 1),
    ]


def measure_cancel(place: Place) -> list[Figure]:
    """Seconds from the request until the run has ended, which it does after its container has."""
    figures = []
    for name, state in CANCEL_AT.items():
        busy = [place.submit(lambda n: make_slow_bundle(10**10, n))]
        if state is RunState.QUEUED:
            busy.append(place.submit(lambda n: make_slow_bundle(10**10, n)))
            _wait_for_state(place, busy[0], RunState.META_TESTING)
        _wait_for_state(place, busy[-1], state)
        seconds = _cancel(place, busy[-1])
        figures.append(figure(f"workers.cancel_while_{name}", seconds, "s", "< 5", seconds < 5))
        for other in busy[:-1]:
            _cancel(place, other)
    return figures


def _cancel(place: Place, submission: str) -> float:
    began = time.monotonic()
    place.client.post(f"/api/v1/submissions/{submission}/cancel").raise_for_status()
    (run,) = place.wait([submission], 60)
    if run.state != RunState.CANCELLED:
        raise RuntimeError(f"a cancelled run is {run.state}: {run.message}")
    return time.monotonic() - began


def _wait_for_state(place: Place, submission: str, state: RunState) -> None:
    deadline = time.monotonic() + 60
    while place.runs([submission])[0].state != state:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run is {place.runs([submission])[0].state} and never was {state}")
        time.sleep(0.02)


def measure_dead_worker(place: Place) -> list[Figure]:
    """Seconds from `kill -9` of a worker at work until an idle one has claimed its run anew."""
    submission = place.submit(lambda n: make_slow_bundle(10**10, n))
    _wait_for_state(place, submission, RunState.META_TESTING)
    (run,) = place.runs([submission])
    with place.services.database.reading() as session:
        name = session.get_one(Worker, run.worker_id).name
    victim = next(worker for worker in place.workers if worker.name == name)
    began = time.monotonic()
    victim.kill()
    while place.runs([submission])[0].attempt == 1:
        if time.monotonic() - began > 120:
            raise RuntimeError("nobody claimed the dead worker's run")
        time.sleep(0.1)
    seconds = time.monotonic() - began
    victim.start()
    _cancel(place, submission)
    _warm_up(place, 100_000)
    return [figure("workers.dead_worker_to_restarted_run", seconds, "s", "< 45", seconds < 45)]


def measure_throughput(place: Place, seconds: float, each: int) -> list[Figure]:
    """Submissions a minute of one worker and of two, each working in one thread."""
    rounds = calibrate(seconds / TASKS)
    two = _throughput(place, rounds, 2 * each)
    place.workers[1].stop()
    one = _throughput(place, rounds, each)
    return [
        figure("workers.throughput_of_one", one, "1/min"),
        figure("workers.throughput_of_two", two, "1/min"),
        figure("workers.throughput_ratio", two / one, "x", ">= 1.8", two / one >= 1.8),
    ]


def _warm_up(place: Place, rounds: int) -> None:
    """Return once every worker has had a run."""
    for _ in range(20):
        runs = place.wait([place.submit(lambda n: make_slow_bundle(rounds, n)) for _ in place.workers])
        if len({run.worker_id for run in runs}) == len(place.workers):
            return
    raise RuntimeError(f"the second worker takes nothing:\n{place.workers[1].log_tail()}")


def _throughput(place: Place, rounds: int, count: int) -> float:
    time.sleep(5)  # the next sandbox warms up
    runs = place.wait([place.submit(lambda n: make_slow_bundle(rounds, n)) for _ in range(count)], 600)
    failed = [run for run in runs if run.state != RunState.FINISHED]
    if failed:
        raise RuntimeError(f"a run failed: {failed[0].verdict} {failed[0].message}")
    first = min(run.claimed_at for run in runs if run.claimed_at)
    last = max(run.finished_at for run in runs if run.finished_at)
    return 60 * count / (last - first).total_seconds()


def calibrate(seconds: float) -> int:
    """How many rounds of the slow learner's loop one core does in so many seconds."""
    began, total = time.perf_counter(), 0
    for number in range(5_000_000):
        total += number * number % 7
    return int(5_000_000 * seconds / (time.perf_counter() - began))


def _seconds(start: datetime, end: datetime | None) -> float:
    if end is None:
        raise RuntimeError("a run was never claimed")
    return (end - start).total_seconds()


if __name__ == "__main__":
    main()
