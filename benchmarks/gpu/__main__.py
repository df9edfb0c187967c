"""`python -m benchmarks.gpu`: the parts one after the other, in an environment of its own.

Exits with 0 when every figure reaches its target, 1 when one falls short, 3 when there is no GPU, 4 when a package is
missing. `--device cpu` runs every part on the processor, which tries all of it but the device.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.gpu.carried import ROOT, Missing, prepare

NO_GPU, LACKING = 3, 4
CARRIED = ROOT / ".carried"
LOOK = "import torch, sys; sys.exit(0 if torch.cuda.is_available() else 3)"
NO_GPU_WORDS = (
    "There is no GPU here that this Python's torch can use, so nothing was measured: run it on a machine with one"
    ' (`GPU_PYTHON=` names another Python), or with ARGS="--device cpu" to try everything but the device.'
)


def main() -> int:
    """Prepare the environment and measure in it; the exit status."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="as little of everything as shows that it works")
    parser.add_argument("--seconds", type=float, default=480.0, help="no part begins after that")
    parser.add_argument("--carried", type=Path, default=CARRIED, help="folder of wheels brought along")
    parser.add_argument("--results", type=Path, help="where gpu.json is kept [benchmarks/results]")
    options = parser.parse_args()
    try:
        import torch  # noqa: F401 - the machine's own: nothing can be measured without
    except ModuleNotFoundError:
        print(f"{sys.executable} has no torch; GPU_PYTHON= names another Python.")
        return LACKING
    if options.device == "cuda" and subprocess.run([sys.executable, "-c", LOOK]).returncode:
        print(NO_GPU_WORDS)
        return NO_GPU
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if options.device == "cpu" else {}
    with tempfile.TemporaryDirectory(prefix="anyshot-gpu-") as folder:
        try:
            python = prepare(Path(folder, "python"), options.carried)
        except Missing as error:
            print(error)
            return LACKING
        command = [str(python), "-m", "benchmarks.gpu.measure", options.device, str(options.seconds)]
        command += ["tiny"] * options.tiny + ([f"results={options.results}"] if options.results else [])
        return subprocess.run(command, cwd=ROOT, env=os.environ | hidden).returncode


if __name__ == "__main__":
    sys.exit(main())
