"""The verdict on a mutant: its tests run in a process of their own, whose imports see the wrong change.

Each process is forked from one that has imported what is heavy and not ours, which halves the time of a mutant.
"""

import importlib.util
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants import witness
from tests.mutants.catalogue import FOLDER, ROOT, Mutant

# A decision is the same on either database, and SQLite is quicker.
OPTIONS = [
    "-q",
    "-x",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "-p",
    "tests.mutants.witness",
    "-k",
    "not postgres",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",  # `heavy` has imported a plugin already
    "--timeout=60",  # seconds; a test that waits for ever has failed
]
# pytest's exit codes; anything else says that the tests could not run.
VERDICTS = {0: "SURVIVED", 1: "killed", witness.INVALID: "INVALID"}
RAN = 100  # added to pytest's exit code: a process that broke down before it ends with 1, like failed tests
PATIENCE = 300.0  # seconds; a mutant's tests take a few
# What a test run around this one, or a shell, has set for itself.
NOT_OURS = ("PYTHONDONTWRITEBYTECODE", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST", "PYTEST_ADDOPTS")
STARTUP = FOLDER / "startup" / "sitecustomize.py"

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.mutants.heavy"])


def _run(arguments: list[str], startup: Path | None, output: str) -> None:
    """In the forked process: become a run of pytest."""
    os.setsid()
    for stream, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        os.dup2(os.open(output if stream else os.devnull, flags | (os.O_APPEND if stream else 0)), stream)
    os.chdir(ROOT)
    environment = _environment(startup)
    os.environ.clear()
    os.environ.update(environment)
    if startup is not None:
        _load_startup(startup)
        witness.MUTATED = json.loads((startup / "mutant.json").read_text())["file"]
    sys.argv = ["pytest", *arguments]
    status = int(pytest.main(arguments))
    sys.stdout.flush()
    os._exit(RAN + status)


def _load_startup(folder: Path) -> None:
    """What Python does at its start in the processes that the tests start: see `startup/sitecustomize.py`."""
    spec = importlib.util.spec_from_file_location("anyshot_mutant", folder / STARTUP.name)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _environment(startup: Path | None) -> dict[str, str]:
    """The variables of a run: imports see the mutant, lists that rotate run whole, sites are on SQLite (quicker)."""
    own = {name: value for name, value in os.environ.items() if name not in NOT_OURS} | {
        "ANYSHOT_ROTATE": "all",
        "ANYSHOT_TEST_DATABASE": "sqlite",
    }
    if startup is None:
        return own
    return own | {"PYTHONPATH": os.pathsep.join([str(startup), *filter(None, [own.get("PYTHONPATH")])])}


def run_tests(
    tests: Sequence[str], mutant: Mutant | None, patience: float | None = None
) -> tuple[int | None, str]:
    """Run the tests with the mutant, or as things are: pytest's exit status and output.

    The status is None after `patience`, and negative where the process ended before pytest did.
    """
    with tempfile.TemporaryDirectory(prefix="anyshot-mutant-") as folder:
        output, startup = Path(folder) / "output", Path(folder) / "startup" if mutant else None
        output.touch()
        if mutant is not None and startup is not None:
            startup.mkdir()
            shutil.copy(STARTUP, startup)
            (startup / "mutant.json").write_text(mutant.as_setting())
        arguments = [*OPTIONS, "--basetemp", f"{folder}/pytest", *tests]
        process = PROCESSES.Process(target=_run, args=(arguments, startup, str(output)))
        process.start()
        process.join(patience)
        if process.is_alive() and process.pid is not None:
            os.killpg(process.pid, signal.SIGKILL)
            process.join()
            return None, output.read_text(errors="replace")
        return (process.exitcode or 0) - RAN, output.read_text(errors="replace")


def judge(mutant: Mutant) -> tuple[str, str]:
    """The verdict (one of `VERDICTS`, `TOO SLOW` or `NOT RUN`), and what pytest printed."""
    status, output = run_tests(mutant.tests, mutant, PATIENCE)
    return ("TOO SLOW" if status is None else VERDICTS.get(status, "NOT RUN")), output
