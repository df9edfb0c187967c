"""What goes wrong, drawn from a seed: kills, pauses, restarts, a wiped broker."""

import random
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from anyshot_platform.foundation.database import now
from benchmarks.chaos.machines import Process
from benchmarks.servers import Postgres

PAUSE_SECONDS = 36.0  # past a lease of 30


@dataclass
class FaultInjector:
    """Draws and does one thing after another; what has to be undone later waits in `pending`."""

    workers: list[Process]
    broker: Process
    broker_url: str
    database: Postgres
    seed: int
    docker: Process | None = None
    began: float = field(default_factory=time.monotonic)
    timeline: list[str] = field(default_factory=list)
    pending: list[tuple[float, str, Callable[[], None]]] = field(default_factory=list)
    strikes: int = 0
    kills: list[tuple[str, datetime]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._down: set[str] = set()
        self.begin()

    def begin(self) -> None:
        """The timeline starts now, and the first thing happens in five seconds."""
        self.began = time.monotonic()
        self._next = self.began + 5.0

    def tick(self) -> None:
        """Undo what is due, and do the next thing if it is time."""
        moment = time.monotonic()
        for entry in [entry for entry in self.pending if entry[0] <= moment]:
            self.pending.remove(entry)
            self._say(entry[1])
            entry[2]()
        if moment >= self._next:
            self._next = moment + self._chance.uniform(8.0, 20.0)
            self._strike()

    def finish(self) -> None:
        """Undo everything that is still broken."""
        for _, words, undo in self.pending:
            self._say(words)
            undo()
        self.pending.clear()

    def _strike(self) -> None:
        strikes = [
            self._kill,
            self._kill,
            self._pause,
            self._flush,
            self._restart_broker,
            self._restart_database,
        ]
        if self.docker is not None:
            strikes.append(self._restart_docker)
        self.strikes += 1
        self._chance.choice(strikes)()

    def _victim(self) -> Process | None:
        up = [worker for worker in self.workers if worker.name not in self._down]
        return self._chance.choice(up) if up else None

    def _kill(self) -> None:
        victim = self._victim()
        if victim is None:
            return
        self._say(f"kill -9 {victim.name}")
        victim.kill()
        self.kills.append((victim.name, now()))
        self._later(self._chance.uniform(1.0, 4.0), f"start {victim.name}", victim, victim.start)

    def _pause(self) -> None:
        victim = self._victim()
        if victim is None:
            return
        self._say(f"pause {victim.name} for {PAUSE_SECONDS:.0f} s")
        victim.signal(signal.SIGSTOP)
        self._later(PAUSE_SECONDS, f"resume {victim.name}", victim, lambda: victim.signal(signal.SIGCONT))

    def _later(self, seconds: float, words: str, victim: Process, undo: Callable[[], None]) -> None:
        self._down.add(victim.name)

        def done() -> None:
            self._down.discard(victim.name)
            undo()

        self.pending.append((time.monotonic() + seconds, words, done))

    def _flush(self) -> None:
        self._say("flush redis")
        port = self.broker_url.rsplit(":", 1)[1].split("/")[0]
        subprocess.run(["redis-cli", "-p", port, "flushall"], capture_output=True, timeout=10)

    def _restart_broker(self) -> None:
        self._say("restart redis")
        self.broker.kill()
        self.broker.start()

    def _restart_database(self) -> None:
        self._say("restart postgresql")
        self.database.restart()

    def _restart_docker(self) -> None:
        assert self.docker is not None  # drawn only where there is one
        self._say("restart dockerd")
        self.docker.stop()
        self.docker.start()

    def _say(self, words: str) -> None:
        line = f"{time.monotonic() - self.began:7.1f} s  {words}"
        self.timeline.append(line)
        print(line, flush=True)
