"""What the task server needs of the place where a runner lives: a byte stream, two folders, four verbs.

A sandbox (Docker, Bubblewrap) implements `Channel`; `taskserver.child` implements it for a plain child process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class ChannelClosed(ConnectionError):
    """The other end is gone: nothing more can be sent."""


class NoSandbox(RuntimeError):
    """The sandbox that was asked for cannot be had here."""


@dataclass(frozen=True, slots=True)
class Death:
    """How a runner ended, as seen from outside; never a verdict by itself.

    `exit_code` is the status, `signal` the signal that ended the runner itself, `out_of_memory` whether the
    kernel killed for the memory limit, `killed_by_us` whether `Channel.kill` came first, `lost` that nobody can
    say, because what ran the sandbox went away.
    """

    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    killed_by_us: bool = False
    lost: bool = False
    detail: str = ""  # for operators


@dataclass(frozen=True, slots=True)
class SharedBuffer:
    """The file in which the pixels of the set that is due wait, made by the task server.

    `host` is where the task server writes, `inside` the path for the runner, mounted read-only by folder. `mapped`
    says whether a mapping inside shows what was written after it was made; gVisor's may keep stale pages.
    """

    host: Path
    inside: str
    mapped: bool = True


class Channel(Protocol):
    """One runner, started and maybe already warm. `send` and `recv` may be called from two threads at once."""

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        """Send all of `data`. Raises TimeoutError when the runner does not read, ChannelClosed when it is gone."""
        ...

    def recv(self, timeout: float) -> bytes | None:
        """Some bytes (64 KiB at most), `b""` at the end of the stream, None when `timeout` seconds passed."""
        ...

    def freeze(self) -> None:
        """Stop every process of the sandbox (cgroup freezer, or SIGSTOP to the group where there is no other way)."""
        ...

    def thaw(self) -> None:
        """Let the frozen sandbox run on."""
        ...

    def kill(self) -> None:
        """End every process of the sandbox now, even while the stream is not drained. Calling it again is harmless."""
        ...

    def close(self) -> None:
        """`kill`, then remove what belongs to the sandbox: container, folders, cgroup. Calling it again is harmless."""
        ...

    def death(self) -> Death:
        """How the runner ended; called after the end of the stream or after `kill`, waits for a second at most."""
        ...

    def offer_packs(self, packs: Sequence[Path]) -> str:
        """Make the meta-train packs readable for the runner and return the folder as the runner sees it.

        They appear there as `0`, `1`, ... in the order given. The folder is mounted read-only from the start, so
        that a warm sandbox gets its packs by hard links that the host puts in.
        """
        ...

    @property
    def pixels(self) -> SharedBuffer | None:
        """The shared buffer of pixels; None where images have to travel in the frames."""
        ...
