"""Running the programs of a release; what fails is told whole."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


class Refused(Exception):
    """There is no release: what was found, and what to do."""


def run(program: str, *words: str, cwd: Path, stdin: str | None = None, **variables: str) -> str:
    """What a program printed; one of this environment goes before one of the machine. Raises `Refused`."""
    beside = Path(sys.executable).parent / program  # a whole path stays as it is
    found = str(beside) if beside.exists() else shutil.which(program)
    if found is None:
        raise Refused(f"{program} is not installed here; `make setup` brings what a release needs.")
    done = subprocess.run(
        [found, *words], cwd=cwd, env=os.environ | variables, input=stdin, capture_output=True, text=True
    )
    if done.returncode:
        said = (done.stdout + done.stderr)[-6000:]
        raise Refused(f"`{program} {' '.join(words)}` failed with {done.returncode}:\n{said}")
    return done.stdout
