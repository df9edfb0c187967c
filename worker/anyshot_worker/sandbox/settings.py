"""What an operator can set about the sandbox; the worker's settings inherit from here."""

import os
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def default_state_folder() -> Path:
    """Root's is the machine's; an ordinary user's is below the home folder (XDG base directories)."""
    if os.geteuid() == 0:
        return Path("/var/lib/anyshot")
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "anyshot"


class SandboxSettings(BaseSettings):
    """Environment variables `ANYSHOT_...`, all with a default that is safe."""

    # An empty variable is one that is not set: compose passes on what nobody filled in.
    model_config = SettingsConfigDict(
        env_prefix="ANYSHOT_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    sandbox: Literal["auto", "docker", "bubblewrap", "trusted"] = Field(
        default="auto", description="auto: Docker if its daemon answers, else Bubblewrap, else refuse"
    )
    trust_all_submissions: bool = Field(
        default=False,
        description="run code without a sandbox; needed for `trusted`, shows a banner everywhere",
    )
    docker_runtime: Literal["runc", "runsc", "nvidia"] = Field(
        default="runc", description="what starts the containers: runc, gVisor's runsc, or nvidia for GPUs"
    )
    docker_host: str | None = Field(
        default=None, description="address of the Docker daemon, unix:///run/docker.sock"
    )
    sandbox_image: str = Field(default="cpu", description="name of the image for phases that name none")
    sandbox_images: tuple[str, ...] = Field(
        default=("cpu",), description="names of further images that phases may name"
    )
    state_folder: Path = Field(
        default_factory=default_state_folder,
        description="box folders, slots, evidence: of root /var/lib/anyshot, else ~/.local/state/anyshot",
    )
    images_folder: Path = Field(
        default_factory=lambda: default_state_folder() / "images",
        description="where images are built, and Bubblewrap finds their files; one for all workers of a machine",
    )
    shared_folder: Path = Field(
        default=Path("/dev/shm"), description="memory file system for the pixel buffers"
    )
    uid_base: int = Field(default=20000, description="user id of slot 0; slot n runs as uid_base + n")
    slots: int = Field(default=64, ge=1, le=64, description="boxes that may live on this machine at once")
    pool_size: int = Field(default=1, ge=0, description="warm boxes that wait for a submission")
    cpuset: str = Field(default="", description="cores that boxes may use, as in 0-3; empty: all")
    wheelhouse: str = Field(
        default="", description="folder or URL with wheels to prefer when building an image"
    )
    weights_folder: Path | None = Field(
        default=None,
        description="folder with pretrained weights that boxes may read as /weights; none: no such folder",
    )
    owner: str = Field(default="anyshot", description="label by which a janitor knows its own containers")

    @property
    def offered_images(self) -> tuple[str, ...]:
        """The names of all images that a run may get: the usual one, and those that phases may name."""
        return tuple(dict.fromkeys((self.sandbox_image, *self.sandbox_images)))
