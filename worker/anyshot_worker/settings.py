"""What an operator sets for a worker, or `anyshot worker join` kept; nothing else here reads the environment."""

import socket
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, JsonConfigSettingsSource, PydanticBaseSettingsSource

from anyshot_core.logs import LogForm
from anyshot_worker.joining import JOINED
from anyshot_worker.sandbox.settings import SandboxSettings, default_state_folder


class WorkerSettings(SandboxSettings):
    """Settings of a worker process, read from `ANYSHOT_*`; those of the sandbox are among them."""

    platform_url: str = Field(description="address of the platform, for example http://127.0.0.1:8000")
    worker_token: SecretStr = Field(
        description="token of this worker, created by `anyshot admin worker-token`; "
        "`anyshot worker join` keeps one with its platform's address"
    )
    worker_name: str = Field(
        default_factory=socket.gethostname, description="name shown to operators, one a worker"
    )
    log_format: LogForm = Field(default="text", description="form of the log lines: json or text")
    hardware_class: str = Field(
        default="cpu", pattern=r"^[a-z0-9][a-z0-9-]*$", description="queue that this worker serves"
    )
    broker_url: str = Field(
        default="",
        description="Celery broker: redis://..., or filesystem:// in the embedded set-up; none: the worker asks by"
        " itself, every ANYSHOT_POLL_SECONDS",
    )
    broker_folder: Path | None = Field(default=None, description="folder of the embedded broker's messages")
    concurrency: int = Field(default=1, ge=1, description="submissions that run at the same time")
    workspace: Path = Field(
        default=Path("anyshot-workspace"), description="folder for cached packs and submissions"
    )
    workspace_bytes: int = Field(
        default=50 << 30, gt=0, description="above this the least recently used files go"
    )
    poll_seconds: float = Field(
        default=5.0,
        gt=0,
        description="how often an idle worker asks without being rung; of hundreds, each asks less often",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, and what `anyshot worker join` kept: not where it would go to another platform."""
        said = {**env_settings(), **init_settings()}
        if said.keys() & {"platform_url", "worker_token"}:
            return init_settings, env_settings
        folder = Path(said.get("state_folder") or default_state_folder())
        return init_settings, env_settings, JsonConfigSettingsSource(settings_cls, folder / JOINED)
