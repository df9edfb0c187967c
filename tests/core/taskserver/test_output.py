"""What is shown of a flood, however its bytes arrive."""

from pathlib import Path

import pytest

from anyshot_core.taskserver.inbox import TAIL_LINES, Output
from anyshot_core.taskserver.job import LogLine, OutputCaps, TaskServerJob
from anyshot_core.wire.frames import Frame, FrameType
from anyshot_core.wire.jobs import Budget
from anyshot_core.wire.messages import Stream

LINES = [f"line {number}" for number in range(2_000)]
PRINTED = "".join(f"{line}\n" for line in LINES).encode()


def _shown(pieces: list[bytes]) -> list[str]:
    lines: list[LogLine] = []
    job = TaskServerJob(
        Path("none.zip"), (), None, Budget(run_seconds=60.0), caps=OutputCaps(shown_lines=100)
    )
    output = Output(job, lines.append, lambda _: None)
    for piece in pieces:
        assert output.take(Frame(FrameType.LOG, bytes([Stream.STDOUT]) + piece)) is None
    output.flush()
    return [line.text for line in lines]


@pytest.mark.parametrize("size", [1, 7, 64, 512, 900, 1_021, 4_096])
def test_a_flood_is_counted_by_the_line_however_it_is_cut(size: int) -> None:
    shown = _shown([PRINTED[at : at + size] for at in range(0, len(PRINTED), size)])
    kept = [text for text in shown if text.startswith("line ")]
    (told,) = [text for text in shown if "are left out here" in text]
    left_out = int(told.split()[0].replace(",", ""))
    head = len(kept) - TAIL_LINES
    assert head >= 100 and left_out + len(kept) == len(LINES)
    assert kept == LINES[:head] + LINES[head + left_out :]


@pytest.mark.parametrize(
    ("most", "words"), [(512 << 10, "0.5 MiB"), (64 << 20, "64 MiB"), (3 << 30, "3,072 MiB")]
)
def test_a_cap_is_said_as_it_is(most: int, words: str) -> None:
    job = TaskServerJob(Path("none.zip"), (), None, Budget(run_seconds=60.0), caps=OutputCaps(log_bytes=most))
    output = Output(job, lambda _: None, lambda _: None)
    output._bytes = most  # pyright: ignore[reportPrivateUsage]
    assert output.take(Frame(FrameType.LOG, bytes([Stream.STDOUT]))) == f"more than {words} of output"


def test_a_line_that_becomes_too_much_before_its_end_is_shown_whole() -> None:
    shown = _shown([PRINTED[:-5], PRINTED[-5:]])
    assert shown[-1] == LINES[-1] and "line 1" in shown


@pytest.mark.parametrize("size", [1, 2, 3, 5, 64])
def test_a_progress_bar_is_the_line_that_a_terminal_shows_in_the_end(size: int) -> None:
    """It was hundreds of lines, each of which counted."""
    printed = (
        b"before\n"
        + b"".join(b"\r%3d%%" % done for done in range(101))
        + b"\nwindows\r\n\x1b[31mred\x1b[0m\n"
    )
    shown = _shown([printed[at : at + size] for at in range(0, len(printed), size)])
    assert shown == ["before", "100%", "windows", "red"]


def test_a_progress_bar_that_is_cut_off_shows_how_far_it_came() -> None:
    assert _shown([b"\r 1%", b"\r 2%\r"]) == [" 2%"]
