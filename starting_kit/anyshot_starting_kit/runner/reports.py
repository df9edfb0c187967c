"""Turns an exception of a submission into a report."""

import errno
import traceback
from pathlib import Path
from types import TracebackType

import anyshot_starting_kit
from anyshot_core.bundle.config import BadConfig
from anyshot_core.bundle.zipsafety import ZipRefused
from anyshot_core.wire.advice import NO_NETWORK, advice_in
from anyshot_core.wire.messages import CodeLine, ErrorKind, ErrorReport
from anyshot_starting_kit.runner.offline import tried_to_download
from anyshot_starting_kit.runner.predictions import BadPrediction

_KIT = str(Path(anyshot_starting_kit.__file__).parent)


def describe(error: BaseException, program: Path) -> ErrorReport:
    """What happened, with the submission's own lines marked; paths are relative to the submission."""
    lines = _code_lines(error.__traceback__, program)
    return ErrorReport(
        kind=_kind(error),
        exception=type(error).__name__,
        message=_explained(error),
        traceback=_traceback(error, program),
        lines=tuple(lines),
    )


def _explained(error: BaseException) -> str:
    """Its text; where it tried to download something, behind the sentence that says what to do instead."""
    text = _text(error)
    return f"{NO_NETWORK} ({text})" if tried_to_download(error) and not advice_in(text) else text


def _kind(error: BaseException) -> ErrorKind:
    if isinstance(error, BadPrediction):
        return ErrorKind.BAD_PREDICTION
    if isinstance(error, ZipRefused | BadConfig):
        return ErrorKind.BAD_ARCHIVE
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return ErrorKind.OUT_OF_MEMORY
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ErrorKind.OUT_OF_SPACE
    return ErrorKind.EXCEPTION


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - the text of a participant's exception may itself fail
        return f"(its message raised {type(second).__name__})"


def _code_lines(trace: TracebackType | None, program: Path) -> list[CodeLine]:
    lines = []
    for frame in traceback.extract_tb(trace):
        if frame.filename.startswith(_KIT):
            continue
        own = frame.filename.startswith(f"{program}/")
        file = frame.filename.removeprefix(f"{program}/") if own else _library_path(frame.filename)
        lines.append(CodeLine(file, frame.lineno or 0, frame.name, own))
    return lines


def _library_path(path: str) -> str:
    return path.rsplit("site-packages/", 1)[-1]


def _traceback(error: BaseException, program: Path) -> str:
    """Python's own text from the first frame outside the kit on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((_KIT, "<frozen")):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception as second:  # noqa: BLE001 - as above
        text = f"{type(error).__name__} (its text raised {type(second).__name__})"
    return text.replace(f"{program}/", "")
