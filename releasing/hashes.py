"""`python -m releasing.hashes`: what our images install from others, each file by its hash, beside their Dockerfiles.

The lists follow `constraints.txt` and are made where images are built; they are not part of the repository.
"""

import os
import sys
from pathlib import Path

from anyshot_worker.images.recipe import PINS, TORCH
from releasing.commands import run

# The index of a CPU build of torch, as `TORCH_INDEX` of the sandbox's base takes it; empty: the plain index's torch.
TORCH_INDEX = os.environ.get("TORCH_INDEX", "")
OURS = ("./scoring", "./core", "./starting_kit")
IMAGES = {
    "platform/requirements.txt": ("./worker", "./platform"),
    "worker/requirements.txt": ("./worker",),
    "worker/requirements-analysis.txt": ("./worker", "./analysis"),
}
COMPILE = ("pip", "compile", "--quiet", "--universal", "--no-header", "--no-annotate", "--python-version", "3.11",
           "--generate-hashes", "--no-emit-index-url")  # fmt: skip
SANDBOX = "sandbox/requirements.txt"


def write(tree: Path, folder: Path) -> None:
    """Write the lists of a checkout below `folder`; needs a package index, raises `Refused` where none answers."""
    projects = ("scoring", "core", "starting-kit", "analysis", "worker", "platform")
    ours = [f"--no-emit-package=anyshot-{name}" for name in projects]
    uv = str(Path(sys.executable).with_name("uv"))
    for file, more in IMAGES.items():
        wanted = "\n".join(("hatchling", "editables", *OURS, *more))
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        constraints = ("--constraint", "constraints.txt")
        run(
            uv,
            *COMPILE,
            *constraints,
            *ours,
            "--output-file",
            str(folder / file),
            "-",
            cwd=tree,
            stdin=wanted,
        )
    # What submissions may import has versions of its own: they change with a new image alone.
    index = ("--extra-index-url", TORCH_INDEX) if TORCH_INDEX else ()
    (folder / SANDBOX).parent.mkdir(parents=True, exist_ok=True)
    wanted = "\n".join((TORCH, *PINS))
    run(uv, *COMPILE, *index, "--output-file", str(folder / SANDBOX), "-", cwd=tree, stdin=wanted)


if __name__ == "__main__":
    checkout = Path(__file__).parents[1]
    write(checkout, checkout / "docker")
