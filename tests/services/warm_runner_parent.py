"""A process of its own that has imported what every runner imports, and forks one for each connection.

A connection brings the streams, the environment and the working directory, and gets the process id and, when the
runner has ended, its status as `subprocess` tells it. It ends with its own standard input.
"""

import array
import contextlib
import importlib
import json
import os
import random
import runpy
import select
import signal
import socket
import sys
import warnings

MODULE = "anyshot_starting_kit.runner"
IMPORTED = (
    "torch",
    "anyshot_starting_kit.runner.session",
    *(f"{MODULE}.{name}" for name in ("evaluation", "vision")),
)


def main() -> None:
    """Returns in each runner; the parent stays in here until its standard input ends."""
    for name in (*IMPORTED, f"{MODULE}.offline", f"{MODULE}.unpack"):
        importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._dynamo")
    door = socket.socket(socket.AF_UNIX)
    door.bind(sys.argv[1])
    door.listen(64)
    bell, ringer = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(ringer, False)
    signal.set_wakeup_fd(ringer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    runners: dict[int, socket.socket] = {}
    while True:
        rung = select.select([door, bell, 0], [], [])[0]
        if 0 in rung:
            os._exit(0)
        if bell in rung:
            os.read(bell, 4096)
            tell_ends(runners)
        if door in rung:
            connection, _ = door.accept()
            request, streams = receive(connection)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for held in (door, connection, *runners.values()):
                    held.close()
                os.close(bell)
                os.close(ringer)
                become(request, streams)
                return
            for descriptor in streams:
                os.close(descriptor)
            connection.sendall(pid.to_bytes(4, "little"))
            runners[pid] = connection


def receive(connection: socket.socket) -> tuple[dict[str, object], list[int]]:
    """What a runner is to be: the request and its three streams."""
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    content = connection.recv(int.from_bytes(size, "little"), socket.MSG_WAITALL)
    return json.loads(content), list(array.array("i", streams))


def tell_ends(runners: dict[int, socket.socket]) -> None:
    """Send the status of each runner that has ended."""
    while runners:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with contextlib.suppress(OSError), runners.pop(pid) as connection:
            connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True))


def become(request: dict[str, object], streams: list[int]) -> None:
    """Make of this fork what a new process would be."""
    import numpy

    os.setsid()
    for place, descriptor in enumerate(streams):
        os.dup2(descriptor, place)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])  # type: ignore[arg-type]
    os.chdir(str(request["folder"]))
    random.seed()
    numpy.random.seed()


if __name__ == "__main__":
    main()
    sys.argv = [MODULE]
    runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
