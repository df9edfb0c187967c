"""Evidence about weights that a submission brings along, for leagues that forbid pretraining.

Whatever opens a file of a submission runs in a box of its own, never on the host: the zip goes in over the stream,
one JSON object with bounded numbers and texts comes out and is validated. Nothing here decides anything: what is
suspicious, `Evidence` says, and a submission whose inspection did not end is the organizers' to decide.
"""

import struct
import time
from pathlib import Path

from pydantic import ValidationError

from anyshot_core.wire.evidence import Evidence
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox.interface import Box, BoxSpec
from anyshot_worker.sandbox.sandboxes import Sandboxes

INSPECTOR = (Path(__file__).parent / "evidence_inside.py").read_text
LIMITS = Limits(memory_bytes=6 << 30, cpus=1.0, processes=128, scratch_bytes=2 << 30)
PATIENCE = 300.0
REPORT_BYTES = 1 << 20
CHUNK = 1 << 20


def inspect(sandboxes: Sandboxes, submission: Path) -> Evidence:
    """Look through a zip for weights, in a box. Raises SandboxError if no box starts."""
    box = sandboxes.backend.start(
        BoxSpec(sandboxes.settings.sandbox_image, LIMITS, ("-I", "-c", INSPECTOR()))
    )
    try:
        return _ask(box, submission)
    finally:
        box.close()


def _ask(box: Box, submission: Path) -> Evidence:
    deadline = time.monotonic() + PATIENCE
    try:
        box.send(struct.pack("<Q", submission.stat().st_size), PATIENCE)
        with submission.open("rb") as file:
            while piece := file.read(CHUNK):
                box.send(piece, max(0.1, deadline - time.monotonic()))
        return _read_report(box, deadline)
    except (TimeoutError, ConnectionError) as error:
        return Evidence(problem=f"it was ended after {PATIENCE:.0f} s: {error}"[:500])


def _read_report(box: Box, deadline: float) -> Evidence:
    """The report is hostile too: a file that is opened may run code in there."""
    text = bytearray()
    while len(text) <= REPORT_BYTES and (data := box.recv(max(0.0, deadline - time.monotonic()))):
        text += data
    if not text:
        # A file can be made so that looking at it breaks the inspection: that must not look like a fault of ours.
        return Evidence(problem=f"it broke: {box.death().detail[-400:] or 'no report came'}")
    try:
        return Evidence.model_validate_json(bytes(text))
    except ValidationError as error:
        return Evidence(problem=f"no usable report: {error.error_count()} problems")
