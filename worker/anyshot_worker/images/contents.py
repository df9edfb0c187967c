"""Looks into an image the safe way: from a box started from it."""

import json
import logging
import time
from typing import Any

from anyshot_core.wire.inventory import Inventory, SandboxPackage
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.images.root import SBOM_INSIDE
from anyshot_worker.sandbox.interface import Backend, BoxSpec, SandboxError

PATIENCE = 60.0
logger = logging.getLogger(__name__)


def read_sbom(backend: Backend, image: str) -> dict[str, Any]:
    """The bill of materials that the builder put into the image."""
    return json.loads(run_inside(backend, image, f"print(open('/{SBOM_INSIDE}').read())"))


def read_inventory(bill: dict[str, Any]) -> Inventory:
    """The inventory in a CycloneDX bill of materials that `anyshot worker image build` wrote."""
    parts = bill["components"]
    versions = {part["name"]: part["version"].partition("-")[0] for part in parts}
    packages = [(part, {one["name"]: one["value"] for one in part.get("properties", [])}) for part in parts]
    return Inventory(
        python=versions.get("python3.11-minimal", ""),
        compiler=f"g++ {versions['g++-12']}" if "g++-12" in versions else "",
        packages=[
            SandboxPackage(
                name=part["name"],
                version=part["version"],
                size=int(told["anyshot:bytes"]),
                imports=told["anyshot:imports"].split(),
            )
            for part, told in packages
            if told
        ],
    )


def look_inside(backend: Backend, image: str) -> Inventory | None:
    """What submissions can import in an image; None where it does not tell: nobody's but ours does."""
    try:
        return read_inventory(read_sbom(backend, image))
    except (SandboxError, LookupError, ValueError) as error:
        logger.warning("what the image %s holds is not known: %s", image, error)
        return None


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
