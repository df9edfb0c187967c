"""The peer of packing: files decoded with the same library, in fresh processes on all cores.

`python -m benchmarks.episodes.decoding` decodes the files whose names it reads on stdin, a line each, after it has said
on stdout that it is ready.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image


def decode_all(files: list[Path]) -> float:
    """Seconds from the moment at which a process a core is ready, with the library loaded, until all is decoded."""
    count = os.cpu_count() or 1
    command = [sys.executable, "-m", "benchmarks.episodes.decoding"]
    pipes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for process in pipes:
        assert process.stdout is not None
        process.stdout.readline()
    began = time.perf_counter()
    for number, process in enumerate(pipes):
        assert process.stdin is not None
        process.stdin.writelines(f"{file}\n" for file in files[number::count])
        process.stdin.close()
    for process in pipes:
        if process.wait():
            raise RuntimeError("A process that decodes images failed.")
    return time.perf_counter() - began


def _main() -> None:
    Image.init()
    print("ready", flush=True)
    for name in sys.stdin.read().splitlines():
        with Image.open(name) as image:
            np.asarray(image)


if __name__ == "__main__":
    _main()
