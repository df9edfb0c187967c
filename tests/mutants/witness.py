"""A pytest plugin that tells a wrong decision from broken Python: a mutant that names what is not there proves nothing.

It is loaded beside the tests of a mutant. A test that fails by such an error, raised in the mutant's file, or a site
that logs one, ends the tests with the exit status `INVALID`.
"""

import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

BROKEN = (NameError, ImportError, SyntaxError, AttributeError)
INVALID = 70

MUTATED = ""  # the mutant's file, set by `judging`

_seen: list[BaseException] = []


def errors_in(error: BaseException) -> Iterator[BaseException]:
    """An error with those that it stands for, or that it came from."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from errors_in(one)
    if (cause := error.__cause__ or error.__context__) is not None:
        yield from errors_in(cause)


def breaks(error: BaseException, file: str) -> bool:
    """Whether the error is one of broken Python, raised in this file."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    places = [*frames[-1:], getattr(error, "filename", None)]
    return isinstance(error, BROKEN) and any(
        place and Path(place).resolve() == Path(file) for place in places
    )


def note(error: BaseException | None) -> None:
    """Remember the first error that makes the mutant invalid."""
    if MUTATED and error is not None:
        _seen.extend(one for one in errors_in(error) if breaks(one, MUTATED))


class _Listener(logging.Handler):
    """What a site or a loop caught, and logged."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.exc_info[1] if record.exc_info else None)


def pytest_configure() -> None:
    logging.getLogger().addHandler(_Listener())


def pytest_exception_interact(call: pytest.CallInfo[object]) -> None:
    note(call.excinfo.value if call.excinfo else None)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _seen and session.exitstatus != pytest.ExitCode.OK:
        session.exitstatus = INVALID


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for error in _seen[:1]:
        terminalreporter.write_line(f"invalid mutant: {type(error).__name__}: {error}")
