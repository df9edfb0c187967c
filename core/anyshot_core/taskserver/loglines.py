"""Turns what a submission prints into lines that are safe to show, and keeps back what the log policy hides."""

import re
from collections.abc import Callable

from anyshot_core.taskserver.job import LogLine
from anyshot_core.wire.messages import Stream
from anyshot_core.wire.worker_api import LogPolicy, Stage

MAX_LINE = 8 << 10  # bytes of a line that are shown
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\))")
_HIDDEN = "What the code prints during meta-testing is not shown in this phase."


def clean(text: str) -> str:
    """Without terminal sequences; other control characters become visible signs."""
    if text.isprintable():  # nearly every line, and a flood must not keep the task server busy
        return text
    text = _ANSI.sub("", text)
    return "".join(_visible(letter) for letter in text)


def _visible(letter: str) -> str:
    if letter == "\t" or letter.isprintable():
        return letter
    code = ord(letter)
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"


def _as_on_a_terminal(line: bytes) -> bytes:
    """What stands in the end, where each carriage return writes the line anew, as progress bars do."""
    return next((part for part in reversed(line.split(b"\r")) if part), b"")


def shows(policy: LogPolicy, stage: Stage) -> bool:
    """Whether the participant may see output of that stage."""
    if policy is LogPolicy.EVERYTHING:
        return True
    return policy is LogPolicy.META_TRAIN and stage is not Stage.META_TESTING


class LogLines:
    """Cuts the two streams into lines and hands on those that may be seen."""

    def __init__(self, policy: LogPolicy, on_log: Callable[[LogLine], object]) -> None:
        self._policy, self._on_log = policy, on_log
        self._rest = dict.fromkeys(Stream, b"")
        self._skipping = dict.fromkeys(Stream, False)
        self._kept_back = False

    def add(self, stream: Stream, data: bytes, stage: Stage) -> None:
        if not shows(self._policy, stage):
            self._kept_back = True
            return
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = _as_on_a_terminal(rest) + rest[-1:] * rest.endswith(b"\r")
        for line in lines:
            if self._skipping[stream]:
                self._skipping[stream] = False
            elif piece := _as_on_a_terminal(line):
                self._emit(stream, piece, stage)
        if len(self._rest[stream]) > MAX_LINE:
            self._cut(stream, stage)

    def flush(self, stage: Stage) -> None:
        """Hand on what has no line end yet."""
        for stream, rest in self.take_unfinished().items():
            if (piece := _as_on_a_terminal(rest)) and shows(self._policy, stage):
                self._emit(stream, piece, stage)

    def take_unfinished(self) -> dict[Stream, bytes]:
        """What has no line end yet, no longer kept here; nothing of a line whose beginning was shown."""
        taken = {stream: b"" if self._skipping[stream] else rest for stream, rest in self._rest.items()}
        self._rest = dict.fromkeys(Stream, b"")
        return taken

    def _cut(self, stream: Stream, stage: Stage) -> None:
        """A line without end: show its beginning once, drop the rest of it."""
        if not self._skipping[stream]:
            self._emit(stream, self._rest[stream], stage)
        self._rest[stream] = b""
        self._skipping[stream] = True

    def _emit(self, stream: Stream, piece: bytes, stage: Stage) -> None:
        text = clean(piece[:MAX_LINE].decode("utf-8", "replace"))
        if len(piece) > MAX_LINE:
            text += " [line cut]"
        self._on_log(LogLine(stream.name.lower(), stage, text))

    def say_kept_back(self, stage: Stage) -> None:
        """Say at the end whether something was kept back: when it was printed could tell of hidden images."""
        if self._kept_back and self._policy is LogPolicy.META_TRAIN:
            self._on_log(LogLine("platform", stage, _HIDDEN))
