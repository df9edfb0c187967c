"""The Docker backend: one container a box, over the Engine API, attached before it starts."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import requests
from docker.errors import APIError, DockerException, ImageNotFound, NotFound

import docker
from anyshot_core.taskserver.channel import Death, SharedBuffer
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox import cgroups, flags
from anyshot_worker.sandbox.attach import AttachStream
from anyshot_worker.sandbox.box_folders import BoxFolders
from anyshot_worker.sandbox.flavours import command_to_build
from anyshot_worker.sandbox.interface import (
    INPUT_INSIDE,
    PIXELS_INSIDE,
    BoxSpec,
    BoxUsage,
    ImageInfo,
    SandboxError,
)
from anyshot_worker.sandbox.lifetime import Lifetime
from anyshot_worker.sandbox.profile import read_profile
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import Slot, living_boxes, take_place

logger = logging.getLogger(__name__)

OWNER_LABEL = "org.anyshot.owner"
BOX_LABEL = "org.anyshot.box"
STATE_LABEL = "org.anyshot.state"  # the folder whose locks say which boxes live
REPOSITORY = "anyshot/sandbox"
STDERR_LIMIT = 4 << 20  # the runner frames what participants print; past this somebody floods
PATIENCE = 30  # seconds for one answer of the daemon
DYING = 20.0  # seconds from the end of the stream to that of PID 1, on a machine with much else to do


class DockerBackend:
    """Boxes as containers of the local daemon."""

    reduced = trusted = images_are_folders = False
    not_promised: frozenset[str] = frozenset()

    def __init__(self, settings: SandboxSettings) -> None:
        self.settings = settings
        self._client: docker.APIClient | None = None

    @property
    def name(self) -> str:
        return f"docker/{self.settings.docker_runtime}"

    @property
    def limits_end_box(self) -> bool:
        return self.settings.docker_runtime == "runsc"

    @property
    def gives_gpus(self) -> bool:
        return self.settings.docker_runtime != "runsc"  # which is started without its support of them

    def close(self) -> None:
        """Hang up on the daemon; harmless when repeated."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def answers(self) -> bool:
        """Whether there is a daemon."""
        try:
            return bool(self.client.ping())
        except (SandboxError, DockerException, requests.RequestException):
            return False

    def usable(self) -> bool:
        """Whether the daemon takes a new connection: one that is stopping still answers on those that it has."""
        fresh = DockerBackend(self.settings)
        try:
            return fresh.answers()
        finally:
            fresh.close()

    def own_containers(self) -> dict[str, str]:
        """Box names of this owner's containers on this machine, with the containers' ids."""
        labels = [f"{OWNER_LABEL}={self.settings.owner}", f"{STATE_LABEL}={self.settings.state_folder}"]
        found = self.client.containers(all=True, filters={"label": labels})
        return {item["Labels"][BOX_LABEL]: item["Id"] for item in found}

    def end_orphans(self) -> list[str]:
        with daemon_trouble(Verdict.DOCKER_ERROR):
            found = self.own_containers()  # before the locks are read: a box locks its slot before it exists
            orphans = sorted(set(found) - living_boxes(self.settings.state_folder / "slots"))
            for box in orphans:
                with contextlib.suppress(APIError, requests.RequestException):
                    remove_container(self.client, found[box])
        return orphans

    def fingerprint(self) -> str:
        versions = self.client.version()
        told = [str(versions.get(key)) for key in ("Version", "KernelVersion")]
        return " ".join([self.name, *told, self.cgroup_driver, read_profile(self.settings.docker_runtime)])

    @property
    def client(self) -> docker.APIClient:
        """The daemon's API; connects on first use."""
        if self._client is None:
            try:
                self._client = docker.APIClient(self.settings.docker_host, version="auto", timeout=PATIENCE)
            except DockerException as error:
                raise SandboxError(f"the Docker daemon does not answer: {error}") from error
        return self._client

    @property
    def cgroup_driver(self) -> str:
        """`cgroupfs` or `systemd`, as the daemon says."""
        return self._cgroup_driver

    @cached_property
    def _cgroup_driver(self) -> str:
        return str(self.client.info().get("CgroupDriver", "cgroupfs"))

    def prepare(self, image: str) -> ImageInfo:
        """The image under that name, or under `anyshot/sandbox:name`."""
        for name in (image, f"{REPOSITORY}:{image}"):
            try:
                found = self.client.inspect_image(name)
            except (ImageNotFound, APIError):
                continue
            except requests.RequestException as error:
                raise SandboxError(f"the daemon does not answer: {error}") from error
            return ImageInfo(name, found["Id"], found["Config"].get("Labels") or {})
        raise SandboxError(
            f"the image {image!r} is not on this machine; build it with: {command_to_build(image)}",
            Verdict.IMAGE_MISSING,
        )

    def start(self, spec: BoxSpec) -> DockerBox:
        """A container with the runner in it, attached."""
        spec = replace(spec, image=self.prepare(spec.image).digest)  # a name may move meanwhile
        settings = self.settings
        slot, stage = take_place(settings)
        group = cgroups.ControlGroup(stage.name, self.cgroup_driver)
        place = flags.Placement(
            uid=slot.uid,
            cgroup_parent=cgroups.parent_name(stage.name, self.cgroup_driver),
            input=stage.input,
            shared=stage.shared,
            seccomp=read_profile(settings.docker_runtime),
            cpuset=settings.cpuset,
            runtime=settings.docker_runtime,
            weights=settings.weights_folder,
        )
        labels = {
            OWNER_LABEL: settings.owner,
            BOX_LABEL: stage.name,
            STATE_LABEL: str(settings.state_folder),
        }
        box = DockerBox(self.client, spec, slot, stage, group, settings.docker_runtime)
        try:
            with daemon_trouble(Verdict.SANDBOX_START):
                box.launch(flags.container_config(spec, place, labels))
        except BaseException:
            box.close()
            raise
        return box


class DockerBox(Lifetime):
    """One container; the task server's channel to the runner in it."""

    def __init__(
        self,
        client: docker.APIClient,
        spec: BoxSpec,
        slot: Slot,
        stage: BoxFolders,
        group: cgroups.ControlGroup,
        runtime: str = "runc",
    ) -> None:
        super().__init__()
        self.id = stage.name
        self.spec = spec
        self._client, self._slot, self._stage, self._group = client, slot, stage, group
        self._runtime = runtime
        self._container = ""
        self._stream: AttachStream | None = None
        self._last_usage = BoxUsage()
        self._killed = False
        self._death: Death | None = None

    def launch(self, config: dict[str, Any]) -> None:
        """Create, attach, start: in this order nothing the container says is lost."""
        created = self._client.create_container_from_config(config, name=f"anyshot-{self.id}")
        self._container = created["Id"]
        attached = self._client.attach_socket(
            self._container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        )
        self._stream = AttachStream(attached._sock, STDERR_LIMIT, attached)
        self._client.start(self._container)

    @property
    def container(self) -> str:
        """The container's id at the daemon."""
        return self._container

    @property
    def group(self) -> cgroups.ControlGroup:
        """The control group above the container."""
        return self._group

    @property
    def uid(self) -> int:
        """The user id of everything inside."""
        return self._slot.uid

    @property
    def stream(self) -> AttachStream:
        if self._stream is None:
            raise SandboxError("the box was not started", Verdict.SANDBOX_START)
        return self._stream

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        self.stream.send(data, timeout)

    def recv(self, timeout: float) -> bytes | None:
        data = self.stream.recv(timeout)
        if data == b"":
            self._remember_usage()
        return data

    def freeze(self) -> None:
        """Stop every process inside; a box that has just ended stays as it is."""
        with contextlib.suppress(APIError, requests.RequestException):  # the stream tells what happened
            self._client.pause(self._container)

    def thaw(self) -> None:
        with contextlib.suppress(APIError, requests.RequestException):
            self._client.unpause(self._container)

    def kill(self) -> None:
        """Hang up first: while an attached client does not drain a flood, the daemon's kill waits for over a minute."""
        self._remember_usage()
        if self._stream is not None:
            self._stream.close()
        if self._container and not self._killed and self.alive():
            self._killed = True
            self.thaw()  # a frozen process does not die
            with contextlib.suppress(APIError, requests.RequestException):
                self._client.kill(self._container)

    def alive(self) -> bool:
        try:
            return bool(self._client.inspect_container(self._container)["State"]["Running"])
        except (APIError, requests.RequestException):
            return False

    def death(self) -> Death:
        """How PID 1 ended. `OOMKilled` of the daemon is sticky: it also tells of children."""
        if self._death is None:
            flooded = self._stream is not None and self._stream.flooded  # ended by us: the flooder lives on
            cgroups.poll(lambda: flooded or not self.alive(), DYING)
            self._death = self._ask_death()
        return self._death

    def _ask_death(self) -> Death:
        try:
            state = self._client.inspect_container(self._container)["State"]
        except (APIError, requests.RequestException) as error:
            detail = f"the daemon does not know the container: {error}"
            return Death(killed_by_us=self._killed, lost=not self._killed, detail=detail)
        if state["Running"]:
            return Death(killed_by_us=self._killed, detail="still running")
        code = int(state["ExitCode"])
        kills = self.usage().out_of_memory_kills or 0
        return Death(
            exit_code=code,
            signal=code - 128 if code > 128 else None,
            out_of_memory=bool(state["OOMKilled"]) or kills > 0,
            killed_by_us=self._killed,
            detail=self.stream.diagnostics if self._stream else "",
        )

    def usage(self) -> BoxUsage:
        self._remember_usage()
        return self._last_usage

    def _remember_usage(self) -> None:
        """Counters only grow, and some vanish with the container: keep the largest seen."""
        now, before = self._group.usage(), self._last_usage
        self._last_usage = BoxUsage(
            cpu_seconds=max(now.cpu_seconds, before.cpu_seconds),
            memory_peak_bytes=_larger(now.memory_peak_bytes, before.memory_peak_bytes),
            out_of_memory_kills=_larger(now.out_of_memory_kills, before.out_of_memory_kills),
            processes_peak=_larger(now.processes_peak, before.processes_peak),
            memory_bytes=now.memory_bytes,
        )

    def offer_packs(self, packs: Sequence[Path]) -> str:
        self._stage.offer(packs)
        return INPUT_INSIDE

    @property
    def pixels(self) -> SharedBuffer | None:
        return SharedBuffer(self._stage.pixels, PIXELS_INSIDE, mapped=self._runtime != "runsc")

    def keeps_logs(self) -> bool:
        with contextlib.suppress(APIError, requests.RequestException):
            return bool(self._client.logs(self._container, tail=1))
        return False

    def left_behind(self) -> tuple[str, ...]:
        containers = self._client.containers(all=True, filters={"label": f"{BOX_LABEL}={self.id}"})
        folders = [str(path) for path in (self._stage.input, self._stage.shared) if path.exists()]
        groups = ["control group"] if self._group.readable() else []
        return tuple([f"container {item['Id'][:12]}" for item in containers] + folders + groups)

    def _dismantle(self) -> None:
        try:
            if self._container:
                self.kill()
                self.death()
                remove_container(self._client, self._container)
        except (APIError, requests.RequestException) as error:
            # A daemon that is away. Once the slot is free, nobody owns the container, and the next sweep ends it.
            logger.warning("box %s is left to the janitor: %s", self.id, error)
        finally:
            self._group.remove()
            self._stage.remove()
            self._slot.release()


def remove_container(client: docker.APIClient, container: str) -> None:
    """Remove a container by force; one that is gone is what we want."""
    with contextlib.suppress(NotFound):
        try:
            client.remove_container(container, force=True, v=True)
        except APIError as error:
            if error.response is None or error.response.status_code != 409:  # being removed already
                raise


@contextlib.contextmanager
def daemon_trouble(verdict: Verdict) -> Iterator[None]:
    """Turn what the daemon complains about into a SandboxError."""
    try:
        yield
    except ImageNotFound as error:
        raise SandboxError(str(error), Verdict.IMAGE_MISSING) from error
    except APIError as error:
        raise SandboxError(f"the daemon refused: {error.explanation or error}", verdict) from error
    except (DockerException, requests.RequestException) as error:
        raise SandboxError(f"the daemon does not answer: {error}", Verdict.DOCKER_ERROR) from error


def _larger(now: int | None, before: int | None) -> int | None:
    known = [value for value in (now, before) if value is not None]
    return max(known) if known else None
