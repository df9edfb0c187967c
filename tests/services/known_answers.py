"""A real worker whose sandboxes hold no code: what lies inside answers with so many right labels as a test says.

Claim, assignment, packs, protocol, task server, frames, scoring, files and messages are the real ones; a zip is looked
through by a real inspection.
A class is the value of the first pixel of its images, so that whoever sees the support set can tell every query.
"""

import csv
import json
import os
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.data.pack import pack_dataset
from anyshot_core.taskserver.channel import SharedBuffer
from anyshot_core.wire import messages
from anyshot_core.wire.frames import Frame, FrameType
from anyshot_core.wire.jobs import Scored
from anyshot_core.wire.messages import ErrorKind, ErrorReport, ImagesHeader
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_worker.attempt import Site as WorkerSite
from anyshot_worker.claiming import RunClaimer, announce
from anyshot_worker.client import WorkerClient
from anyshot_worker.sandbox import Box, BoxSpec, BoxUsage, ImageInfo, Sandboxes, SandboxSettings
from anyshot_worker.sandbox.trusted import TrustedBackend
from anyshot_worker.workspace import Workspace
from tests.contract.stage import RealWorker, Wire
from tests.core.taskserver.puppet import Puppet, PuppetChannel
from tests.core.tinydata import info_of
from tests.platform.site import Site

QUERIES = 20  # of each class
STEPS = 20  # of a task's score, whatever its ways: (right - 20) / (20 (ways - 1))


@dataclass(frozen=True)
class Answers:
    """How many queries of the task at a place (from 0), with so many ways, are answered rightly; `fails` raises."""

    right: Callable[[int, int], int]
    fails: bool = False


def scoring(score: float, tasks: int) -> Answers:
    """A run whose mean normalized accuracy is `score`, a multiple of 1 / (20 tasks)."""
    steps = round(score * STEPS * tasks)
    assert abs(steps / (STEPS * tasks) - score) < 1e-9, f"{score} cannot be had with {tasks} tasks"
    each, rest = divmod(steps, tasks)
    return Answers(lambda place, ways: QUERIES + (each + (place < rest)) * (ways - 1))


FAILS = Answers(lambda place, ways: 0, fails=True)


class _Person(Puppet):
    """Answers queries by what is known of them."""

    known: Answers
    pixels: Path
    labels: dict[int, int]
    place = -1

    def honest(self, frame: Frame) -> None:
        """As an honest runner, but for what is known."""
        if frame.kind is FrameType.SUPPORT:
            self.learn(frame)
        elif frame.kind is FrameType.QUERY:
            self.tell(frame)
        elif frame.kind is FrameType.TRAIN and self.known.fails:
            self.give_up(frame)
        else:
            super().honest(frame)

    def classes(self, header: ImagesHeader) -> np.ndarray:
        """The first pixel of each image."""
        shown = np.memmap(self.pixels, dtype=np.uint8, mode="r", shape=header.shape)
        return np.asarray(shown[:, 0, 0, 0])

    def learn(self, frame: Frame) -> None:
        header, labels, _ = messages.read_support(frame.payload)
        self.place, self.ways = self.place + 1, header.ways
        self.labels = dict(zip(self.classes(header).tolist(), labels.tolist(), strict=True))
        self.reply(FrameType.FITTED, frame)

    def tell(self, frame: Frame) -> None:
        header, _ = messages.read_query(frame.payload)
        truth = np.array([self.labels[one] for one in self.classes(header).tolist()])
        right = self.known.right(self.place, self.ways)
        self.answer(frame, np.where(np.arange(len(truth)) < right, truth, (truth + 1) % self.ways))

    def give_up(self, frame: Frame) -> None:
        report = ErrorReport(ErrorKind.EXCEPTION, "ValueError", "it cannot learn this")
        self.send(FrameType.ERROR, report.to_bytes())


class KnownBox(PuppetChannel):
    """A box with nothing inside but answers."""

    inside = _Person
    puppet: _Person

    def __init__(self, spec: BoxSpec, known: Answers) -> None:
        handle, name = tempfile.mkstemp(prefix="known-", dir="/dev/shm")
        self._pixels, self.spec, self.id, self.uid = Path(name), spec, uuid.uuid4().hex, 0
        self._listeners: list[Callable[[], object]] = []
        os.close(handle)
        super().__init__({})
        self.puppet.known, self.puppet.pixels = known, self._pixels

    @property
    def pixels(self) -> SharedBuffer | None:
        return SharedBuffer(self._pixels, "/in/b/pixels")

    def alive(self) -> bool:
        return not self.killed

    def usage(self) -> BoxUsage:
        return BoxUsage()

    def when_closed(self, listener: Callable[[], object]) -> None:
        self._listeners.append(listener)

    def keeps_logs(self) -> bool:
        return False

    def left_behind(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        super().close()
        self._pixels.unlink(missing_ok=True)
        for listener in self._listeners:
            listener()
        self._listeners.clear()


class KnownBackend(TrustedBackend):
    """Boxes with known answers; what looks through a zip gets a process."""

    name = "known"

    def __init__(self, settings: SandboxSettings, answers: Callable[[], Answers]) -> None:
        super().__init__(settings)
        self._answers = answers

    def prepare(self, image: str) -> ImageInfo:
        return ImageInfo("known answers", "none")

    def start(self, spec: BoxSpec) -> Box:  # pyright: ignore[reportIncompatibleMethodOverride]
        inspects = "-c" in spec.command
        return super().start(spec) if inspects else KnownBox(spec, self._answers())


def make_worker(site: Site, folder: Path, answers: Callable[[Scored], Answers]) -> RealWorker:
    """A real worker that has no code to run; `answers` says what comes out of a job."""
    # A late beat on a busy machine would lose a run.
    settings = site.services.settings.model_copy(update={"lease_seconds": 600.0})
    object.__setattr__(site.services, "settings", settings)
    with site.services.database.writing() as session:
        token = create_worker_token(session, "known")
    wire = Wire(site.client)
    boxes = SandboxSettings(
        sandbox="trusted", trust_all_submissions=True, state_folder=folder / "state", pool_size=0
    )
    sandboxes = Sandboxes(KnownBackend(boxes, lambda: answers(wire.jobs[-1])), boxes)
    client = WorkerClient("http://testserver", token, patience=5.0, transport=wire)
    workspace = Workspace(folder / "work", 1 << 32, client)
    place = WorkerSite("known", client, workspace, sandboxes, threading.Event())
    said = announce("known", "cpu", sandboxes)
    return RealWorker(place, RunClaimer(place, said, slots=1, poll_seconds=60), wire, said)


def write_coloured_pack(folder: Path, name: str, classes: int, images: int, salt: int) -> Path:
    """A dataset whose classes are told by the first pixel; `salt` makes its images its own."""
    source = folder / name
    (source / "images").mkdir(parents=True)
    with (source / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["FILE_NAME", "CATEGORY"])
        for label in range(classes):
            for number in range(images):
                file_name = f"c{label}_{number}.png"
                pixels = np.full((128, 128, 3), (6 * label, number, salt), dtype=np.uint8)
                Image.fromarray(pixels).save(source / "images" / file_name, compress_level=1)
                writer.writerow([file_name, f"class {label}"])
    (source / "info.json").write_text(json.dumps(info_of(name, classes, images)))
    return pack_dataset(source, folder / f"{name}.anyshot-pack").path
