"""Settings of the platform's processes; the only reader of their environment."""

from __future__ import annotations

import os
import secrets
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from anyshot_platform.foundation.budgets import UsageBudget, changed


class Given(BaseSettings):
    """What the operator set of that which the embedded set-up makes itself."""

    model_config = SettingsConfigDict(env_prefix="ANYSHOT_", frozen=True, extra="ignore")

    secret_key: SecretStr | None = None
    database_url: str | None = None


def read_settings(**changes: object) -> PlatformSettings:
    """The settings of this process's environment, with changes; raises pydantic's `ValidationError`."""
    return PlatformSettings(**changes)  # pyright: ignore[reportArgumentType]


def read_embedded_settings(home: Path, **changes: object) -> PlatformSettings:
    """The settings of an embedded site: its files below `home`, where a secret key is made and kept if none is set."""
    if Given().secret_key is None:
        changes["secret_key"] = read_or_make_secret(home / "secret-key")
    return read_settings(home=home, **changes)


def read_or_make_secret(path: Path) -> str:
    """The secret in a file that only its owner may read; made at first use."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x") as file:
            path.chmod(0o600)
            file.write(secrets.token_urlsafe(48))
    except FileExistsError:
        pass
    return path.read_text().strip()


class PlatformSettings(BaseSettings):
    """Settings of web, sweeper and `anyshot admin`, read from variables named `ANYSHOT_...`.

    Secrets have no default: `secret_key` must be set (the demo and the tests make their own).
    """

    # An empty variable is one that is not set: compose and Kubernetes pass on what nobody filled in.
    model_config = SettingsConfigDict(
        env_prefix="ANYSHOT_", frozen=True, extra="ignore", env_ignore_empty=True
    )

    secret_key: SecretStr = Field(min_length=32, description="Signs cookies, CSRF tokens and file addresses.")
    home: Path = Field(default=Path("anyshot-home"), description="Folder of the embedded set-up's files.")
    base_url: str = Field(
        default="http://127.0.0.1:8000", description="The address at which browsers and workers reach us."
    )
    site_name: str = Field(default="Anyshot", description="Name shown in page titles and e-mails.")
    footer_links: dict[str, str] = Field(
        default={},
        description="Links at the foot of every page, as JSON; one named Privacy, Imprint or Contact replaces the "
        'site\'s own: {"News": "https://example.org/news", "Contact": "mailto:help@example.org"}.',
    )
    pages_folder: Path | None = Field(
        default=None,
        description="Folder of privacy.md, imprint.md and contact.md, the texts of these pages; "
        "`home`/pages if not set.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    web_processes: int = Field(default=1, ge=1, description="Number of web processes.")

    web_requests_at_once: int = Field(
        default=16,
        ge=1,
        description="Requests that one process works on at once; others wait a moment or get 503.",
    )
    web_queue: int = Field(default=200, ge=0, description="Requests that may wait for that, in one process.")
    web_wait_seconds: float = Field(
        default=0.6, gt=0, description="How long a request waits before it gets 503."
    )

    database_url: str | None = Field(
        default=None, description="SQLAlchemy address; a SQLite file below `home` when not set."
    )
    database_pool_size: int = Field(default=20, ge=1, description="Connections kept by one process.")
    broker_url: str | None = Field(
        default=None, description="Celery broker, e.g. redis://...; the filesystem transport when not set."
    )
    storage: Literal["folder", "s3"] = Field(default="folder", description="Where artifacts are stored.")
    weights_folder: Path | None = Field(
        default=None,
        description="Folder with pretrained weights; baselines that start from one of its files take it along.",
    )
    storage_folder: Path | None = Field(
        default=None, description="Folder of artifacts; `home`/blobs if not set."
    )
    s3_bucket: str = Field(default="anyshot", description="Bucket of the S3 storage.")
    s3_endpoint: str | None = Field(
        default=None, description="Address of the S3 service, as the platform sees it."
    )
    s3_public_endpoint: str | None = Field(
        default=None, description="Address of the S3 service, as workers and browsers see it."
    )
    s3_region: str = Field(default="us-east-1", description="Region of the S3 service.")
    s3_access_key: str | None = Field(default=None, description="Access key of the S3 service.")
    s3_secret_key: SecretStr | None = Field(default=None, description="Secret key of the S3 service.")

    organizers: Literal["everyone", "granted"] = Field(
        default="granted",
        description="Who may create competitions and pools: everyone, or whom the administrators let.",
    )
    confirm_addresses: bool | None = Field(
        default=None,
        description="New accounts confirm their e-mail address by a link; follows `smtp_url` when not set: "
        "a site without mail takes addresses as they are written.",
    )
    sign_up: Literal["open", "closed"] = Field(default="open", description="Whether anyone may sign up.")
    second_factor: Literal["optional", "organizers", "everyone"] = Field(
        default="optional",
        description="Who must have a second factor; without it organizers are participants, or nobody does anything.",
    )
    prove_minutes: float = Field(
        default=15.0, gt=0, description="Dangerous acts ask for password or code again after this."
    )
    session_days: int = Field(default=14, ge=1, description="Days after which a log-in ends.")
    secure_cookies: bool | None = Field(
        default=None, description="Send cookies over HTTPS only; follows `base_url` when not set."
    )
    trusted_digests: tuple[str, ...] | None = Field(
        default=None,
        description="There is no sandbox: accept only zips with these sha-256 digests, which the operator trusts.",
    )

    upload_max_bytes: int = Field(default=1 << 30, gt=0, description="Largest submission zip.")
    pack_max_bytes: int = Field(default=8 << 30, gt=0, description="Largest dataset (pack) that is uploaded.")
    upload_chunk_bytes: int = Field(default=8 << 20, gt=0, description="Largest part of a resumable upload.")
    artifact_max_bytes: int = Field(default=4 << 30, gt=0, description="Largest artifact of a run.")
    events_max_lines: int = Field(default=100_000, gt=0, description="Log lines kept of one attempt.")
    events_max_bytes: int = Field(default=16 << 20, gt=0, description="Log bytes kept of one attempt.")
    blob_url_seconds: int = Field(default=3600, gt=0, description="How long a signed file address works.")

    budget_limits: dict[str, int] = Field(
        default={},
        description='Limits other than those of the table of budgets, as JSON: {"uploads": 50}; 0 is no limit.',
    )
    trusted_proxies: str = Field(
        default="127.0.0.1",
        description="Addresses or networks, with commas, of proxies whose X-Forwarded-For is believed.",
    )

    lease_seconds: float = Field(
        default=30.0, gt=0, description="How long a claim lasts without a heartbeat."
    )
    sweep_seconds: float = Field(
        default=10.0,
        gt=0,
        description="Time between two sweeps; leases that ran out are looked for every 2 s.",
    )
    ring_again_seconds: float = Field(
        default=15.0, gt=0, description="A queued run that nobody took in this time is rung again."
    )
    infrastructure_attempts: int = Field(
        default=3, ge=1, description="Attempts lost to infrastructure before failing."
    )
    retry_seconds: float = Field(
        default=5.0, ge=0, description="First back-off after an infrastructure failure."
    )
    worker_gone_seconds: float = Field(default=60.0, gt=0, description="A worker unseen for so long is gone.")
    keep_slot_from_bulk: bool = Field(
        default=True, description="Keep one worker of a class free of bulk work."
    )

    smtp_url: SecretStr | None = Field(
        default=None,
        description="smtp://user:password@host:port, or smtps://; e-mails go to files when not set.",
    )
    mail_from: str = Field(default="anyshot@localhost", description="Sender of e-mails.")
    operator_email: str | None = Field(default=None, description="Receiver of alerts.")
    alert_webhook: str | None = Field(default=None, description="Address that alerts are posted to.")
    alert_queue_seconds: float = Field(default=900.0, gt=0, description="Oldest queued run before an alert.")
    alert_loop_seconds: float = Field(
        default=180.0, gt=0, description="Time since a background thread's last round before an alert."
    )
    alert_mail_seconds: float = Field(
        default=600.0, gt=0, description="Time that an e-mail is due and not sent before an alert."
    )
    alert_failure_rate: float = Field(
        default=0.5, gt=0, le=1, description="Share of failures of ours in an hour."
    )
    webhooks_to_private_addresses: bool = Field(
        default=False, description="Let webhooks reach loopback and private networks."
    )

    keep_logs_days: int = Field(
        default=365, ge=1, description="Days that log lines are kept after a run ended."
    )
    keep_predictions_days: int = Field(default=365, ge=1, description="Days that predictions are kept.")
    keep_learners_days: int = Field(default=30, ge=1, description="Days that saved learners are kept.")
    keep_orphans_hours: float = Field(
        default=24.0, ge=0, description="Hours before an unreferenced file goes."
    )

    github_client_id: str | None = Field(default=None, description="Log-in by GitHub: client id.")
    github_client_secret: SecretStr | None = Field(
        default=None, description="Log-in by GitHub: client secret."
    )
    orcid_client_id: str | None = Field(default=None, description="Log-in by ORCID: client id.")
    orcid_client_secret: SecretStr | None = Field(default=None, description="Log-in by ORCID: client secret.")
    metrics_token: SecretStr | None = Field(
        default=None, description="Bearer token that /metrics asks for; loopback only when not set."
    )
    log_format: Literal["json", "text"] = Field(default="json", description="Form of the log lines.")

    @model_validator(mode="before")
    @classmethod
    def _addresses_have_the_port(cls, given: dict[str, object]) -> dict[str, object]:
        """Links in mails lead to the port that was asked for, where nobody set an address."""
        port = str(given.get("port") or 0)
        known = given.get("base_url") or port == "0"
        return given if known else {**given, "base_url": f"http://127.0.0.1:{port}"}

    @field_validator("base_url")
    @classmethod
    def _paths_follow_the_address(cls, address: str) -> str:
        """A slash at its end would stand twice in every link that is sent."""
        return address.rstrip("/")

    @model_validator(mode="after")
    def _budgets_are_known(self) -> PlatformSettings:
        changed(self.budget_limits)
        old = [name for name in os.environ if name.startswith("ANYSHOT_RATE_LIMIT_")]
        if old:
            raise ValueError(
                f"{old[0]} is no setting any more: write ANYSHOT_BUDGET_LIMITS, see the table of budgets"
            )
        return self

    @model_validator(mode="after")
    def _links_lead_somewhere(self) -> PlatformSettings:
        for words, address in self.footer_links.items():
            if not words.strip() or not address.startswith(("https://", "http://", "mailto:", "/")):
                raise ValueError(
                    f"ANYSHOT_FOOTER_LINKS: {words!r} needs an address that begins with https://, mailto: or /"
                )
        return self

    @model_validator(mode="after")
    def _s3_needs_keys(self) -> PlatformSettings:
        if self.storage == "s3" and (self.s3_access_key is None or self.s3_secret_key is None):
            raise ValueError("storage=s3 needs ANYSHOT_S3_ACCESS_KEY and ANYSHOT_S3_SECRET_KEY")
        return self

    @cached_property
    def budgets(self) -> dict[str, UsageBudget]:
        """The table of budgets with this site's limits."""
        return changed(self.budget_limits)

    @cached_property
    def database_address(self) -> str:
        """The SQLAlchemy address that is used."""
        return self.database_url or f"sqlite:///{self.home.absolute()}/anyshot.sqlite3"

    @cached_property
    def blob_folder(self) -> Path:
        """Where the folder storage keeps its files."""
        return self.storage_folder or self.home / "blobs"

    @cached_property
    def texts_folder(self) -> Path:
        """Where the operators' own pages lie, as Markdown."""
        return self.pages_folder or self.home / "pages"

    @cached_property
    def upload_folder(self) -> Path:
        """Where uploads lie until they are complete."""
        return self.home / "uploads"

    @cached_property
    def asks_to_confirm(self) -> bool:
        """Whether new accounts confirm their address before anything is sent or joined."""
        return self.smtp_url is not None if self.confirm_addresses is None else self.confirm_addresses

    @cached_property
    def cookies_over_https_only(self) -> bool:
        """Whether cookies carry the Secure attribute."""
        return self.base_url.startswith("https://") if self.secure_cookies is None else self.secure_cookies
