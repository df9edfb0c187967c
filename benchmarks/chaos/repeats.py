"""Of a long run whose workers are killed again and again: the participant's seconds that are done twice."""

import random
import re
import time
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.workers.models import Worker
from benchmarks.chaos.bundles import make_long_bundle
from benchmarks.chaos.place import Place
from benchmarks.chaos.stage import submit
from benchmarks.figures import Figure, figure

MOST = 0.02  # of all seconds, done twice
KILLED_AFTER = (180.0, 240.0)  # seconds of an attempt
STEP_SECONDS = 0.25
BUDGET = 3600.0
_BEGUN = re.compile(r"begun at ([0-9.]+) with ([0-9.]+) s left")


@dataclass
class Seen:
    """What the long run did: its attempts as its code told them, and when their workers were killed."""

    begun: list[tuple[float, float]]  # clock, and the participant's seconds used before
    killed: list[float]  # the participant's seconds used by then

    def seconds_twice(self) -> float:
        """For each kill: what was used by then, less what the next attempt began with."""
        return sum(
            used - following for used, (_, following) in zip(self.killed, self.begun[1:], strict=False)
        )


def measure_repeats(place: Place, minutes: float, seed: int) -> list[Figure]:
    """Train and test for so many minutes each, and kill the run's worker every few minutes; others take over."""
    steps = round(minutes * 60 / STEP_SECONDS)
    with place.services.database.writing() as session:
        for version in session.scalars(select(PhaseVersion)):
            version.run_seconds, version.tasks = BUDGET, steps
    shown = submit(place.client, "long", make_long_bundle(steps, STEP_SECONDS))
    seen, chance = Seen([], []), random.Random(seed)
    due = chance.uniform(*KILLED_AFTER)
    began = time.monotonic()
    while (state := place.client.get(f"/api/v1/submissions/{shown}").json())["status"] in (
        SubmissionStatus.QUEUED,
        SubmissionStatus.RUNNING,
    ):
        seen.begun = _read_beginnings(place, shown)
        if len(seen.begun) > len(seen.killed) and time.time() - seen.begun[-1][0] >= due:
            _kill_worker(place, seen)
            due = chance.uniform(*KILLED_AFTER)
        if time.monotonic() - began > 6 * minutes * 60 + 600:
            raise RuntimeError(f"the long run did not end: {state}")
        time.sleep(0.2)
    if state["status"] != SubmissionStatus.FINISHED:
        raise RuntimeError(f"the long run did not finish: {state}")
    seen.begun = _read_beginnings(place, shown)
    charged = state["runs"][0]["usage"]["participant_seconds"]
    share = seen.seconds_twice() / charged
    return [
        figure("chaos.long_run", charged, "s"),
        figure("chaos.long_run_kills", len(seen.killed), "kills"),
        figure("chaos.seconds_done_twice", share, "of all", f"<= {MOST:g}", share <= MOST),
    ]


def _read_beginnings(place: Place, shown: str) -> list[tuple[float, float]]:
    lines = place.client.get(f"/api/v1/submissions/{shown}/log", params={"q": "begun at"}).json()
    found = [_BEGUN.search(line["text"]) for line in lines]
    return [(float(one[1]), BUDGET - float(one[2])) for one in found if one]


def _kill_worker(place: Place, seen: Seen) -> None:
    """Kill the run's worker. Training is one stretch of the participant's time; of the test each beat tells it."""
    with place.services.database.reading() as session:
        held = (
            select(Run, Worker.name).join(Worker, Run.worker_id == Worker.id).where(Run.finished_at.is_(None))
        )
        run, name = session.execute(held).one_or_none() or (None, "")
    victim = next((one for one in place.workers if one.name == name), None)
    if run is None or run.lease_expires_at is None or victim is None:
        return
    victim.kill()
    lease = timedelta(seconds=place.services.settings.lease_seconds)
    if run.state == RunState.META_TESTING:
        used = run.seconds_used + (now() - (run.lease_expires_at - lease)).total_seconds()
    else:
        used = seen.begun[-1][1] + time.time() - seen.begun[-1][0]
    seen.killed.append(used)
    print(f"kill -9 {victim.name}, which is {run.state}, after {used:.1f} s", flush=True)
    victim.start()
