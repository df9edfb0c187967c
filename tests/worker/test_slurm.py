"""How many jobs `anyshot worker slurm` submits, and what it says: with stand-ins for Slurm's two commands."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from anyshot_worker.cli import worker
from anyshot_worker.client import WorkerClient
from tests.contract.recording import play, read

SQUEUE = """#!/bin/sh
echo "$@" >>"{folder}/asked"
cat "{folder}/states"
"""
SBATCH = """#!/bin/sh
echo "$@" >>"{folder}/submitted"
cat >"{folder}/script"
wc -l <"{folder}/submitted"
"""


class Login:
    """A login node whose queue and platform answer what is set here."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, monkeypatch
        for name, text in {"squeue": SQUEUE, "sbatch": SBATCH}.items():
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setenv("ANYSHOT_PLATFORM_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("ANYSHOT_WORKER_TOKEN", "t")

    def look(self, waiting: int, at_work: int, states: str) -> Result:
        """One look, with so many runs and these jobs; at most three jobs, on a GPU each."""
        (self.folder / "states").write_text(states)
        told = read("waiting", play("waiting", waiting=waiting, running=at_work))
        self._patch.setattr(WorkerClient, "waiting", lambda client, hardware_class: told)
        options = ["--partition", "gpus", "--most", "3", "--minutes", "90", "--once", "--", "--gres=gpu:1"]
        return CliRunner().invoke(worker, ["slurm", *options])

    def submitted(self) -> list[str]:
        """The arguments of each job so far."""
        path = self.folder / "submitted"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Login:
    return Login(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("waiting", "at_work", "states", "words", "jobs"),
    [
        (
            *(0, 0, ""),
            "0 runs waiting, 0 at work. Partition gpus: 0 jobs named anyshot-cpu, at most 3. Submitted none.",
            0,
        ),
        (
            *(1, 1, "RUNNING\n"),
            "1 run waiting, 1 at work. Partition gpus: 1 job named anyshot-cpu (1 running), at most 3."
            " Submitted 1 job: 1.",
            1,
        ),
        (
            *(9, 1, "PENDING\nRUNNING\n"),
            "9 runs waiting, 1 at work. Partition gpus: 2 jobs named anyshot-cpu (1 pending, 1 running), at most 3."
            " Submitted 1 job: 1.",
            1,
        ),
        (
            *(1, 0, "RUNNING\nRUNNING\n"),
            "1 run waiting, 0 at work. Partition gpus: 2 jobs named anyshot-cpu (2 running), at most 3."
            " Submitted none.",
            0,
        ),
    ],
)  # fmt: skip
def test_every_run_has_a_job_up_to_the_most(
    login: Login, waiting: int, at_work: int, states: str, words: str, jobs: int
) -> None:
    done = login.look(waiting, at_work, states)
    assert (done.exit_code, done.output) == (0, f"Class cpu: {words}\n")
    assert len(login.submitted()) == jobs


def test_a_job_is_a_worker_that_ends_before_its_time(login: Login) -> None:
    login.look(1, 0, "")
    known = "--parsable --export=ALL --partition=gpus --job-name=anyshot-cpu --time=90 --gres=gpu:1"
    assert login.submitted() == [known]
    script = (login.folder / "script").read_text()
    assert script.endswith("-m anyshot_core.command worker run --until-idle --stop-before 90\n")
    assert "--me --partition=gpus --name=anyshot-cpu" in (login.folder / "asked").read_text()


def test_what_slurm_refuses_is_said_in_its_words(login: Login) -> None:
    (login.folder / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: invalid account' >&2; exit 1\n")
    done = login.look(1, 0, "")
    assert done.exit_code == 1
    assert done.output == "Error: sbatch failed: sbatch: error: invalid account\n"
