"""The folders of the suite and what their `expected.toml` says."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from anyshot_core.taskserver.job import OutputCaps
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, Limits, LogPolicy

FOLDER = Path(__file__).parent
HONEST = FOLDER / "honest.py"


class Expected(BaseModel):
    """`expected.toml`: what is attacked, under which limits, and how it has to end."""

    model_config = ConfigDict(extra="forbid")

    number: int  # of the list on the sandbox page; from 47 on our own
    attack: str
    verdict: list[Verdict]
    memory_mib: int = 1024
    scratch_mib: int = 256
    processes: int = 128
    run_seconds: float = 120.0  # less only where TIME_LIMIT is right: machines may be slow
    task_seconds: float | None = None
    logger_rows: int = OutputCaps().logger_rows
    tasks: int = 2
    log_policy: LogPolicy = LogPolicy.EVERYTHING
    isolated: bool = False
    keep_learner: bool = False
    must_log: list[str] = []
    never_log: list[str] = ["BREACH"]
    never_tell: list[str] = []  # in message or detail of the failure
    listener: bool = False  # a listener on this machine, whose addresses are in target.txt
    slow_draw: float = 0.0
    cancel_after: float | None = None
    worker_growth_mib: float = 64.0
    gvisor: list[
        Verdict
    ] = []  # the verdict under gVisor, where another is right: one kernel holds all of a box there
    gvisor_concedes: list[str] = []  # what its kernel gives away though it may not, and that tells nothing

    def under(self, sandbox: str) -> Expected:
        """What is expected in that sandbox; a box that gVisor ends as a whole logs no more what it tried."""
        if not sandbox.endswith("runsc"):
            return self.model_copy(update={"gvisor_concedes": []})
        return self.model_copy(update={"verdict": self.gvisor, "must_log": []}) if self.gvisor else self

    @property
    def budget(self) -> Budget:
        return Budget(run_seconds=self.run_seconds, task_seconds=self.task_seconds)

    @property
    def limits(self) -> Limits:
        mib = 1 << 20
        return Limits(
            memory_bytes=self.memory_mib * mib,
            scratch_bytes=self.scratch_mib * mib,
            processes=self.processes,
            cpus=1.0,
        )


def list_cases() -> list[Path]:
    """Every folder with an `expected.toml`, by name."""
    return sorted(path.parent for path in FOLDER.glob("*/expected.toml"))


def read_expected(folder: Path) -> Expected:
    return Expected.model_validate(tomllib.loads((folder / "expected.toml").read_text()))


def zip_case(folder: Path | None, target: Path, extra: dict[str, str] | None = None) -> Path:
    """The zip of a case, with the honest learner beside it; of the honest learner alone for None."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(HONEST, "honest.py")
        if folder is None:
            archive.writestr("model.py", "from honest import MyLearner, MyMetaLearner\n")
        for path in sorted(folder.rglob("*")) if folder else []:
            if path.is_file() and path.name != "expected.toml" and "__pycache__" not in path.parts:
                archive.write(path, str(path.relative_to(folder or path)))
        for name, text in (extra or {}).items():
            archive.writestr(name, text)
    return target
