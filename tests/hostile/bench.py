"""Does what a worker does: takes a box, lets the real task server talk to it, scores, and cleans up."""

import csv
import json
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import psutil

from anyshot_scoring.metrics import score_task
from anyshot_core.data.pack import pack_dataset
from anyshot_core.data.pool import Pool
from anyshot_core.demo_data import make_demo_data
from anyshot_core.protocols.any_way_any_shot import AnyWayAnyShot
from anyshot_core.protocols.task import Range
from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.job import DrawnTask, Hooks, TaskServerJob, LogLine, JobOutcome, OutputCaps
from anyshot_core.taskserver.server import serve, serve_isolated
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_worker.sandbox import OpenBox, Sandboxes
from tests.hostile.cases import Expected, zip_case

TEST_SEED = 7_310_591


@dataclass(frozen=True)
class Data:
    """A small public pool and a hidden one whose names are canaries: no box may ever see them."""

    packs: tuple[Path, ...]
    hidden: Pool
    canary: str

    def tasks(self, count: int) -> PoolTasks:
        protocol = AnyWayAnyShot(ways=Range(2, 3), shots=Range(1, 2), query=4)
        return PoolTasks(self.hidden, protocol, TEST_SEED, 0, count)


@dataclass
class Seen:
    """What came of an evaluation, for the assertions."""

    outcome: JobOutcome
    seconds: float  # without the start of the sandbox
    log: list[LogLine] = field(default_factory=list)
    left_behind: tuple[str, ...] = ()
    processes_left: list[int] = field(default_factory=list)
    growth_mib: float = 0.0
    connections: int = 0

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.log)

    @property
    def scores(self) -> list[float]:
        """Normalized accuracy of each answered task."""
        results = self.outcome.results
        return [float(score_task(r.predictions, r.labels, r.ways)["normalized_accuracy"]) for r in results]


def make_data(folder: Path) -> Data:
    """Two public datasets and one hidden one, four classes of eight images each."""
    source = make_demo_data(
        folder / "source", classes=4, images=8, datasets=("OCR_LAT", "TXT_SIN", "SHP_FIL")
    )
    canary = f"CANARY{secrets.token_hex(8)}"
    hidden = source / "SHP_FIL"
    _rename(hidden, canary)
    public = tuple(
        pack_dataset(source / name, folder / f"{name}.anyshot-pack").path for name in ("OCR_LAT", "TXT_SIN")
    )
    return Data(public, Pool([pack_dataset(hidden, folder / "hidden.anyshot-pack")]), canary)


def evaluate(
    sandboxes: Sandboxes, data: Data, folder: Path | None, expected: Expected, scratch: Path
) -> Seen:
    """One submission from zip to verdict; leaves nothing running."""
    with listener() as target:
        extra = {"target.txt": json.dumps(target.addresses)} if expected.listener else {}
        bundle = zip_case(folder, scratch / f"{secrets.token_hex(4)}.zip", extra)
        boxes: list[OpenBox] = []

        def open_channel() -> Channel:
            opened = sandboxes.open(None, expected.limits, f"run-{len(boxes)}", 1, eager=True)
            boxes.append(opened)
            return opened.channel

        seen = _serve(open_channel, _job(data, bundle, expected, scratch), expected)
        for opened in boxes:
            opened.close()
        ids = [opened.box.id for opened in boxes]
        left = tuple(item for opened in boxes for item in opened.box.left_behind())
        return replace(
            seen, left_behind=left, processes_left=processes_of(ids), connections=target.connections
        )


def _serve(open_channel, job: TaskServerJob, expected: Expected) -> Seen:  # type: ignore[no-untyped-def]
    log: list[LogLine] = []
    began, before = time.monotonic(), psutil.Process().memory_info().rss
    late = expected.cancel_after

    def cancelled() -> bool:
        return late is not None and time.monotonic() - began > late

    hooks = Hooks(on_log=log.append, cancelled=cancelled)
    outcome = (
        serve_isolated(open_channel, job, hooks) if expected.isolated else serve(open_channel(), job, hooks)
    )
    seconds = time.monotonic() - began - outcome.time.platform.get("start", 0.0)
    growth = (psutil.Process().memory_info().rss - before) / (1 << 20)
    return Seen(outcome, seconds, log, growth_mib=growth)


def _job(data: Data, bundle: Path, expected: Expected, scratch: Path) -> TaskServerJob:
    tasks = data.tasks(expected.tasks)
    return TaskServerJob(
        bundle=bundle,
        packs=data.packs,
        tasks=SlowTasks(tasks, expected.slow_draw) if expected.slow_draw else tasks,
        budget=expected.budget,
        query_secret=b"a secret of the test",
        log_policy=expected.log_policy,
        keep_learner=scratch / "learner.bin" if expected.keep_learner else None,
        keep_training=scratch / "training.bin" if expected.keep_learner else None,
        unpacked_bytes=expected.limits.scratch_bytes,
        caps=OutputCaps(logger_rows=expected.logger_rows),
    )


@dataclass(frozen=True)
class SlowTasks:
    """Tasks whose drawing takes long: the platform's time, in which a box must not compute."""

    tasks: PoolTasks
    seconds: float

    @property
    def indices(self) -> Sequence[int]:
        return self.tasks.indices

    def draw(self, index: int) -> DrawnTask:
        if index:
            time.sleep(self.seconds)
        return self.tasks.draw(index)


def processes_of(boxes: list[str]) -> list[int]:
    """Processes of this machine that belong to one of these boxes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            text = path.read_text()
        except OSError:
            continue
        if any(box in text for box in boxes):
            found.append(int(path.parent.name))
    return found


@dataclass
class Target:
    """A listener on this machine: where it is, and how many got through."""

    addresses: list[tuple[str, int]]
    connections: int = 0


@contextmanager
def listener() -> Iterator[Target]:
    """Listens on every address of this machine; nothing leaves it."""
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.1)
        port = server.getsockname()[1]
        own = {
            item.address for items in psutil.net_if_addrs().values() for item in items if "." in item.address
        }
        target, done = Target([(address, port) for address in sorted(own)]), threading.Event()

        def count() -> None:
            while not done.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue
                target.connections += 1

        thread = threading.Thread(target=count)
        thread.start()
        try:
            yield target
        finally:
            done.set()
            thread.join()


def _rename(dataset: Path, canary: str) -> None:
    """Give a dataset and its classes names that can be searched for."""
    info = json.loads((dataset / "info.json").read_text())
    info["dataset_name"] = f"{canary}-dataset"
    (dataset / "info.json").write_text(json.dumps(info))
    column = info["category_column_name"]
    with (dataset / "labels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row[column] = f"{canary}-{row[column]}"
    with (dataset / "labels.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def answers(outcome: JobOutcome) -> list[np.ndarray]:
    """The predictions of a run, task by task."""
    return [result.predictions for result in outcome.results]
