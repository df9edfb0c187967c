"""Evidence about weights that a submission brings along, for leagues that forbid pretraining.

Whatever opens a file of a submission runs in a box of its own, never on the host: the zip goes in over the stream,
one JSON object with bounded numbers and texts comes out and is validated. Nothing here decides anything; the
organizer sees what was found.
"""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anyshot_starting_kit.wire.verdicts import Verdict
from anyshot_starting_kit.wire.worker_api import Limits
from anyshot_worker.sandbox.interface import Box, BoxSpec, SandboxError
from anyshot_worker.sandbox.sandboxes import Sandboxes

INSPECTOR = (Path(__file__).parent / "evidence_inside.py").read_text
LIMITS = Limits(memory_bytes=6 << 30, cpus=1.0, processes=128, scratch_bytes=2 << 30)
PATIENCE = 300.0
REPORT_BYTES = 1 << 20
CHUNK = 1 << 20


class FoundFile(BaseModel):
    """A file that holds, or may hide, weights."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=300)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    kind: str = Field(max_length=40)
    tensors: int = Field(ge=0)
    parameters: int = Field(ge=0)
    shapes: list[str] = Field(max_length=20)
    known_as: str = Field(default="", max_length=80)
    note: str = Field(default="", max_length=300)


class FoundCode(BaseModel):
    """A place in the source that asks for pretrained weights or a download."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(max_length=300)
    line: int = Field(ge=0)
    what: str = Field(max_length=120)


class Evidence(BaseModel):
    """All that was found; `complete` is false when the inspection itself had to stop."""

    model_config = ConfigDict(extra="forbid")

    files: list[FoundFile] = Field(default=[], max_length=1000)
    code: list[FoundCode] = Field(default=[], max_length=1000)
    parameters: int = 0
    known: list[str] = []
    complete: bool = True
    problem: str = Field(default="", max_length=500)


def inspect(sandboxes: Sandboxes, submission: Path) -> dict[str, Any]:
    """Look through a zip for weights, in a box; plain data for the organizer. Raises SandboxError if no box starts."""
    box = sandboxes.backend.start(
        BoxSpec(sandboxes.settings.sandbox_image, LIMITS, ("-I", "-c", INSPECTOR()))
    )
    try:
        return _ask(box, submission).model_dump()
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
        return Evidence(complete=False, problem=f"the inspection did not end: {error}")


def _read_report(box: Box, deadline: float) -> Evidence:
    """The report is hostile too: a file that is opened may run code in there."""
    text = bytearray()
    while len(text) <= REPORT_BYTES and (data := box.recv(max(0.0, deadline - time.monotonic()))):
        text += data
    death = box.death()
    if death.detail and not text:
        raise SandboxError(f"the inspection failed: {death.detail[-500:]}", Verdict.SANDBOX_START)
    try:
        return Evidence.model_validate_json(bytes(text))
    except ValidationError as error:
        return Evidence(complete=False, problem=f"no usable report: {error.error_count()} problems")
