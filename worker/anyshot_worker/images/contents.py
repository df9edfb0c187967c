"""Looks into an image the safe way: from a box started from it."""

import json
import time
from typing import Any

from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.root import SBOM_INSIDE
from anyshot_worker.sandbox.interface import Backend, BoxSpec, SandboxError

PATIENCE = 60.0


def read_sbom(backend: Backend, image: str) -> dict[str, Any]:
    """The bill of materials that the builder put into the image."""
    return json.loads(run_inside(backend, image, f"print(open('/{SBOM_INSIDE}').read())"))


def run_inside(backend: Backend, image: str, code: str, patience: float = PATIENCE) -> bytes:
    """What a few lines of our own Python print in a box; raises SandboxError when they fail."""
    box = backend.start(BoxSpec(image, command=("-c", code)))
    try:
        output, deadline = bytearray(), time.monotonic() + patience
        while data := box.recv(max(0.0, deadline - time.monotonic())):
            output += data
        if data is None or box.death().exit_code != 0:
            raise SandboxError(
                f"the image {image!r} fails: {box.death().detail[-500:]}", Verdict.SANDBOX_START
            )
        return bytes(output)
    finally:
        box.close()
