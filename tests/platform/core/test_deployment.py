"""The compose file and the images' lists hold together, as far as can be told without building them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.routing import APIRoute

from anyshot_platform.app import feature_routers
from anyshot_platform.cli import admin
from anyshot_platform.settings import PlatformSettings
from anyshot_worker.settings import WorkerSettings

ROOT = Path(__file__).parents[3]
WORKER_SETTINGS = {f"ANYSHOT_{name.upper()}" for name in WorkerSettings.model_fields}
SECRETS = {
    "ANYSHOT_SECRET_KEY": "s" * 40,
    "ANYSHOT_DATABASE_PASSWORD": "d",
    "ANYSHOT_S3_SECRET_KEY": "k" * 20,
}


def test_the_compose_file_is_valid() -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    command = [program, "--profile", "cpu", "--profile", "gpu", "config"]
    environment = {**os.environ, **SECRETS}
    shown = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    services = yaml.safe_load(shown.stdout)["services"]
    assert set(services) == {
        "web",
        "scheduler",
        "database",
        "broker",
        "storage",
        "worker-cpu",
        "worker-gpu",
    }


def test_the_compose_file_has_no_secret_of_its_own() -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed (Debian: apt-get install docker-compose)")
    environment = {name: value for name, value in os.environ.items() if name not in SECRETS}
    shown = subprocess.run([program, "config"], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert shown.returncode != 0 and "ANYSHOT_" in shown.stderr


def test_the_platforms_settings_in_the_compose_file_exist() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    known = {f"ANYSHOT_{name.upper()}" for name in PlatformSettings.model_fields}
    assert set(compose["x-platform"]["environment"]) <= known


def test_the_workers_settings_in_the_compose_file_exist() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert set(compose["x-worker"]["environment"]) <= WORKER_SETTINGS


def kubernetes() -> dict[tuple[str, str], dict[str, Any]]:
    """The manifests by kind and name."""
    documents = yaml.safe_load_all((ROOT / "docker/kubernetes/anyshot.yaml").read_text())
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    return container


def test_the_settings_in_the_kubernetes_manifests_exist() -> None:
    made = kubernetes()
    platform = set(made["Secret", "anyshot"]["stringData"]) | set(made["ConfigMap", "anyshot"]["data"])
    assert platform <= {f"ANYSHOT_{name.upper()}" for name in PlatformSettings.model_fields}
    worker = {entry["name"] for entry in container_of(made["DaemonSet", "anyshot-worker-cpu"])["env"]}
    worker |= set(made["Secret", "anyshot-worker"]["stringData"])
    assert worker <= WORKER_SETTINGS
    needed = {name for name, field in WorkerSettings.model_fields.items() if field.is_required()}
    assert {f"ANYSHOT_{name.upper()}" for name in needed} <= worker


def test_the_kubernetes_manifests_name_what_there_is() -> None:
    made = kubernetes()
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    images = {compose["x-platform"]["image"], compose["x-worker"]["image"]}
    secrets = {name for kind, name in made if kind in ("Secret", "ConfigMap")}
    for name in (
        ("Deployment", "anyshot-web"),
        ("Deployment", "anyshot-scheduler"),
        ("DaemonSet", "anyshot-worker-cpu"),
    ):
        container, pod = container_of(made[name]), made[name]["spec"]["template"]
        assert container["image"] in images
        assert made[name]["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        assert {next(iter(source.values()))["name"] for source in container["envFrom"]} <= secrets
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes
        if "args" in container:
            admin.make_context("admin", list(container["args"]), resilient_parsing=False).close()
    web = container_of(made["Deployment", "anyshot-web"])
    routes = {
        route.path for router in feature_routers() for route in router.routes if isinstance(route, APIRoute)
    }
    assert {web[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} <= routes


@pytest.mark.parametrize(
    ("image", "projects"),
    [
        ("platform", ("platform", "starting_kit", "scoring")),
        ("worker", ("worker", "starting_kit", "scoring")),
    ],
)
def test_an_image_installs_what_the_packages_ask_for(image: str, projects: tuple[str, ...]) -> None:
    wanted = set()
    for project in projects:
        content = tomllib.loads((ROOT / project / "pyproject.toml").read_text())
        wanted |= set(content["project"]["dependencies"])
    wanted = {name for name in wanted if not name.startswith("anyshot") and name != "torch"}
    lines = (ROOT / f"docker/{image}/requirements.txt").read_text().splitlines()
    assert {line for line in lines if line and not line.startswith("#")} == wanted
