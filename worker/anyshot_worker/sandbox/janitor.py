"""Ends what no living worker owns: containers by label, groups, folders and buffers by name.

A box belongs to a living worker as long as its slot is locked in that box's name; locks go with the process,
however it ended, so nothing here asks for process ids.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import requests
from docker.errors import APIError

import docker
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.sandbox import cgroups
from anyshot_worker.sandbox.box_folders import remove_stage
from anyshot_worker.sandbox.docker import (
    BOX_LABEL,
    OWNER_LABEL,
    STATE_LABEL,
    DockerBackend,
    daemon_trouble,
    remove_container,
)
from anyshot_worker.sandbox.settings import SandboxSettings
from anyshot_worker.sandbox.slots import living_boxes


@dataclass
class Swept:
    """What was found without an owner, by kind, and ended."""

    containers: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def sweep(settings: SandboxSettings, backend: DockerBackend | None) -> Swept:
    """End every box of this owner on this machine whose worker is gone; raises SandboxError without a daemon."""
    swept = Swept()
    if backend is not None:
        with daemon_trouble(Verdict.DOCKER_ERROR):
            swept.containers = _sweep_containers(settings, backend.client)
    found = _folders(settings)  # before the locks are read: a box locks its slot before it exists
    for name in sorted(found - living_boxes(settings.state_folder / "slots")):
        remove_stage(settings.state_folder, settings.shared_folder, name)
        swept.folders.append(name)
        driver = backend.cgroup_driver if backend else "cgroupfs"
        if cgroups.ControlGroup(name, driver).remove(0.5):
            swept.groups.append(name)
    return swept


def own_containers(settings: SandboxSettings, client: docker.APIClient) -> dict[str, str]:
    """Box names of this owner's containers on this machine, with the containers' ids."""
    labels = [f"{OWNER_LABEL}={settings.owner}", f"{STATE_LABEL}={settings.state_folder}"]
    found = client.containers(all=True, filters={"label": labels})
    return {item["Labels"][BOX_LABEL]: item["Id"] for item in found}


def _sweep_containers(settings: SandboxSettings, client: docker.APIClient) -> list[str]:
    found = own_containers(
        settings, client
    )  # before the locks are read: a box locks its slot before it exists
    orphans = sorted(set(found) - living_boxes(settings.state_folder / "slots"))
    for box in orphans:
        with contextlib.suppress(APIError, requests.RequestException):
            remove_container(client, found[box])
    return orphans


def _folders(settings: SandboxSettings) -> set[str]:
    inputs = settings.state_folder / "boxes"
    return {path.name for path in inputs.iterdir()} if inputs.is_dir() else set()
