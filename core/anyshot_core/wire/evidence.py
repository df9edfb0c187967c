"""What an inspection of a submission's zip found of pretrained weights, and what of it is suspicious.

Leagues that admit no pretraining decide by `Evidence.suspicious`: the worker that looked and the platform that
decides read the same model, so neither can mean something else by it.
"""

from collections.abc import Iterator

from pydantic import Field

from anyshot_core.wire.message import Message

FEW_NUMBERS = 1000  # so many may be means and deviations of channels, a table of classes: no network
FEW_BYTES = 4 * FEW_NUMBERS
WIDE_BYTES = 16 << 10  # so many has a file of few numbers, each as wide as numbers are
PIECES_BYTES = 256 << 10  # so many may files have together, each of which has few


class FoundFile(Message):
    """A file that holds, or may hide, weights."""

    path: str = Field(max_length=300)
    bytes: int = Field(ge=0)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    kind: str = Field(max_length=40)
    tensors: int = Field(ge=0)
    parameters: int = Field(ge=0)
    shapes: list[str] = Field(max_length=20)
    known_as: str = Field(default="", max_length=80)
    note: str = Field(default="", max_length=300)

    @property
    def suspicion(self) -> str:
        """Why this file may be pretrained weights, in words; empty where nothing speaks for it."""
        if self.known_as:
            return f"{self.path} is {self.known_as}."
        if self.parameters > FEW_NUMBERS:
            return f"{self.path} holds {self.parameters:,} numbers ({self.kind})."
        if not self.tensors and self.bytes > FEW_BYTES:
            return f"{self.path} has {self.bytes:,} bytes that could not be read as arrays ({self.kind})."
        if self.bytes > WIDE_BYTES:  # what a file says of itself need not be all that it holds
            return f"{self.path} has {self.bytes:,} bytes, more than its numbers take ({self.kind})."
        return ""


class FoundCode(Message):
    """A place in the source that asks for pretrained weights or a download; line 0 is all of `path`."""

    path: str = Field(max_length=300)
    line: int = Field(ge=0)
    what: str = Field(max_length=120)

    @property
    def suspicion(self) -> str:
        """The place in words."""
        return f"{self.path}, line {self.line}: {self.what}." if self.line else f"{self.path}: {self.what}."


class Evidence(Message):
    """All that an inspection found; `complete` only where it looked at everything and ended."""

    files: list[FoundFile] = Field(default=[], max_length=1000)
    code: list[FoundCode] = Field(default=[], max_length=1000)
    parameters: int = Field(default=0, ge=0)
    known: list[str] = Field(default=[], max_length=1000)
    complete: bool = False
    problem: str = Field(default="", max_length=500)

    @property
    def suspicious(self) -> list[str]:
        """What an organizer has to look at before this submission counts as trained from scratch, in words.

        Empty only for an inspection that ended and found nothing.
        """
        return list(self._suspicions())

    def _suspicions(self) -> Iterator[str]:
        if not self.complete:
            yield f"The inspection did not end: {self.problem or 'no reason was given'}."
        named = {file.known_as for file in self.files}
        yield from (f"The zip contains {name}." for name in self.known if name not in named)
        yield from filter(None, (file.suspicion for file in self.files))
        small = [file.bytes for file in self.files if not file.suspicion]
        if sum(small) > PIECES_BYTES:
            yield f"{len(small)} small files have {sum(small):,} bytes together."
        yield from (found.suspicion for found in self.code)
