"""Jobs of a Slurm cluster, a worker each, for the runs that wait: asked and submitted from a login node."""

import shlex
import subprocess
from collections import Counter
from dataclasses import dataclass

from anyshot_core.command import AS_PROCESS
from anyshot_core.words import count_of
from anyshot_worker.client import WorkerClient

ALIVE = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
SLURM_SECONDS = 60.0  # that a command of Slurm may take


class SlurmError(Exception):
    """A command of Slurm failed; the text says which, and what it said."""


@dataclass(frozen=True)
class Cluster:
    """Where jobs go and how many there may be; they are known by their name among all of this user's."""

    partition: str
    most: int
    minutes: int
    job_name: str
    options: tuple[str, ...] = ()  # more of sbatch

    def states(self) -> list[str]:
        """The states of the jobs that are there, in Slurm's words."""
        asked = ("--me", f"--partition={self.partition}", f"--name={self.job_name}", f"--states={ALIVE}")
        return _ask("squeue", *asked, "--noheader", "--format=%T").split()

    def submit(self, hardware_class: str) -> str:
        """Submit one more, with this process's environment, and return its number."""
        known = (f"--partition={self.partition}", f"--job-name={self.job_name}", f"--time={self.minutes}")
        script = make_script(hardware_class, self.minutes)
        return _ask("sbatch", "--parsable", "--export=ALL", *known, *self.options, script=script).strip()


def make_script(hardware_class: str, minutes: int) -> str:
    """What a job does: be a worker with a name of its own, until nothing waits or its time is nearly up."""
    stay = ("worker", "run", "--until-idle", "--stop-before", str(minutes))
    return f"""#!/bin/sh
export ANYSHOT_HARDWARE_CLASS={hardware_class} ANYSHOT_WORKER_NAME="slurm-$SLURM_JOB_ID"
exec {shlex.join((*AS_PROCESS, *stay))}
"""


def look(client: WorkerClient, cluster: Cluster, hardware_class: str) -> str:
    """Submit the jobs that the queue lacks, and say what was found and done.

    Every run that waits or is at work has a job, up to the most: one that waits gets a new one, or one that has ended
    its run. Raises `WorkerApiError` and `SlurmError`.
    """
    runs, states = client.waiting(hardware_class), cluster.states()
    lacking = min(cluster.most, runs.waiting + runs.running) - len(states)
    made = [cluster.submit(hardware_class) for _ in range(lacking)]
    each = ", ".join(f"{count} {state.lower()}" for state, count in sorted(Counter(states).items()))
    jobs = f"{count_of(len(states), 'job')} named {cluster.job_name}{each and f' ({each})'}, at most {cluster.most}"
    did = f"Submitted {count_of(len(made), 'job')}: {', '.join(made)}." if made else "Submitted none."
    return (
        f"Class {hardware_class}: {count_of(runs.waiting, 'run')} waiting, {runs.running} at work."
        f" Partition {cluster.partition}: {jobs}. {did}"
    )


def _ask(*command: str, script: str | None = None) -> str:
    try:
        done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=SLURM_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{command[0]} does not answer: {error}") from error
    if done.returncode:
        raise SlurmError(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
