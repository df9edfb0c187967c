"""Wheels and sdists of the seven packages, each with what it brings along."""

import hashlib
import sys
import tempfile
from pathlib import Path

from releasing.commands import run

PROJECTS = ("scoring", "core", "starting_kit", "analysis", "studies", "worker", "platform")


def build(tree: Path, target: Path) -> None:
    """Build both forms of each package into `target`; an index would take them."""
    for project in PROJECTS:
        run(
            "uv",
            "build",
            "--quiet",
            "--no-create-gitignore",
            "--out-dir",
            str(target),
            str(tree / project),
            cwd=tree,
        )
    run("twine", "check", "--strict", *map(str, sorted(target.glob("anyshot_*"))), cwd=tree)


def install(wheels: Path, constraints: Path, folder: Path, *packages: str) -> Path:
    """A new environment with packages of ours from `wheels` and all else as pinned; returns its Python."""
    python = folder / "bin/python"
    run("uv", "venv", "--quiet", "--python", sys.executable, str(folder), cwd=wheels)
    run("uv", "pip", "install", "--quiet", "--python", str(python), "--find-links", str(wheels),
        "--constraint", str(constraints), *packages, cwd=wheels)  # fmt: skip
    return python


def write_inventories(tree: Path, target: Path) -> None:
    """For each wheel a CycloneDX bill of materials of an environment with it and nothing else (`*.cdx.json`)."""
    for wheel in sorted(target.glob("*.whl")):
        with tempfile.TemporaryDirectory() as name:
            python = install(target, tree / "constraints.txt", Path(name, "venv"), str(wheel))
            project = str(tree / wheel.name.partition("-")[0].removeprefix("anyshot_") / "pyproject.toml")
            made = target / f"{wheel.name.removesuffix('.whl')}.cdx.json"
            run("cyclonedx-py", "environment", "--output-reproducible", "--mc-type", "library",
                "--pyproject", project, "--output-file", str(made), str(python), cwd=target)  # fmt: skip


def write_sums(target: Path) -> None:
    """`SHA256SUMS` of all files, as `sha256sum --check` reads it."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(target.iterdir())
        if path.is_file() and path.name != "SHA256SUMS"
    ]
    (target / "SHA256SUMS").write_text("".join(lines))
