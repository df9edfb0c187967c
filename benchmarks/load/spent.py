"""How many cores some processes kept busy: others with their children, this one alone."""

import time

import psutil


class Spent:
    """Looks at processes, by name and id, from when it is made; the users are this process."""

    def __init__(self, processes: dict[str, int]) -> None:
        self._processes = processes
        self._began = time.monotonic()
        self._before = self.seconds()

    def cores(self) -> dict[str, float]:
        """Seconds of the processor for each second that has passed, by name."""
        passed = time.monotonic() - self._began
        return {name: (now - self._before[name]) / passed for name, now in self.seconds().items()}

    def seconds(self) -> dict[str, float]:
        """Seconds of the processor that each has used in its life."""
        others = {name: _seconds_of(pid) for name, pid in self._processes.items()}
        return {**others, "users": time.process_time()}


def _seconds_of(pid: int) -> float:
    first = psutil.Process(pid)
    ended = first.cpu_times()  # its children that are gone are counted with it
    total = ended.children_user + ended.children_system
    for process in (first, *first.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
