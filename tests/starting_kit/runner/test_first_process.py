"""The runner as PID 1 of a namespace: not inspectable, reaps, passes the exit status on."""

import os
import shutil
import subprocess
import sys

import pytest

UNSHARE = shutil.which("unshare")
pytestmark = pytest.mark.skipif(
    UNSHARE is None or os.geteuid() != 0, reason="needs root and unshare for a PID namespace"
)


def as_first(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in the working process of a namespace whose PID 1 stands guard."""
    program = f"from anyshot_starting_kit.runner.first_process import stand_guard\nstand_guard()\n{code}"
    command = [str(UNSHARE), "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_memory_of_pid_1_is_closed_to_its_own_user() -> None:
    code = """
for name in ("mem", "environ"):
    try:
        open(f"/proc/1/{name}", "rb").read(1)
        raise SystemExit("open: " + name)
    except PermissionError:
        pass
"""
    # The user changes before the fork, so that both processes are the same; the change itself closes the memory, so
    # it is opened again: what closes it then is stand_guard alone.
    program = (
        "import os\nfrom anyshot_starting_kit.runner.first_process import allow_inspection, stand_guard\n"
        "os.setresuid(12345, 12345, 12345)\nallow_inspection(True)\nstand_guard()\n" + code
    )
    command = [str(UNSHARE), "--pid", "--fork", "--mount-proc", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "status"),
    [("raise SystemExit(0)", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_exit_status_is_passed_on(code: str, status: int) -> None:
    assert as_first(code).returncode == status


def test_orphans_are_reaped_and_everything_ends() -> None:
    code = """
import os, time
for _ in range(5):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.2)
        os._exit(0)
    os.wait()
def states():
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            yield open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:  # reaped just now
            pass
until = time.monotonic() + 30
while "Z" in (left := list(states())) or len(left) != 2:
    assert time.monotonic() < until, left
    time.sleep(0.05)
if os.fork() == 0:
    time.sleep(600)
"""
    assert as_first(code).returncode == 0  # and at once, though a daemon is left


def test_signals_do_not_reach_it() -> None:
    assert (
        as_first(
            "import os, signal\nos.kill(1, signal.SIGKILL)\nos.kill(1, signal.SIGTERM)\nraise SystemExit(3)"
        ).returncode
        == 3
    )
