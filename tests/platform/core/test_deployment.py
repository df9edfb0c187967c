"""The compose file and the images' lists hold together, as far as can be told without building them."""

import importlib.metadata
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from docker.utils.build import PatternMatcher, exclude_paths
from fastapi.routing import APIRoute
from prometheus_client import generate_latest

from anyshot_platform.app import feature_routers
from anyshot_platform.cli import admin
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.running.operations.figures import collect_figures
from anyshot_worker.images import build
from anyshot_worker.images.recipe import PINS, TORCH
from anyshot_worker.process import DRAIN_SECONDS
from anyshot_worker.settings import WorkerSettings
from releasing import hashes
from tests.platform.site import Site

ROOT = Path(__file__).parents[3]
KUBERNETES = sorted((ROOT / "docker/kubernetes").glob("*.yaml"))
WORKER_SETTINGS = {f"ANYSHOT_{name.upper()}" for name in WorkerSettings.model_fields}
SECRETS = {
    "ANYSHOT_SECRET_KEY": "s" * 40,
    "ANYSHOT_DATABASE_PASSWORD": "d",
    "ANYSHOT_S3_SECRET_KEY": "k" * 20,
    "ANYSHOT_REDIS_PASSWORD": "r" * 20,
    "ANYSHOT_STORAGE_ROOT_PASSWORD": "m" * 20,
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
        "proxy",
        "storage-keys",
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


def compose_services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def test_visitors_come_through_the_proxy_and_other_doors_have_locks() -> None:
    services = compose_services()
    assert "ports" not in services["web"] and "ports" not in services["database"]
    assert "proxy.conf" in str(services["proxy"])
    assert "--requirepass ${ANYSHOT_REDIS_PASSWORD" in services["broker"]["command"]
    root = services["storage"]["environment"]
    assert root["MINIO_ROOT_USER"] != "anyshot" and "S3_SECRET_KEY" not in root["MINIO_ROOT_PASSWORD"]
    assert "trusted_proxies".upper() in str(yaml.safe_load((ROOT / "docker-compose.yml").read_text()))


def test_images_of_others_are_named_by_version() -> None:
    for name, service in compose_services().items():
        image = service["image"]
        if not image.startswith("anyshot/"):
            assert re.fullmatch(r"\$\{ANYSHOT_[A-Z_]+_IMAGE:-.+:.*\d.*\}", image), name


def test_every_image_is_named_by_version_and_ours_by_the_release() -> None:
    """Also those beside the compose file: without a tag Docker takes `latest`, whatever that is then."""
    version = (ROOT / "about/version.txt").read_text().strip()
    files = [ROOT / "docker-compose.yml", ROOT / "docker/debian/docker-compose.yml", *KUBERNETES]
    named = {name for file in files for name in re.findall(r"image: (anyshot/\S+)", file.read_text())}
    assert {f"anyshot/platform:{version}", f"anyshot/worker:{version}"} <= named
    assert {name for name in named if ":" not in name or name.endswith(":latest")} == set()
    bases = re.findall(
        r"^(?:ARG BASE|ARG DEBIAN|FROM)[= ](\S+)",
        "\n".join(path.read_text() for path in (ROOT / "docker").rglob("*ockerfile*") if path.is_file()),
        re.M,
    )
    assert {name for name in bases if ":" not in name and not name.startswith("$")} <= {"build"}


PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)", re.M)


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make hashes` writes."""
    folder = tmp_path_factory.mktemp("hashes")
    hashes.write(ROOT, folder)
    return folder


@pytest.mark.seconds("asks for the hash of each package")
@pytest.mark.parametrize("file", hashes.IMAGES)
def test_images_install_packages_of_others_by_their_hashes(hashed: Path, file: str) -> None:
    listed = (hashed / file).read_text()
    constraints = dict(PINNED.findall((ROOT / "constraints.txt").read_text()))
    blocks = re.split(r"\n(?=[a-z])", listed)
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in listed  # no address of an index
    pinned = dict(PINNED.findall(listed))
    assert {name: constraints[name] for name in pinned if name in constraints} == {
        name: version for name, version in pinned.items() if name in constraints
    }
    asked = {
        name.lower().replace("_", "-")
        for name in third_party(f"anyshot-{Path(hashes.IMAGES[file][-1]).name}")
    }
    assert asked <= set(pinned)


def test_what_submissions_may_import_is_installed_by_hash_too(
    hashed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every package of the sandbox's base, also those that others ask for: pip refuses one without a hash then."""
    listed = (hashed / hashes.SANDBOX).read_text()
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=[a-z])", listed))
    pinned = dict(PINNED.findall(listed))
    asked = [pin.lower().partition("==") for pin in (TORCH, *PINS)]
    assert all(version in ("", pinned[name]) for name, _, version in asked)
    assert len(pinned) > len(asked)
    monkeypatch.setattr(build, "_FILES", hashed / "sandbox")
    build.write_context("cpu", tmp_path)
    assert (tmp_path / "requirements.txt").read_text() == listed


def third_party(package: str) -> set[str]:
    """What a package of ours asks of others, through those of ours that it asks for."""
    found: set[str] = set()
    for line in importlib.metadata.requires(package) or ():
        name = re.split(r"[^A-Za-z0-9_-]", line)[0]
        if "extra ==" not in line:
            found |= third_party(name) if name.startswith("anyshot-") else {name}
    return found


@pytest.mark.parametrize("image", ["platform", "worker"])
def test_no_image_installs_anything_without_its_hash(image: str) -> None:
    text = (ROOT / "docker" / image / "Dockerfile").read_text()
    installs = re.findall(r"pip install (.*?)(?=&&|$)", text.replace("\\\n", " "), re.M)
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-index" in installs[1] and "--no-deps" in installs[1]


def test_the_platforms_image_has_the_tools_of_composes_database() -> None:
    """`anyshot admin backup` runs pg_dump, which refuses a server that is newer than itself."""
    compose = (ROOT / "docker-compose.yml").read_text()
    server = re.search(r"ANYSHOT_POSTGRES_IMAGE:-postgres:(\d+)", compose)
    text = (ROOT / "docker/platform/Dockerfile").read_text()
    client = re.search(r"^ARG POSTGRES_CLIENT=postgresql-client-(\d+)$", text, re.M)
    base = re.search(
        r"anyshot/debian-platform:\S+ \S*postgresql-client-(\d+)",
        (ROOT / "docker/debian/make-bases.sh").read_text(),
    )
    assert server and client and base
    assert server[1] == client[1] == base[1]
    last_stage = text.rpartition("FROM ${BASE}")[2]
    assert "apt-get install --yes --no-install-recommends ${POSTGRES_CLIENT}" in last_stage


def test_the_platforms_settings_in_the_compose_file_exist() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    known = {f"ANYSHOT_{name.upper()}" for name in PlatformSettings.model_fields}
    assert set(compose["x-platform"]["environment"]) <= known


# Without these a site sends no mail, alarms nobody, and knows no log-in but its own.
PASSED_ON = {
    f"ANYSHOT_{name}"
    for name in [
        "SITE_NAME",
        "SIGN_UP",
        "ORGANIZERS",
        "SECOND_FACTOR",
        "SMTP_URL",
        "MAIL_FROM",
        "OPERATOR_EMAIL",
        "ALERT_WEBHOOK",
        "METRICS_TOKEN",
        "GITHUB_CLIENT_ID",
        "GITHUB_CLIENT_SECRET",
        "ORCID_CLIENT_ID",
        "ORCID_CLIENT_SECRET",
    ]
}


def test_mail_log_ins_and_policy_are_passed_on_and_may_stay_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The review's S12: no SMTP, sender, operator's address, OAuth or sign-up policy could be given."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["x-platform"]["environment"]
    assert {name: compose.get(name) for name in PASSED_ON} == {name: f"${{{name}:-}}" for name in PASSED_ON}
    example = {line.partition("=")[0] for line in (ROOT / ".env.example").read_text().splitlines()}
    assert example >= PASSED_ON
    made = kubernetes()
    assert (
        set(made["Secret", "anyshot"]["stringData"]) | set(made["ConfigMap", "anyshot"]["data"]) >= PASSED_ON
    )
    for name in PASSED_ON:
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("ANYSHOT_SECRET_KEY", "x" * 40)
    empty = PlatformSettings()  # pyright: ignore[reportCallIssue]
    assert (empty.smtp_url, empty.site_name, empty.sign_up, empty.metrics_token) == (
        None,
        "Anyshot",
        "open",
        None,
    )
    monkeypatch.setenv("ANYSHOT_SMTP_URL", "smtp://mail.example.org")
    monkeypatch.setenv("ANYSHOT_SIGN_UP", "closed")
    filled = PlatformSettings()  # pyright: ignore[reportCallIssue]
    assert filled.smtp_url is not None and filled.sign_up == "closed"
    monkeypatch.setenv("ANYSHOT_BASE_URL", "https://few-shot.example.org/")
    assert PlatformSettings().base_url == "https://few-shot.example.org"  # pyright: ignore[reportCallIssue]


def test_the_workers_settings_in_the_compose_file_exist() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert set(compose["x-worker"]["environment"]) <= WORKER_SETTINGS


def kubernetes() -> dict[tuple[str, str], dict[str, Any]]:
    """The manifests by kind and name."""
    documents = [one for file in KUBERNETES for one in yaml.safe_load_all(file.read_text())]
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def pod_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod that a deployment or a KEDA job is made of."""
    return manifest["spec"].get("jobTargetRef", manifest["spec"])["template"]


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod_of(manifest)["spec"]["containers"]
    return container


NVIDIA = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "utility"}
WORKERS = ("anyshot-worker-cpu", "anyshot-worker-gpu")


@pytest.mark.parametrize("version", ["1.33", kubernetes_validate.latest_version()])
def test_the_kubernetes_manifests_follow_the_published_schemas(version: str) -> None:
    """Those of KEDA's own kinds are not among them: the job inside is, and of the rest what KEDA's CRDs require."""
    for (kind, name), one in kubernetes().items():
        if kind == "ScaledJob":
            assert one["apiVersion"] == "keda.sh/v1alpha1"
            assert one["spec"].keys() >= {"jobTargetRef", "triggers"}
            assert all(trigger.keys() >= {"type", "metadata"} for trigger in one["spec"]["triggers"])
            one = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": name},
                "spec": one["spec"]["jobTargetRef"],
            }
        if kind == "TriggerAuthentication":
            assert one["apiVersion"] == "keda.sh/v1alpha1"
            assert all(each.keys() == {"parameter", "name", "key"} for each in one["spec"]["secretTargetRef"])
            continue
        kubernetes_validate.validate(one, version, strict=True)


def test_workers_are_scaled_by_the_queue_of_their_class(site: Site) -> None:
    """KEDA looks for one series of one name and label; an empty queue is 0, since a missing series is an error."""
    site.member("alice").submit()
    site.worker("gpu-1", hardware_class="gpu").claim()
    with site.services.database.reading() as session:
        shown = generate_latest(collect_figures(session)).decode().splitlines()
    made = kubernetes()
    lengths: list[float] = []
    for name in WORKERS:
        job = made["ScaledJob", name]["spec"]
        given = {entry["name"]: entry.get("value") for entry in container_of(made["ScaledJob", name])["env"]}
        (trigger,) = job["triggers"]
        asked, entry = trigger["metadata"], trigger["authenticationRef"]["name"]
        series = asked["valueLocation"]
        assert series == f'anyshot_queued_runs{{hardware_class="{given["ANYSHOT_HARDWARE_CLASS"]}"}}'
        lengths += [float(line.split()[-1]) for line in shown if line.startswith(f"{series} ")]
        assert (asked["format"], asked["targetValue"], asked["authMode"]) == ("prometheus", "1", "bearer")
        assert asked["url"] == "http://anyshot-web.default.svc/metrics"
        (secret,) = made["TriggerAuthentication", entry]["spec"]["secretTargetRef"]
        assert (
            secret["parameter"] == "token" and secret["key"] in made["Secret", secret["name"]]["stringData"]
        )
        assert job["scalingStrategy"] == {"strategy": "accurate"}, (
            "runs that are claimed are not in the queue"
        )
    assert lengths == [1, 0]


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_in_a_pod_ends_when_idle_and_has_time_to_hand_over(name: str) -> None:
    manifest = kubernetes()["ScaledJob", name]
    assert container_of(manifest)["args"] == ["run", "--until-idle"]
    assert pod_of(manifest)["spec"]["terminationGracePeriodSeconds"] > DRAIN_SECONDS + 5
    assert manifest["spec"]["rollout"] == {"strategy": "gradual"}, "a change of the manifest ends no run"


def test_a_pod_that_is_the_boxes_host_has_no_docker_socket_and_no_capability() -> None:
    manifest = kubernetes()["ScaledJob", "anyshot-worker-cpu"]
    pod, container = pod_of(manifest)["spec"], container_of(manifest)
    assert not any("hostPath" in volume for volume in pod["volumes"])
    assert pod["securityContext"]["runAsNonRoot"] and pod["hostUsers"] is False
    security = container["securityContext"]
    assert security["capabilities"] == {"drop": ["ALL"]} and security["allowPrivilegeEscalation"] is False
    assert security["procMount"] == "Unmasked" and security["seccompProfile"] == {"type": "Unconfined"}
    given = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert given["ANYSHOT_SANDBOX"] == "bubblewrap"


def test_the_settings_in_the_kubernetes_manifests_exist() -> None:
    made = kubernetes()
    platform = set(made["Secret", "anyshot"]["stringData"]) | set(made["ConfigMap", "anyshot"]["data"])
    assert platform <= {f"ANYSHOT_{name.upper()}" for name in PlatformSettings.model_fields}
    needed = {name for name, field in WorkerSettings.model_fields.items() if field.is_required()}
    for name in WORKERS:
        worker = {entry["name"] for entry in container_of(made["ScaledJob", name])["env"]} - NVIDIA.keys()
        worker |= set(made["Secret", "anyshot-worker"]["stringData"])
        assert worker <= WORKER_SETTINGS
        assert {f"ANYSHOT_{name.upper()}" for name in needed} <= worker


def test_the_kubernetes_manifests_name_what_there_is() -> None:
    made = kubernetes()
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    images = {compose["x-platform"]["image"], compose["x-worker"]["image"]}
    secrets = {name for kind, name in made if kind in ("Secret", "ConfigMap")}
    for name in (
        ("Deployment", "anyshot-web"),
        ("Deployment", "anyshot-scheduler"),
        *(("ScaledJob", worker) for worker in WORKERS),
    ):
        container, pod = container_of(made[name]), pod_of(made[name])
        assert container["image"] in images
        if "selector" in made[name]["spec"]:
            assert made[name]["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
        assert {next(iter(source.values()))["name"] for source in container["envFrom"]} <= secrets
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes
        if name[0] == "Deployment":
            admin.make_context("admin", list(container["args"]), resilient_parsing=False).close()
    web = container_of(made["Deployment", "anyshot-web"])
    routes = {
        route.path for router in feature_routers() for route in router.routes if isinstance(route, APIRoute)
    }
    assert {web[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} <= routes


def test_a_long_migration_is_not_ended_by_a_probe() -> None:
    """A site migrates and warms up before it listens: nobody calls it dead meanwhile."""
    probe = container_of(kubernetes()["Deployment", "anyshot-web"])["startupProbe"]
    assert probe["httpGet"] == {"path": "/health", "port": 8000}
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 1200
    assert compose_services()["web"]["healthcheck"]["start_period"] == "20m"


def test_the_scheduler_has_the_folder_of_uploads_too() -> None:
    """It deletes those that nobody goes on with; the web processes sweep nothing."""
    uploads = {"name": "uploads", "persistentVolumeClaim": {"claimName": "anyshot-uploads"}}
    for name in ("anyshot-web", "anyshot-scheduler"):
        manifest = kubernetes()["Deployment", name]
        pod = manifest["spec"]["template"]["spec"]
        assert pod["volumes"] == [uploads]
        assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"]
        (mount,) = container_of(manifest)["volumeMounts"]
        assert mount == {"name": "uploads", "mountPath": "/var/lib/anyshot"}
    for name in ("web", "scheduler"):
        assert "uploads:/var/lib/anyshot" in compose_services()[name]["volumes"]


def test_workers_for_gpus_see_devices_and_who_is_on_them() -> None:
    """`nvidia-smi` is in no image of ours: the runtime brings it, and it names processes of its own namespace alone."""
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert tuple(map(int, compose["version"].split("."))) >= (2, 3)  # which has `runtime`
    service = compose["services"]["worker-gpu"]
    assert (service["runtime"], service["pid"]) == ("nvidia", "host")
    assert service["environment"].items() >= NVIDIA.items()
    manifest = kubernetes()["ScaledJob", "anyshot-worker-gpu"]
    pod = pod_of(manifest)["spec"]
    assert (pod["runtimeClassName"], pod["hostPID"]) == ("nvidia", True)
    given = {entry["name"]: entry.get("value") for entry in container_of(manifest)["env"]}
    assert given.items() >= NVIDIA.items()


@pytest.mark.parametrize("title", ["One machine, embedded", "Several processes or machines", "Kubernetes"])
def test_each_recipe_builds_the_image_that_boxes_are_made_of(title: str) -> None:
    """Without it a worker ends at its start, again and again."""
    page = (ROOT / "docs/operators/deployment.md").read_text()
    section = re.split(r"^##+ ", page.partition(f"# {title}\n")[2], maxsplit=1, flags=re.M)[0]
    assert "make image" in section
    assert "\t@$(BIN)/anyshot worker image build $(ARGS)\n" in (ROOT / "Makefile").read_text()


SECRET_OR_MADE_HERE = [
    ".env",
    ".env.before",
    ".demo/home/secret-key",
    ".venv/bin/python",
    ".carried/x.whl",
    "dist/1.0.0/x.whl",
    "core/dist/x.whl",
    "core/build/lib/x.py",
    "core/anyshot_core.egg-info/PKG-INFO",
    "anyshot-home/secret-key",
    ".coverage.1",
    ".hypothesis/x",
    "site/index.html",
    "node_modules/x.js",
    "core/anyshot_core/__pycache__/x.pyc",
    "docs/reproductions/a/b.html",
]


def test_builds_of_images_get_the_sources_and_no_secret(tmp_path: Path) -> None:
    """What is copied into the first stage stays in its layers, on the machine that builds."""
    needed = ["docker/platform/requirements.txt", "wheels/x.whl", "docs/index.md", "about/version.txt"]
    needed += [
        f"{package}/pyproject.toml" for package in ("scoring", "core", "platform", "worker", "analysis")
    ]
    for name in (*SECRET_OR_MADE_HERE, *needed):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    sent = exclude_paths(str(tmp_path), ignored())
    assert set(needed) <= sent
    assert sent & set(SECRET_OR_MADE_HERE) == set()


def test_builds_of_images_leave_no_file_of_a_package_out() -> None:
    """A pattern for what was made here must not meet a module's name."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    packages = (
        "about",
        "analysis",
        "baselines",
        "core",
        "migrations",
        "platform",
        "scoring",
        "starting_kit",
        "worker",
    )
    names = [
        name for name in listed.stdout.splitlines() if name.startswith(tuple(f"{one}/" for one in packages))
    ]
    assert names and [name for name in names if is_left_out(name)] == []


def is_left_out(name: str) -> bool:
    """Whether `.dockerignore` keeps a file of the tree out of the images' builds."""
    return PatternMatcher(ignored()).matches(name)  # pyright: ignore[reportArgumentType] - it takes texts


def ignored() -> list[str]:
    """The patterns of `.dockerignore`."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_what_git_does_not_keep_does_not_get_into_images() -> None:
    """But for what an image is built from: the lists of packages, and pages that are generated."""
    kept = {"/docker/*/requirements*.txt", "/platform/anyshot_platform/_reference/"}
    patterns = [line for line in (ROOT / ".gitignore").read_text().split() if line not in kept]
    for pattern in patterns:
        name = pattern.strip("/").replace("**/", "x/").replace("*", "x")
        for place in ("", "core/") if pattern.endswith("/") and not pattern.startswith(("/", ".")) else ("",):
            assert is_left_out(f"{place}{name}"), pattern
