"""A Slurm cluster of one node on loopback, of Debian's packages: its own keys, ports and folders.

Its two GPUs are plain files. Root runs it as root; anybody else runs it, and its jobs, as themselves.
"""

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.services.processes import find_program, free_port, running, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd")
CONFIGURATION = """
ClusterName=anyshot
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 Gres=gpu:2
PartitionName=gpus Nodes=ALL Default=YES MaxTime=60 State=UP
"""


@dataclass(frozen=True)
class Cluster:
    """What runs, with its partition `gpus`; `environment` is what Slurm's commands need to find it."""

    folder: Path
    environment: dict[str, str]

    def ask(self, *command: str) -> str:
        """What a command of Slurm printed."""
        done = subprocess.run(command, env=os.environ | self.environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout.strip()

    def jobs(self, name: str) -> dict[str, str]:
        """The states of the jobs of that name that wait or run, by their numbers."""
        asked = (f"--name={name}", "--states=PENDING,RUNNING", "--noheader", "--format=%i %T")
        return dict(line.split() for line in self.ask("squeue", *asked).splitlines())


@contextmanager
def one_node() -> Iterator[Cluster]:
    """A cluster that takes jobs; skips the test where its programs are not installed."""
    programs = {name: find_program(name) for name in PROGRAMS}
    if missing := [name for name, program in programs.items() if program is None]:
        pytest.skip(f"{missing[0]} is not installed (Debian: apt-get install slurm-wlm munge)")
    folder = Path(tempfile.mkdtemp(prefix="anyshot-slurm-"))
    folder.chmod(0o755)  # boxes run as users of their own
    cluster = Cluster(folder, {"SLURM_CONF": str(folder / "slurm.conf")})
    host = socket.gethostname().partition(".")[0]
    _configure(folder, host)
    munge = [
        *("--foreground", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key"),
        *(f"--pid-file={folder}/munged.pid", f"--seed-file={folder}/munged.seed"),
    ]
    arguments = {"munged": munge, "slurmctld": ["-D"], "slurmd": ["-D", "-N", host]}
    try:
        with ExitStack() as stack:
            for name in PROGRAMS:
                command = [str(programs[name]), *arguments[name]]
                log = folder / f"{name}.log"
                stack.enter_context(running(command, log, env=os.environ | cluster.environment))
                time.sleep(1)  # the next one asks it
            wait_until(lambda: "idle" in cluster.ask("sinfo", "--noheader", "--format=%t"), "Slurm", 60)
            yield cluster
            cluster.ask("scancel", "--partition=gpus", "--full", "--signal=KILL")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _configure(folder: Path, host: str) -> None:
    ports = {"controller": free_port(), "node": free_port()}
    text = CONFIGURATION.format(folder=folder, host=host, user=getpass.getuser(), **ports)
    (folder / "slurm.conf").write_text(text)
    devices = [folder / "gpu0", folder / "gpu1"]
    for made in (*devices, folder / "state", folder / "spool"):
        made.touch() if made in devices else made.mkdir()
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File={folder}/gpu[0-1]\n")
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
