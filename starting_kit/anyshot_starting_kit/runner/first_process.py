"""PID 1 of a sandbox: gives nothing away, reaps what is left over, and ends when the working process ends."""

import ctypes
import os
import signal
import sys

_PR_SET_DUMPABLE = 4


def allow_inspection(allowed: bool) -> None:
    """Open or close /proc/<pid>/mem, environ and ptrace to processes of the same user."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_DUMPABLE, int(allowed), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


def stand_guard() -> None:
    """Fork the working process and return in it; the first process stays here until that one is gone.

    The kernel gives PID 1 every orphan and ignores signals to it that it does not handle, so a submission
    can neither kill it nor leave zombies. When it exits, the kernel kills everything that is left in the sandbox.
    """
    allow_inspection(False)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    worker = os.fork()
    if worker == 0:
        allow_inspection(True)  # inherited from PID 1; libraries read their own /proc/self
        return
    _keep_no_stream()
    os._exit(_reap_until(worker))


def _keep_no_stream() -> None:
    """The stream belongs to the working process alone: it must end with it."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(null, descriptor)
    sys.stderr.flush()


def _reap_until(worker: int) -> int:
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return 1
        if pid == worker:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
