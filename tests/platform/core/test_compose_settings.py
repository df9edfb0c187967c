"""Every setting can be given to the services of `docker-compose.yml` through `.env`, or it is said why not."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings

from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_worker.settings import WorkerSettings
from tests.platform.core.test_deployment import SECRETS

ROOT = Path(__file__).parents[3]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())

OF_THE_IMAGE = "the image and the port that compose publishes say it"
OF_COMPOSE = "it leads to a service of the file"
EMBEDDED = "of the embedded set-up alone"
MOUNTED = "the folder is mounted from the host, under this path"
BUILDING = "images are built on the host, and its daemon runs them"
SET_BY_COMPOSE = {
    PlatformSettings: {
        "home": OF_THE_IMAGE,
        "host": OF_THE_IMAGE,
        "port": OF_THE_IMAGE,
        "database_url": OF_COMPOSE,
        "broker_url": OF_COMPOSE,
        "storage": OF_COMPOSE,
        "storage_folder": EMBEDDED,
        "s3_bucket": "the policy of the storage's keys names it (docker/storage-policy.json)",
        "s3_endpoint": OF_COMPOSE,
        "s3_access_key": "docker/storage-keys.sh makes it",
        "trusted_proxies": "the proxy of the file, which alone reaches the web service",
        "trusted_digests": "of a site without a sandbox: the file's workers have one",
    },
    WorkerSettings: {
        "sandbox": "the image has no Bubblewrap, and no worker of the file goes without a sandbox",
        "trust_all_submissions": "no worker of the file goes without a sandbox",
        "docker_host": "the socket is mounted from the host",
        "state_folder": MOUNTED,
        "workspace": MOUNTED,
        "shared_folder": MOUNTED,
        "images_folder": BUILDING,
        "wheelhouse": BUILDING,
        "platform_url": "ANYSHOT_BASE_URL is the site's address for workers too",
        "broker_url": "ANYSHOT_BROKER_ADDRESS and the password make it",
        "broker_folder": EMBEDDED,
        "hardware_class": "the name of the service says it",
    },
}


def service_of(kind: type[BaseSettings]) -> dict[str, str]:
    """The environment of the service that shows all of a process kind's settings."""
    name = "web" if kind is PlatformSettings else "worker-cpu"
    return COMPOSE["services"][name]["environment"]


@pytest.mark.parametrize("kind", SET_BY_COMPOSE)
def test_every_setting_can_be_given_or_it_is_said_why_not(kind: type[BaseSettings]) -> None:
    """An operator whom the documentation tells to set something is not ignored."""
    environment, known = service_of(kind), {f"ANYSHOT_{name.upper()}": name for name in kind.model_fields}
    given = {known[name] for name, value in environment.items() if re.match(rf"\$\{{{name}:[-?]", str(value))}
    reasons = SET_BY_COMPOSE[kind]
    assert given | reasons.keys() == set(known.values())
    assert not given & reasons.keys()


@pytest.mark.parametrize("kind", SET_BY_COMPOSE)
def test_what_nobody_filled_in_is_as_if_it_was_not_set(
    kind: type[BaseSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compose passes empty variables on; an empty folder would be the working directory."""
    for name in [name for name in os.environ if name.startswith("ANYSHOT_")]:
        monkeypatch.delenv(name)
    for name, field in kind.model_fields.items():
        if field.is_required():
            monkeypatch.setenv(f"ANYSHOT_{name.upper()}", "x" * 40)
    unset = kind()
    for name, field in kind.model_fields.items():
        if not field.is_required():
            monkeypatch.setenv(f"ANYSHOT_{name.upper()}", "")
    assert kind() == unset


def configured(folder: Path, **given: str) -> dict[str, Any]:
    """The services as docker-compose understands them, with these variables in its `.env`."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    file = folder / ".env"
    file.write_text("".join(f"{name}={value}\n" for name, value in (SECRETS | given).items()))
    command = [program, "--profile", "cpu", "--profile", "gpu", "--env-file", str(file), "config"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ANYSHOT_")}
    shown = subprocess.run(command, cwd=ROOT, env=inherited, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    return yaml.safe_load(shown.stdout)["services"]


def test_storage_and_broker_are_reached_from_elsewhere_when_the_operator_says_so(tmp_path: Path) -> None:
    usual = configured(tmp_path)
    assert [usual[name]["ports"] for name in ("storage", "broker")] == [
        ["127.0.0.1:9000:9000/tcp"],
        ["127.0.0.1:6379:6379/tcp"],
    ]
    assert usual["worker-cpu"]["environment"]["ANYSHOT_BROKER_URL"].endswith("@127.0.0.1:6379/0")
    opened = configured(
        tmp_path,
        ANYSHOT_STORAGE_LISTEN="10.0.0.1:9000",
        ANYSHOT_BROKER_LISTEN="10.0.0.1:6379",
        ANYSHOT_BROKER_ADDRESS="10.0.0.1:6379",
        ANYSHOT_S3_PUBLIC_ENDPOINT="https://storage.example.org",
    )
    assert [opened[name]["ports"] for name in ("storage", "broker")] == [
        ["10.0.0.1:9000:9000/tcp"],
        ["10.0.0.1:6379:6379/tcp"],
    ]
    assert opened["worker-cpu"]["environment"]["ANYSHOT_BROKER_URL"].endswith("@10.0.0.1:6379/0")
    assert opened["web"]["environment"]["ANYSHOT_S3_PUBLIC_ENDPOINT"] == "https://storage.example.org"


def test_the_example_names_every_variable_of_the_file_that_is_no_setting() -> None:
    """But for those of builds and images, which the documentation of these names; and the storage's public address."""
    text = (ROOT / "docker-compose.yml").read_text()
    settings = {f"ANYSHOT_{name.upper()}" for kind in SET_BY_COMPOSE for name in kind.model_fields}
    asked = set(re.findall(r"\$\{(ANYSHOT_[A-Z0-9_]+)", text)) - settings
    building = {name for name in asked if name.endswith(("_IMAGE", "_FLAGS", "_ANALYSIS", "_WORKER_NAME"))}
    example = {
        line.partition("=")[0].lstrip("# ") for line in (ROOT / ".env.example").read_text().splitlines()
    }
    assert asked - building <= example
    assert "ANYSHOT_S3_PUBLIC_ENDPOINT" in example


def test_pretrained_weights_lie_under_one_path_for_the_site_and_for_boxes(tmp_path: Path) -> None:
    services = configured(tmp_path, ANYSHOT_WEIGHTS_FOLDER="/srv/weights")
    assert "/srv/weights:/srv/weights:ro" in services["web"]["volumes"]
    for name in ("web", "worker-cpu", "worker-gpu"):
        assert services[name]["environment"]["ANYSHOT_WEIGHTS_FOLDER"] == "/srv/weights"


def test_limits_reach_the_platform_as_the_documentation_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON survives the way through `.env`."""
    services = configured(
        tmp_path, ANYSHOT_BUDGET_LIMITS='\'{"uploads": 100, "drafts": 5}\'', ANYSHOT_KEEP_LOGS_DAYS="30"
    )
    for name, value in services["web"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = PlatformSettings()  # pyright: ignore[reportCallIssue]
    assert (settings.budget_limits, settings.keep_logs_days) == ({"uploads": 100, "drafts": 5}, 30)


def test_the_storages_own_password_reaches_the_storage_alone(tmp_path: Path) -> None:
    services = configured(tmp_path, ANYSHOT_STORAGE_ROOT_PASSWORD="only-the-storage")
    assert {name for name, service in services.items() if "only-the-storage" in str(service)} == {
        "storage",
        "storage-keys",
    }
