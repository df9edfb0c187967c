"""All boxes of one worker process: chooses the backend, keeps the pool warm, and ends what has no owner."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import threading
import time
from dataclasses import dataclass

from anyshot_core.taskserver.channel import Channel
from anyshot_core.wire.inventory import Inventory
from anyshot_core.wire.jobs import IMAGE_DIGEST
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox import janitor
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.flavours import require_flavour, require_some_for_gpus, runs_on_gpus
from anyshot_worker.sandbox.gpu import Gpus, GpuUse, NoDevices, NvidiaDevices
from anyshot_worker.sandbox.gpu_files import CardsOfJob
from anyshot_worker.sandbox.interface import (
    AttemptKey,
    Backend,
    Box,
    BoxSpec,
    BoxUsage,
    ImageInfo,
    SandboxError,
)
from anyshot_worker.sandbox.pool import WarmPool
from anyshot_worker.sandbox.preflight import require_guarantees
from anyshot_worker.sandbox.settings import SandboxSettings

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 10.0
GRACE_SECONDS = 60.0  # past the outer limit, before the janitor ends what the worker should have ended


def choose_backend(settings: SandboxSettings) -> Backend:
    """The backend of the settings; none at all only where the operator names that one."""
    from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
    from anyshot_worker.sandbox.trusted import TrustedBackend

    docker = DockerBackend(settings)
    if settings.sandbox == "docker" or (settings.sandbox == "auto" and docker.answers()):
        return docker
    if settings.sandbox == "bubblewrap" or (settings.sandbox == "auto" and shutil.which("bwrap")):
        return BubblewrapBackend(settings)
    if settings.sandbox == "trusted":
        return TrustedBackend(settings)
    raise SandboxError(
        "no sandbox: the Docker daemon does not answer and Bubblewrap is not installed. Install one of them; or,"
        " only if every submission is your own, set ANYSHOT_SANDBOX=trusted and ANYSHOT_TRUST_ALL_SUBMISSIONS=true.",
        Verdict.SANDBOX_START,
    )


@dataclass(eq=False)
class OpenBox:
    """A box at work for one attempt of a run."""

    box: Box
    image: ImageInfo
    start_seconds: float  # 0 from a warm one
    attempt: AttemptKey
    ends_at: float  # monotonic; the janitor ends it after that

    @property
    def channel(self) -> Channel:
        return self.box

    def usage(self) -> BoxUsage:
        """What the box has used; also after it was closed."""
        return self.box.usage()

    def close(self) -> None:
        """End the box and leave nothing of it; harmless when repeated."""
        self.box.close()


class Sandboxes:
    """The boxes of one worker process."""

    def __init__(self, backend: Backend, settings: SandboxSettings) -> None:
        self.backend, self.settings = backend, settings
        devices = NvidiaDevices() if backend.gives_gpus else NoDevices()
        if backend.images_are_folders:  # no daemon knows of GPUs
            devices = CardsOfJob()
        self._gpus = Gpus(settings.state_folder / "slots", devices)
        self._open: list[OpenBox] = []
        self._guard = threading.Lock()
        self._inventories: dict[str, Inventory | None] = {}  # by digest
        self._stop = threading.Event()
        self.pool = WarmPool(backend, settings.pool_size, self._first_spec())
        self._thread = threading.Thread(target=self._sweep_often, name="janitor", daemon=True)

    @classmethod
    def from_settings(cls, settings: SandboxSettings) -> Sandboxes:
        """Check every guarantee, clear what dead workers left, and warm up; raises SandboxError rather than weaken."""
        backend = choose_backend(settings)
        require_guarantees(backend, settings)
        sandboxes = cls(backend, settings)
        if settings.docker_runtime == "nvidia":
            require_some_for_gpus(sandboxes._images())
            sandboxes._gpus.require_some()
        sandboxes.sweep()
        sandboxes._thread.start()
        return sandboxes

    @property
    def name(self) -> str:
        return self.backend.name

    @property
    def reduced(self) -> bool:
        return self.backend.reduced

    @property
    def trusted(self) -> bool:
        """Whether there is no sandbox at all."""
        return self.backend.trusted

    def usable(self) -> bool:
        """Whether a box can be started now."""
        return self.backend.usable()

    def image_names(self) -> list[str]:
        """The images that the operator offers and that are on this machine."""
        return [name for name in self.settings.offered_images if self._has(name)]

    def image_digests(self) -> dict[str, str]:
        """The digests of these images by name; under the empty name, that of the usual one. None without a sandbox."""
        return {
            key: info.digest for key, info in self._offered().items() if re.match(IMAGE_DIGEST, info.digest)
        }

    def cpu_images(self) -> list[str]:
        """The names, as those of the digests, of images whose torch is built for CPUs alone."""
        return [key for key, info in self._offered().items() if not runs_on_gpus(info)]

    def inventories(self) -> dict[str, Inventory]:
        """What submissions can import in each of these images, by name; a new image is looked into once."""
        from anyshot_worker.images.contents import look_inside

        found: dict[str, Inventory] = {}
        for name, info in self._offered().items():
            if not name or self.trusted:
                continue
            if info.digest not in self._inventories:
                self._inventories[info.digest] = look_inside(self.backend, info.digest)
            if (inventory := self._inventories[info.digest]) is not None:
                found[name] = inventory
        return found

    def gpu_names(self) -> list[str]:
        """The devices that runs may have: none where no image of this worker can use one."""
        return self._gpus.names() if any(map(runs_on_gpus, self._images())) else []

    def free_gpu_names(self) -> list[str]:
        """Those of the machine's devices that no run and nobody else is on now."""
        return self._gpus.free_names()

    def gpu_use(self, attempt: AttemptKey) -> GpuUse:
        """What an attempt's GPUs do at this moment."""
        return self._gpus.use(attempt)

    def open(
        self,
        image: str | None,
        limits: Limits,
        run_id: str,
        epoch: int,
        gpus: int = 0,
        seconds: float | None = None,
        eager: bool = False,
        weights: bool = True,
        digest: str | None = None,
    ) -> OpenBox:
        """A box for one attempt. `seconds` is the outer limit; `eager` warms the next one up at once (isolated tasks).
        `weights` is whether the operator's pretrained weights, if there are any, can be read inside. `digest` pins the
        image: no other one is taken, whatever its name.

        Raises SandboxError: BAD_IMAGE for an image that is not offered, else of the infrastructure class.
        """
        info = self._pinned(digest) if digest else self._named(image or self.settings.sandbox_image)
        require_flavour(info, gpus or limits.gpus)
        attempt = AttemptKey(run_id, epoch)
        gpu_ids = self._gpus.take(gpus or limits.gpus, attempt)
        # By digest: a box that is warm already has the image that the name meant then.
        spec = BoxSpec(info.digest, limits, gpu_ids=gpu_ids, weights=weights and self._has_weights)
        try:
            box, start_seconds = self.pool.take(spec, eager=eager)
        except BaseException:
            self._gpus.give_back(attempt)
            raise
        ends_at = time.monotonic() + (seconds if seconds is not None else float("inf"))
        opened = OpenBox(box, info, start_seconds, attempt, ends_at)
        with self._guard:
            self._open.append(opened)
        box.when_closed(lambda: self._closed(opened))
        return opened

    def retain_only(self, attempts: set[AttemptKey]) -> None:
        """End the boxes of every attempt that is not listed."""
        for opened in self._opened():
            if opened.attempt not in attempts:
                opened.close()

    def sweep(self) -> janitor.Swept:
        """End what dead workers left behind, and what outlived its outer limit."""
        for opened in self._opened():
            if time.monotonic() > opened.ends_at + GRACE_SECONDS:
                opened.close()
        return janitor.sweep(self.settings, self.backend)

    def close(self) -> None:
        """End every box of this process and stop."""
        self._stop.set()
        for opened in self._opened():
            opened.close()
        self.pool.close()
        if self._thread.is_alive():
            self._thread.join(SWEEP_SECONDS)
        self.backend.close()

    def _closed(self, opened: OpenBox) -> None:
        with self._guard:
            self._open.remove(opened)
        self.pool.done()
        try:
            self._gpus.give_back(opened.attempt)
        except SandboxError as error:  # the device stays locked, which keeps the next run off it
            logger.error("%s", error)

    def _opened(self) -> list[OpenBox]:
        with self._guard:
            return list(self._open)

    def _sweep_often(self) -> None:
        while not self._stop.wait(SWEEP_SECONDS):
            with contextlib.suppress(SandboxError):  # a daemon that is down is asked again
                self.sweep()

    def _named(self, name: str) -> ImageInfo:
        if name not in self.settings.offered_images:
            raise SandboxError(f"the image {name!r} is not one that this worker offers", Verdict.BAD_IMAGE)
        return self.backend.prepare(name)

    def _pinned(self, digest: str) -> ImageInfo:
        """Of the images that are offered, the one with this digest."""
        names = self.settings.offered_images
        for name in names:
            if (info := self._info(name)) and info.digest == digest:
                return info
        raise SandboxError(
            f"none of the images {', '.join(sorted(names))} is {digest} here any more",
            Verdict.IMAGE_MISSING,
        )

    def _images(self) -> list[ImageInfo]:
        """All images of this worker that are on this machine."""
        return [info for name in self.settings.offered_images if (info := self._info(name)) is not None]

    def _offered(self) -> dict[str, ImageInfo]:
        """These images by the name that a phase has for them; under the empty name the usual one."""
        names = {"": self.settings.sandbox_image} | {name: name for name in self.settings.offered_images}
        known = {key: self._info(name) for key, name in names.items()}
        return {key: info for key, info in known.items() if info is not None}

    def _has(self, name: str) -> bool:
        return self._info(name) is not None

    def _info(self, name: str) -> ImageInfo | None:
        """The image of that name, if it is on this machine."""
        try:
            return self.backend.prepare(name)
        except SandboxError:
            return None

    def _first_spec(self) -> BoxSpec | None:
        """What to warm up before the first submission came: the usual image with the usual limits."""
        try:
            image = self.backend.prepare(self.settings.sandbox_image)
        except SandboxError:
            return None
        return BoxSpec(image.digest, weights=self._has_weights)

    @property
    def _has_weights(self) -> bool:
        return self.settings.weights_folder is not None
