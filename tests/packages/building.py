"""Building our packages, and running commands that see nothing of the checkout."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PROJECTS = ("scoring", "core", "starting_kit", "analysis", "studies", "worker", "platform")
UV = str(Path(sys.executable).with_name("uv"))


def run(*command: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command without our settings in its environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANYSHOT_", "PYTHON"))}
    return subprocess.run(command, cwd=cwd, env=kept | variables, capture_output=True, text=True)


def build(folder: Path, projects: Sequence[Path], *kinds: str) -> Path:
    """Build wheels and sdists of `projects` into a new folder; `kinds` are options of `uv build` such as `--wheel`."""
    folder.mkdir(exist_ok=True)
    for project in projects:
        built = run(UV, "build", "--quiet", *kinds, "--out-dir", str(folder), str(project), cwd=folder)
        assert built.returncode == 0, built.stderr
    return folder
