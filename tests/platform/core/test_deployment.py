"""The compose file and the images' lists hold together, as far as can be told without building them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from anyshot_platform.settings import PlatformSettings

ROOT = Path(__file__).parents[3]
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


def test_the_platform_image_installs_what_the_packages_ask_for() -> None:
    wanted = set()
    for project in ("platform", "starting_kit", "scoring"):
        content = tomllib.loads((ROOT / project / "pyproject.toml").read_text())
        wanted |= set(content["project"]["dependencies"])
    wanted = {name for name in wanted if not name.startswith("anyshot") and name != "torch"}
    lines = (ROOT / "docker/platform/requirements.txt").read_text().splitlines()
    assert {line for line in lines if line and not line.startswith("#")} == wanted
