"""Sandboxes for `anyshot dry-run --docker` and `--bubblewrap`: entry points of the group `anyshot.sandboxes`."""

import atexit
import uuid
from functools import cache
from typing import Literal

import click

from anyshot_core.taskserver.channel import Channel, NoSandbox
from anyshot_core.weights import default_folder
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.images.build import build_folder, build_image
from anyshot_worker.sandbox import SandboxError, Sandboxes, SandboxSettings
from anyshot_worker.sandbox.interface import Backend
from anyshot_worker.sandbox.sandboxes import choose_backend
from anyshot_worker.sandbox.settings import default_state_folder

Kind = Literal["docker", "bubblewrap"]


def docker(cpus: int, memory_bytes: int) -> Channel:
    """A runner in the sandbox image. Raises NoSandbox where Docker or the image is missing."""
    return _open("docker", cpus, memory_bytes)


def bubblewrap(cpus: int, memory_bytes: int) -> Channel:
    """A runner under Bubblewrap. Raises NoSandbox where that cannot be had."""
    return _open("bubblewrap", cpus, memory_bytes)


def _open(kind: Kind, cpus: int, memory_bytes: int) -> Channel:
    limits = Limits(memory_bytes=memory_bytes, cpus=cpus)
    try:
        return _sandboxes(kind).open(None, limits, run_id=f"dry-run-{uuid.uuid4().hex[:8]}", epoch=1).channel
    except SandboxError as error:
        raise NoSandbox(f"The sandbox {kind} cannot be used here: {error}") from error


@cache
def _sandboxes(kind: Kind) -> Sandboxes:
    """One for the process: its guarantees are checked once."""
    folder = default_state_folder() / "dry-run"  # not in a home, which a box of root's may not enter
    folder.mkdir(parents=True, exist_ok=True)
    weights = default_folder()
    settings = SandboxSettings(
        sandbox=kind,
        state_folder=folder,
        pool_size=0,
        owner="anyshot-dry-run",
        weights_folder=weights if weights.is_dir() else None,
    )
    provide_image(choose_backend(settings), settings)
    made = Sandboxes.from_settings(settings)
    atexit.register(made.close)
    return made


def provide_image(backend: Backend, settings: SandboxSettings) -> None:
    """Build the sandbox image, as `anyshot worker image build` does; one that is there and up to date is kept.

    Raises SandboxError where there is nothing to run an image with, or where it cannot be built.
    """
    folder = backend.images_are_folders
    if folder and not backend.usable():
        raise SandboxError("Bubblewrap is not installed (the program bwrap)", Verdict.SANDBOX_START)
    absent = False
    try:
        backend.prepare(settings.sandbox_image)
    except SandboxError as error:
        if error.verdict is not Verdict.IMAGE_MISSING:
            raise
        absent = True
        command = f"anyshot worker image build{' --as-folder' if folder else ''}"
        _say(
            f"The sandbox image is not on this machine. It is built now, once, in a few minutes ({command}) ..."
        )
    build = build_folder if folder else build_image
    try:
        build("cpu", settings.images_folder, settings.wheelhouse, say=_say if absent else _keep_quiet)
    except SandboxError:
        if absent:
            raise


def _keep_quiet(text: str) -> None:
    """An image that is brought up to date says nothing."""


def _say(text: str) -> None:
    click.echo(text, err=True)  # standard output may be JSON
