"""Peak memory of a process that only streams: `python -m benchmarks.episodes.memory TASKS PACK...`."""

import re
import subprocess
import sys
from pathlib import Path

from anyshot_core.data.images import IMAGE_BYTES
from anyshot_core.data.pool import Pool
from anyshot_core.episodes import stream
from anyshot_core.protocols import AnyWayAnyShot

LARGEST_TASK = 20 * (20 + 20) * IMAGE_BYTES


def growth(packs: list[Path], tasks: int) -> int:
    """Bytes by which the peak resident size of a fresh process grows while it streams `tasks` tasks."""
    command = [sys.executable, "-m", "benchmarks.episodes.memory", str(tasks), *map(str, packs)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peak() -> int:
    """Peak resident bytes of this program; unlike `ru_maxrss` it does not begin with what the parent had."""
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s*(\d+) kB", status)[0]) * 1024


def main() -> None:
    """Stream and print the growth of the peak resident size after the pool was opened."""
    pool = Pool.open(sys.argv[2:], verify=False)
    for pack in pool:
        _ = pack.class_rows  # the index
    before = peak()
    for _ in stream(pool, AnyWayAnyShot(), 1, int(sys.argv[1]), reuse=True):
        continue
    print(peak() - before)


if __name__ == "__main__":
    main()
