"""Runs a server until the test run that wants it has ended, however that ends.

`python keeper.py PID FOLDER USER COMMAND...`: PID is the run's, FOLDER is removed at the end, USER may be empty.
"""

import os
import select
import shutil
import subprocess
import sys


def keep(pid: int, folder: str, user: str, command: list[str]) -> None:
    """Start the command and wait for the run's end, or for the server's own."""
    try:
        run = os.pidfd_open(pid)
        with subprocess.Popen(command, user=user or None) as server:
            while server.poll() is None and not select.select([run], [], [], 1.0)[0]:
                pass
            stop(server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stop(server: subprocess.Popen[bytes]) -> None:
    """Ask a server to end, then end it."""
    server.terminate()
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    keep(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
