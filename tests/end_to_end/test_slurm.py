"""Workers as jobs of a real Slurm cluster: `anyshot worker slurm` grows with the queue, and shrinks (`make slurm`)."""

import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import select

from anyshot_core.command import AS_PROCESS
from anyshot_platform.app import make_services
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.server.demo.participants import ENDED, Entrant, Participant, entering
from anyshot_worker.images.build import build_folder
from anyshot_worker.sandbox import SandboxSettings
from tests.end_to_end.site import Site, distributed
from tests.services.material import BASELINES, zip_folder
from tests.services.processes import find_program, running
from tests.services.slurm import Cluster, one_node

TASKS, BUDGET, ENTRANTS, MOST = 12, 600.0, 10, 2
SLOW = {  # so that its run is longer than the job that has it; what it saved is what the next one goes on from
    "        return np.random": "        import time; time.sleep(8)\n        return np.random",
    '        """There is nothing to save."""': '        open(f"{path_to_save}/nothing", "w").write("learned")',
}
OURS, OTHERS = "anyshot-cpu", "of-others"


@dataclass
class Watch:
    """What is seen of the jobs while the queue empties; it leaves a minute to the job that has the slow run."""

    cluster: Cluster
    services: Services
    slow: str  # the submission's id
    counts: list[int] = field(default_factory=list)
    cut: str = ""  # the number of that job

    def look(self) -> None:
        """Called again and again."""
        self.counts.append(len(self.cluster.jobs(OURS)))
        if not self.cut and (job := self._job_of_the_slow_run()):
            self.cluster.ask("scontrol", "update", f"JobId={job}", "TimeLimit=1")
            self.cut = job

    def _job_of_the_slow_run(self) -> str:
        query = select(Worker.name).join(Run, Run.worker_id == Worker.id)
        query = query.where(Run.submission_id == self.slow, Run.tasks_total == TASKS, Run.tasks_done > 0)
        with self.services.database.reading() as session:
            name = session.scalar(query.where(Run.state == RunState.META_TESTING))
        return name.removeprefix("slurm-") if name else ""


def entrants(folder: Path) -> list[Entrant]:
    """Nine that guess at once, after one that takes its time."""
    slow = folder / "slow"
    shutil.copytree(BASELINES / "random", slow, ignore=shutil.ignore_patterns("__pycache__"))
    text = (slow / "model.py").read_text()
    for line, instead in SLOW.items():
        assert text.count(line) == 1
        text = text.replace(line, instead)
    (slow / "model.py").write_text(text)
    quick = zip_folder(BASELINES / "random", folder / "random.zip")
    bundles = [zip_folder(slow, folder / "slow.zip"), *[quick] * (ENTRANTS - 1)]
    return [Entrant(f"entrant{number}", "Random", bundle) for number, bundle in enumerate(bundles)]


def worker_settings(site: Site, cluster: Cluster) -> dict[str, str]:
    """What a login node knows: the site's address, a token, and where its nodes have room; no broker."""
    own = {name: value for name, value in site.worker_environment.items() if name != "ANYSHOT_BROKER_URL"}
    folders = {"WORKSPACE": cluster.folder / "workspace", "STATE_FOLDER": cluster.folder / "workers"}
    own |= {f"ANYSHOT_{name}": str(folder) for name, folder in folders.items()}
    return own | cluster.environment | {"ANYSHOT_SANDBOX": "bubblewrap", "ANYSHOT_POLL_SECONDS": "1"}


def follow(participants: list[Participant], watch: Watch, seconds: float) -> list[str]:
    """How each submission ended."""
    deadline = time.monotonic() + seconds
    while not {status for one in participants if (status := one.look()["status"])} <= ENDED:
        assert time.monotonic() < deadline, [one.look()["status"] for one in participants]
        watch.look()
        time.sleep(1)
    return [one.look()["status"] for one in participants]


@pytest.mark.slow("a Slurm cluster, a site, and a run that is longer than the job that has it")
@pytest.mark.timeout(1500)
@pytest.mark.skipif(find_program("bwrap") is None, reason="Bubblewrap is not installed")
@pytest.mark.skipif(find_program("mmdebstrap") is None, reason="mmdebstrap is not installed")
def test_jobs_grow_and_shrink_with_the_queue_and_hand_over_when_they_are_killed(
    demo_packs: dict[str, Path], tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    build_folder("cpu", SandboxSettings().images_folder, say=lambda line: None)
    logs = tmp_path / "jobs"
    logs.mkdir()
    with (
        one_node() as cluster,
        distributed(tmp_path, demo_packs, postgres_url, redis_url, tasks=TASKS, budget=BUDGET) as site,
        entering(site.server.address, site.stage, entrants(tmp_path)) as participants,
    ):
        others = cluster.ask("sbatch", "--parsable", f"--job-name={OTHERS}", "--hold", "--wrap=true")
        services = make_services(site.settings)
        watch = Watch(cluster, services, participants[0].submission)
        options = ["--partition=gpus", f"--most={MOST}", "--minutes=30", "--every=2"]
        of_sbatch = ["--gres=gpu:1", f"--output={logs}/%j.log", f"--chdir={cluster.folder}"]
        said, variables = tmp_path / "slurm.log", worker_settings(site, cluster)
        with running([*AS_PROCESS, "worker", "slurm", *options, "--", *of_sbatch], said, env=variables):
            ended = follow(participants, watch, 900)
            deadline = time.monotonic() + 60
            while cluster.jobs(OURS) and time.monotonic() < deadline:
                time.sleep(1)
        log = said.read_text()
        told = {path.name: path.read_text() for path in sorted(logs.iterdir())}
        assert ended == ["finished"] * ENTRANTS, (log, told)
        assert {row["team"] for row in participants[0].leaderboard("free-style")} == {
            one.entrant.name for one in participants
        }
        assert max(watch.counts) == MOST, "the queue was long"
        assert cluster.jobs(OURS) == {}, "nothing waits"
        assert cluster.jobs(OTHERS) == {others: "PENDING"}
        assert "JobState=TIMEOUT" in cluster.ask("scontrol", "show", "job", watch.cut)
        (run,) = participants[0].look()["runs"]
        (handed_over,) = run["provenance"]["earlier"]
        assert run["attempt"] == 2 and handed_over["tasks"] > 0, "its answers went to the next job"
        assert re.search(
            r"Partition gpus: 0 jobs named anyshot-cpu, at most 2\. Submitted 2 jobs: \d+, \d+\.", log
        )
        states = [cluster.ask("scontrol", "show", "job", name.removesuffix(".log")) for name in told]
        assert sum("JobState=COMPLETED" in state for state in states) == len(told) - 1, states
        services.database.dispose()
