"""A backend whose boxes are nothing but records: for what depends on no kernel."""

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyshot_core.taskserver.channel import Death
from anyshot_worker.sandbox.interface import BoxSpec, BoxUsage, ImageInfo, SandboxError
from anyshot_worker.sandbox.lifetime import Lifetime
from anyshot_worker.sandbox.processes import LocalBackend

_numbers = itertools.count()


class FakeBox(Lifetime):
    def __init__(self, spec: BoxSpec) -> None:
        super().__init__()
        self.spec, self.id, self.uid = spec, f"box{next(_numbers)}", 20000
        self.dead = self.closed = False
        self.pixels = None

    def alive(self) -> bool:
        return not self.dead and not self.closed

    def send(self, data: bytes | memoryview, timeout: float) -> None:
        return None

    def recv(self, timeout: float) -> bytes | None:
        return b""

    def freeze(self) -> None:
        return None

    def thaw(self) -> None:
        return None

    def kill(self) -> None:
        self.dead = True

    def death(self) -> Death:
        return Death()

    def offer_packs(self, packs: Sequence[Path]) -> str:
        return "/in/a"

    def usage(self) -> BoxUsage:
        return BoxUsage()

    def keeps_logs(self) -> bool:
        return False

    def left_behind(self) -> tuple[str, ...]:
        return ()

    def _dismantle(self) -> None:
        self.closed = True


@dataclass
class FakeBackend(LocalBackend):
    """Starts fake boxes; `broken` makes every start fail."""

    name: str = "fake"
    reduced = False
    not_promised: frozenset[str] = frozenset()
    gives_gpus: bool = True
    broken: bool = False
    started: list[FakeBox] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    flavours: dict[str, str] = field(
        default_factory=dict
    )  # of images by name; one that is not here has no label
    guard: threading.Lock = field(default_factory=threading.Lock)

    def fingerprint(self) -> str:
        return ""

    def prepare(self, image: str) -> ImageInfo:
        labels = {"org.anyshot.flavour": self.flavours[image]} if image in self.flavours else {}
        return ImageInfo(image, self.digests.get(image, "sha256:0"), labels)

    def start(self, spec: BoxSpec) -> FakeBox:
        if self.broken:
            raise SandboxError("broken on purpose")
        with self.guard:
            self.started.append(FakeBox(spec))
            return self.started[-1]

    def close(self) -> None:
        return None
