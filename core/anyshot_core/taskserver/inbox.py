"""Reads what a runner sends, in a thread of its own, so that a runner that floods or blocks never stops the
task server.

Output frames are handled here; replies wait in a short queue, and when it is full the runner has to wait:
the memory stays flat whatever it sends.
"""

import csv
import io
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anyshot_core.taskserver.channel import Channel
from anyshot_core.taskserver.job import LogLine, TaskServerJob
from anyshot_core.taskserver.ledger import Clock
from anyshot_core.taskserver.loglines import LogLines, clean, shows
from anyshot_core.wire.frames import FROM_RUNNER, Decoder, Frame, FrameError, FrameType
from anyshot_core.wire.logger_tables import COLUMNS, TABLES, cells
from anyshot_core.wire.messages import LoggerRow, Stream, read_log, read_logger_row
from anyshot_core.wire.worker_api import Stage

_POLL = 0.2
TAIL_LINES = 500  # a stream
TAIL_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Arrived:
    """A reply and the moment at which its last byte was there; `tables` of the logger then, with a checkpoint."""

    at: float
    frame: Frame
    tables: dict[str, bytes] | None = None


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Nothing more comes: the stream ended, what came was no frame, it was too much, or we failed to take it."""

    at: float
    reason: str  # "end", "garbage", "output" or "fault"
    detail: str = ""
    fault: Exception | None = None


class Tail:
    """The last lines of what is printed past the lines that are shown, at most `TAIL_LINES` a stream."""

    def __init__(self) -> None:
        self._kept: dict[Stream, bytes] = {}
        self._breaks = dict.fromkeys(Stream, 0)

    def add(self, stream: Stream, text: bytes) -> None:
        """Keep the end of what came."""
        self._kept[stream] = (self._kept.get(stream, b"") + text)[-TAIL_BYTES:]
        self._breaks[stream] += text.count(b"\n")

    def take(self) -> Iterator[tuple[Stream, bytes, int]]:
        """Each stream's last whole lines, and how many lines before them are left out; then nothing."""
        for stream, text in self._kept.items():
            lines = text.splitlines(keepends=True)[-TAIL_LINES:]
            if len(text) == TAIL_BYTES and len(lines) < TAIL_LINES:
                lines = lines[1:]  # the first may be cut
            left_out = self._breaks[stream] - sum(line.endswith(b"\n") for line in lines)
            yield stream, b"".join(lines), left_out
        self._kept.clear()
        self._breaks = dict.fromkeys(Stream, 0)


class Output:
    """What a run printed and logged, within its caps; shared by all sandboxes of a run."""

    def __init__(
        self, job: TaskServerJob, on_log: Callable[[LogLine], object], on_row: Callable[[LoggerRow], object]
    ) -> None:
        self.stage = self._printed_in = Stage.PREPARING
        self._job, self._on_log, self._on_row = job, on_log, on_row
        self._lines = LogLines(job.log_policy, on_log)
        self._bytes = self._rows = self._line_breaks = 0
        self._full = False
        self._tail = Tail()
        earlier = job.resumed.tables if job.resumed is not None else {}
        self._tables = {name: _table(content.decode()) for name, content in earlier.items()}

    def take(self, frame: Frame) -> str | None:
        """Handle an output frame; returns what is exceeded, if anything. Raises FrameError."""
        self._bytes += len(frame.payload)
        if self._bytes > self._job.caps.log_bytes:
            return f"more than {self._job.caps.log_bytes / 2**20:,.6g} MiB of output"
        if frame.kind is FrameType.LOG:
            return self._take_text(*read_log(frame.payload))
        self._rows += 1
        if self._rows > self._job.caps.logger_rows:
            return f"more than {self._job.caps.logger_rows:,} rows logged"
        self._write_row(read_logger_row(frame.payload))
        return None

    def _take_text(self, stream: Stream, text: bytes) -> str | None:
        if (stage := self.stage) is not self._printed_in:
            self.flush()
            self._printed_in = stage
        before = self._line_breaks
        self._line_breaks += text.count(b"\n")
        if self._line_breaks > self._job.caps.log_lines:
            return f"more than {self._job.caps.log_lines:,} lines of output"
        shown = shows(self._job.log_policy, stage)
        if shown and not self._full and self._line_breaks > self._job.caps.shown_lines:
            text = self._fill_up(stream, text, self._job.caps.shown_lines - before)
        if shown and self._full:
            self._tail.add(stream, text)
        else:
            self._lines.add(stream, text, stage)
        return None

    def _fill_up(self, stream: Stream, text: bytes, lines: int) -> bytes:
        """Show the last `lines` that are shown from the beginning on; returns what is left of the text."""
        *first, rest = text.split(b"\n", lines)
        self._lines.add(stream, b"".join(line + b"\n" for line in first), self._printed_in)
        self._full = True
        self._say(
            f"More than {self._job.caps.shown_lines:,} lines: of what is printed from here on, the end is kept."
        )
        for unfinished, beginning in self._lines.take_unfinished().items():
            if beginning:
                self._tail.add(unfinished, beginning)
        return rest

    def _write_row(self, row: LoggerRow) -> None:
        if not shows(self._job.log_policy, self.stage):
            return
        self._on_row(row)
        name = TABLES[row.validation]
        if name not in self._tables:
            self._tables[name] = _table()
            csv.writer(self._tables[name]).writerow(COLUMNS)
        own = cells(row)
        own[2] = _no_formula(clean(own[2]))
        csv.writer(self._tables[name]).writerow(own)

    def flush(self) -> None:
        """Hand on what has no line end yet, and the end of what was too much, of the stage in which it was printed."""
        self._lines.flush(self._printed_in)
        for stream, text, left_out in self._tail.take():
            if left_out:
                name = stream.name.lower()
                self._say(
                    f"{left_out:,} lines of {name} are left out here; these are the last ones:", left_out
                )
            self._lines.add(stream, text, self._printed_in)
            self._lines.flush(self._printed_in)

    def end(self) -> None:
        """Say what nobody sees; once, when all sandboxes of the run have ended."""
        self._lines.say_kept_back(self._printed_in)

    def _say(self, text: str, left_out: int = 0) -> None:
        """A line of the platform's own."""
        self._on_log(LogLine("platform", self._printed_in, text, left_out))

    def tables(self) -> dict[str, bytes]:
        return {name: table.getvalue().encode() for name, table in list(self._tables.items())}


def _table(content: str = "") -> io.StringIO:
    table = io.StringIO(content, newline="")
    table.seek(0, io.SEEK_END)
    return table


def _no_formula(text: str) -> str:
    """Spreadsheets run cells that begin like a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


class Inbox:
    """The reading side of one channel."""

    def __init__(self, channel: Channel, output: Output, clock: Clock) -> None:
        self._channel, self._output, self._clock = channel, output, clock
        self._queue: queue.Queue[Arrived | StreamEnd] = queue.Queue(maxsize=8)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._read, name="inbox", daemon=True)
        self._thread.start()

    def next(self, timeout: float) -> Arrived | StreamEnd | None:
        """The next reply, None when `timeout` seconds passed."""
        try:
            return self._queue.get(timeout=max(0.0, timeout)) if timeout > 0 else self._queue.get_nowait()
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop reading; call it after the channel was killed."""
        self._closing.set()
        self._thread.join(timeout=5.0)

    def _read(self) -> None:
        try:
            end = self._read_until_stopped()
        except Exception as fault:  # noqa: BLE001 - raised where the run is: a reader that says nothing hangs it
            end = StreamEnd(self._clock(), "fault", fault=fault)
        self._put(end)

    def _read_until_stopped(self) -> StreamEnd:
        decoder = Decoder(FROM_RUNNER)
        while not self._closing.is_set():
            try:
                data = self._channel.recv(_POLL)
            except OSError as error:
                return StreamEnd(self._clock(), "end", str(error))
            if data is None:
                continue
            if not data:
                return StreamEnd(self._clock(), "end", "in the middle of a frame" if decoder.pending else "")
            stopped = self._take(decoder, data)
            if stopped is not None:
                return stopped
        return StreamEnd(self._clock(), "end")

    def _take(self, decoder: Decoder, data: bytes) -> StreamEnd | None:
        try:
            for frame in decoder.feed(data):
                if frame.kind not in (FrameType.LOG, FrameType.LOGGER):
                    ends = frame.kind is FrameType.CHECKPOINT and not frame.payload
                    self._put(Arrived(self._clock(), frame, self._output.tables() if ends else None))
                elif exceeded := self._output.take(frame):
                    return StreamEnd(self._clock(), "output", exceeded)
        except FrameError as error:
            return StreamEnd(self._clock(), "garbage", str(error))
        return None

    def _put(self, item: Arrived | StreamEnd) -> None:
        while not self._closing.is_set():
            try:
                self._queue.put(item, timeout=_POLL)
                return
            except queue.Full:
                continue
