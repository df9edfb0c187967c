"""What an operator sets for a worker; nothing else of the worker reads the environment."""

import socket
from pathlib import Path

from pydantic import Field, SecretStr

from anyshot_core.logs import LogForm
from anyshot_worker.sandbox.settings import SandboxSettings


class WorkerSettings(SandboxSettings):
    """Settings of a worker process, read from `ANYSHOT_*`; those of the sandbox are among them."""

    platform_url: str = Field(description="address of the platform, for example http://127.0.0.1:8000")
    worker_token: SecretStr = Field(
        description="token of this worker, created by `anyshot admin worker-token`"
    )
    worker_name: str = Field(
        default_factory=socket.gethostname, description="name shown to operators, one a worker"
    )
    log_format: LogForm = Field(default="text", description="form of the log lines: json or text")
    hardware_class: str = Field(
        default="cpu", pattern=r"^[a-z0-9][a-z0-9-]*$", description="queue that this worker serves"
    )
    broker_url: str = Field(description="Celery broker: redis://..., or filesystem:// in the embedded set-up")
    broker_folder: Path | None = Field(default=None, description="folder of the embedded broker's messages")
    concurrency: int = Field(default=1, ge=1, description="submissions that run at the same time")
    workspace: Path = Field(
        default=Path("anyshot-workspace"), description="folder for cached packs and submissions"
    )
    workspace_bytes: int = Field(
        default=50 << 30, gt=0, description="above this the least recently used files go"
    )
    poll_seconds: float = Field(
        default=5.0, gt=0, description="how often an idle worker asks without being rung"
    )
