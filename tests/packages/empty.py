"""An empty environment: Python and pip, as a participant has them, and what is installed into it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.packages.building import UV, run


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
