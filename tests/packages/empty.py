"""An empty environment: Python and pip, as a participant has them, and what is installed into it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.packages.building import UV, run

MAKE_BASES = Path(__file__).parents[2] / "docker/debian/make-bases.sh"
IMAGE = "anyshot/debian-python:bookworm"
ITS_PYTHON = "3.11"


@dataclass(frozen=True)
class Empty:
    """A new virtual environment in `folder`, whose programs have a home of their own there."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Empty:
        """Create it, with pip."""
        folder.mkdir(parents=True, exist_ok=True)
        done = run(
            UV, "venv", "--quiet", "--seed", "--python", sys.executable, str(folder / "venv"), cwd=folder
        )
        assert done.returncode == 0, done.stderr
        return cls(folder)

    @property
    def packages(self) -> Path:
        """Where its packages lie."""
        return Path(
            self("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
        )

    def install(self, *words: str, pip: bool = False) -> None:
        """Install with uv, which takes what it has fetched once from its cache; or as the guide says, with pip."""
        python = str(self.folder / "venv/bin/python")
        program = (python, "-m", "pip", "install") if pip else (UV, "pip", "install", "--python", python)
        done = run(*program, "--quiet", *words, cwd=self.folder)
        assert done.returncode == 0, done.stderr

    def __call__(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        return run(str(self.folder / "venv/bin" / program), *words, cwd=self.folder, HOME=str(self.folder))

    def size(self) -> int:
        """Bytes of what is installed, pip itself aside: it was there before."""
        packages = self.packages
        files = (path for path in packages.rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_size for path in files if path.relative_to(packages).parts[0] != "pip")

    def add_packages_of_the_machine(self, *, without: tuple[str, ...] = ()) -> None:
        """Lay what is installed here below this environment, but our own, as `--system-site-packages` would."""
        beneath = self.folder / "of-the-machine"
        beneath.mkdir()
        for path in Path(sysconfig.get_path("purelib")).iterdir():
            ours = "anyshot" in path.name or path.suffix == ".pth"
            if not ours and not path.name.startswith(without):
                (beneath / path.name).symlink_to(path)
        (self.packages / "of_the_machine.pth").write_text(f"{beneath}\n")


@dataclass(frozen=True)
class Contained(Empty):
    """The same in a container of Debian's Python and nothing else, where `folder` has the path that it has here.

    What others have written comes from `wheels`, fetched here: a container knows no mirror of this machine.
    """

    container: str
    index: str
    wheels: Path

    @classmethod
    @contextmanager
    def up(cls, folder: Path, index: str) -> Iterator[Contained]:
        """Start it; `index` is the site's, the one that it knows."""
        done = run(str(MAKE_BASES), "python", cwd=folder)
        assert done.returncode == 0, done.stderr
        made = cls(folder, f"anyshot-participant-{secrets.token_hex(4)}", index, folder / "wheels")
        started = run(
            *("docker", "run", "--detach", "--rm", "--init", "--network", "host", "--name", made.container),
            *("--user", f"{os.getuid()}:{os.getgid()}", "--volume", f"{folder}:{folder}", IMAGE),
            *("sleep", "infinity"),
            cwd=folder,
        )
        assert started.returncode == 0, started.stderr
        try:
            done = made._inside("python3", "-m", "venv", str(folder / "venv"))
            assert done.returncode == 0, done.stderr
            yield made
        finally:
            run("docker", "kill", made.container, cwd=folder)

    def install(self, *words: str, pip: bool = True) -> None:
        """Install with its own pip, as the guide says."""
        fetch = (sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:")
        version = ("--python-version", ITS_PYTHON, "--dest", str(self.wheels))
        done = run(*fetch, *version, *words, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        for ours in self.wheels.glob("anyshot*"):
            ours.unlink()  # that comes from the site
        done = self("python", "-m", "pip", "install", "--quiet", *words)
        assert done.returncode == 0, done.stderr

    def __call__(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        return self._inside(str(self.folder / "venv/bin" / program), *words)

    def _inside(self, *command: str) -> subprocess.CompletedProcess[str]:
        known = {"HOME": self.folder, "PIP_INDEX_URL": self.index, "PIP_FIND_LINKS": self.wheels}
        named = [word for name, value in known.items() for word in ("--env", f"{name}={value}")]
        folder = ("--workdir", str(self.folder), *named)
        return run("docker", "exec", *folder, self.container, *command, cwd=self.folder)
