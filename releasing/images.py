"""Images of site and worker, both sandbox images, and the definitions of these."""

import inspect
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import click

from anyshot_worker.images import inventory
from releasing import hashes
from releasing.commands import Refused, run
from releasing.packages import install

SITE = "next(iter(Path('/opt/anyshot/lib').glob('python3.*/site-packages'))).relative_to('/')"
# The flavours of the sandbox image, as a release names them.
SANDBOXES = {"cpu": "cpu", "gpu": "cuda"}
LEFT_OUT = (
    "No Docker daemon answers here. Left out: the images anyshot/platform, anyshot/worker and anyshot/sandbox, and the"
    " bill of materials of each. The definitions of the sandbox's images are there. No release goes on like this."
)
ARGUMENTS = {
    "BASE": "ANYSHOT_BASE_IMAGE",
    "PIP_FLAGS": "ANYSHOT_PIP_FLAGS",
    "ANALYSIS": "ANYSHOT_WORKER_ANALYSIS",
}


def require_docker() -> None:
    """Raise `Refused` where no Docker daemon answers, without which there are no images."""
    if not _docker_answers():
        raise Refused(
            "No Docker daemon answers here, and a release has the images anyshot/platform, anyshot/worker and"
            " anyshot/sandbox. Start Docker, or see with --dry-run what can be made without it."
        )


def build(tree: Path, target: Path, version: str, *, without_docker: bool) -> None:
    """Write the definitions; build and list the images.

    Where no Docker daemon answers, a try `without_docker` says what it leaves out; anything else raises `Refused`.
    """
    with tempfile.TemporaryDirectory() as name:
        python = install(target, tree / "constraints.txt", Path(name, "venv"), "anyshot-worker")
        worker = (str(python.with_name("anyshot")), "worker", "image")
        for flavour, kind in SANDBOXES.items():
            _define(worker, flavour, target / f"image-sandbox-{kind}-{version}")
        if without_docker and not _docker_answers():
            click.echo(LEFT_OUT)
            return
        require_docker()
        for flavour, kind in SANDBOXES.items():
            run(*worker, "build", "--flavour", flavour, "--name", f"{version}-{kind}", cwd=target)
            listed = run(*worker, "sbom", f"anyshot/sandbox:{version}-{kind}", cwd=target)
            (target / f"image-sandbox-{kind}-{version}.cdx.json").write_text(listed)
    hashes.write(tree, tree / "docker")
    if wheels := os.environ.get("ANYSHOT_WHEELS"):
        shutil.copytree(wheels, tree / "wheels")
    for kind in ("platform", "worker"):
        _build(tree, target, kind, version)


def _define(worker: tuple[str, ...], flavour: str, archive: Path) -> None:
    """What `docker build` needs to make a sandbox's base with a registry, as an archive."""
    with tempfile.TemporaryDirectory() as name:
        run(*worker, "context", "--flavour", flavour, str(Path(name, "context")), cwd=archive.parent)
        shutil.make_archive(str(archive), "gztar", name, "context")


def _build(tree: Path, target: Path, kind: str, version: str) -> None:
    tag = f"anyshot/{kind}:{version}"
    given = {name: os.environ[setting] for name, setting in ARGUMENTS.items() if setting in os.environ}
    options = [word for name, value in given.items() for word in ("--build-arg", f"{name}={value}")]
    run(
        "docker",
        "build",
        "--quiet",
        "--tag",
        tag,
        "--file",
        f"docker/{kind}/Dockerfile",
        *options,
        ".",
        cwd=tree,
    )
    code = f"{inspect.getsource(inventory).partition('if __name__')[0]}\n"
    code += f"print(json.dumps(list_packages(Path('/'), str({SITE}), '{kind}', '{version}')))"
    made = json.loads(run("docker", "run", "--rm", "--interactive", "--entrypoint", "python3", tag, "-",
                          cwd=tree, stdin=code))  # fmt: skip
    made["metadata"]["component"]["name"] = f"anyshot-{kind}"
    (target / f"image-{kind}-{version}.cdx.json").write_text(json.dumps(made, indent=1) + "\n")


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    return docker is not None and subprocess.run([docker, "version"], capture_output=True).returncode == 0
