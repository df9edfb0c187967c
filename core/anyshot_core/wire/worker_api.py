"""Messages of the worker API: platform and worker both validate with these models.

Every message that a worker sends about a run carries the lease *epoch* it was given; the platform answers 409
to any other epoch, and the worker then drops the run. All durations are seconds, all sizes bytes. The jobs that
a claim is answered with are in `wire.jobs`.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from anyshot_core.wire.evidence import Evidence
from anyshot_core.wire.inventory import Inventory
from anyshot_core.wire.jobs import (
    IMAGE_DIGEST,
    LEASE_SECONDS,
    Analyse,
    Assignment,
    BlobRef,
    Budget,
    Evaluate,
    JobKind,
    Limits,
    LogPolicy,
    MetaTest,
    PackRef,
    Rescore,
    ResultsRef,
    Smoke,
)
from anyshot_core.wire.message import API_VERSION, OLDEST_WORKER, Message
from anyshot_core.wire.reports import ReportSummary
from anyshot_core.wire.verdicts import Verdict
from anyshot_scoring.summary import RunSummary

__all__ = [
    "API_VERSION",
    "LEASE_SECONDS",
    "OLDEST_WORKER",
    "Analyse",
    "ArtifactRef",
    "AskedImage",
    "Assignment",
    "BlobRef",
    "Budget",
    "ClaimRequest",
    "Complete",
    "EarlierAttempt",
    "Evaluate",
    "Event",
    "Events",
    "Evidence",
    "Fail",
    "Heartbeat",
    "HeartbeatReply",
    "JobKind",
    "Limits",
    "LogPolicy",
    "Measure",
    "MetaTest",
    "PackRef",
    "PartFailure",
    "PlatformStep",
    "Progress",
    "Provenance",
    "Release",
    "Rescore",
    "ResultsRef",
    "RunSummary",
    "Series",
    "Smoke",
    "Stage",
    "Usage",
    "Waiting",
    "WorkerInfo",
]

CELERY_TASK = "anyshot.ring"  # the doorbell: argument is the id of a run that may be claimed
QUEUE_PREFIX = "anyshot."  # followed by the hardware class, e.g. "anyshot.cpu"
HEARTBEAT_SECONDS = 2.0
ImageDigest = Annotated[str, Field(pattern=IMAGE_DIGEST)]


class Stage(StrEnum):
    """What a live attempt is doing; the same words as the run's running states."""

    PREPARING = "preparing"
    META_TRAINING = "meta_training"
    META_TESTING = "meta_testing"
    SCORING = "scoring"


class WorkerInfo(Message):
    """What a worker announces about itself with every claim."""

    version: int = API_VERSION
    name: str
    hardware_class: str = "cpu"
    release: str = ""
    cores: int = 1
    memory_bytes: int = 0
    gpus: list[str] = Field(default=[])
    images: list[str] = Field(default=[])
    image_digests: dict[Annotated[str, Field(max_length=64)], ImageDigest] = Field(
        default={},
        max_length=100,
        description="of the images that it has, by the name that phases use; under the empty name, what a phase "
        "gets that names none. A worker of an older release tells none and gets no pinned run",
    )
    cpu_images: list[str] = Field(
        default=[],
        description="of the images that it has, by the same names, those with a torch for CPUs alone: no run with GPUs "
        "is for them",
    )
    inventories: dict[Annotated[str, Field(max_length=64)], Inventory] = Field(
        default={}, max_length=100, description="what submissions can import in each image, by its name"
    )
    sandbox: str = ""
    sandbox_reduced: bool = False
    packs: list[str] = Field(default=[], description="digests of the packs in the cache")
    analyses: bool = Field(default=True, description="whether it can carry out organizers' analyses")


class ClaimRequest(Message):
    """Ask for the run that fits the worker best; which one rang does not matter."""

    worker: WorkerInfo


class Waiting(Message):
    """The runs of a class of machines, as far as the asking token reaches."""

    waiting: int = Field(ge=0, description="queued, and open to a claim now")
    running: int = Field(ge=0, description="at work on workers with this token")


class AskedImage(Message):
    """An image that phases ask for by a list of packages; an operator builds it, or refuses it."""

    name: str
    packages: list[str] = Field(description="`name==version` each")
    phases: list[str] = Field(description="that ask for it, as competition/phase")
    workers: list[str] = Field(description="that take work and have it")
    refused: str = Field(default="", description="why the operator does not build it; empty: not refused")


class Progress(Message):
    """Where an attempt stands."""

    stage: Stage
    tasks_done: int = 0
    tasks_total: int = 0
    seconds_used: float = 0.0
    message: str = ""


class Series(StrEnum):
    """What a measure is of."""

    RESOURCES = "resources"  # the sandbox: processor, memory, GPU
    TRAINING = "training"  # what the submission's logger said of meta-training
    VALIDATION = "validation"  # and of meta-validation


class Measure(Message):
    """A stretch of an attempt in one series. `seq` counts from 0 within an attempt, so that sending twice is harmless.

    Stretches grow with the attempt (`width` is about a sixtieth of `seconds`), so there are some hundred of them,
    however long it takes. They never cross a stage. A figure is None where there is none.
    """

    seq: int = Field(ge=0, lt=100_000)
    series: Series
    stage: Stage
    seconds: float = Field(ge=0, allow_inf_nan=False, description="since the attempt began, at its end")
    width: float = Field(ge=0, allow_inf_nan=False, description="how long it is")
    cpu_cores: float | None = Field(default=None, allow_inf_nan=False, description="on average")
    memory_bytes: int | None = Field(default=None, lt=2**62, description="at the highest of its readings")
    gpu_share: float | None = Field(default=None, allow_inf_nan=False, description="busy, 0 to 1, on average")
    gpu_memory_bytes: int | None = Field(default=None, lt=2**62, description="at the highest of its readings")
    step: int = Field(default=0, ge=0, lt=2**31, description="the last iteration, or validation round")
    rows: int = Field(default=0, ge=0, lt=2**31, description="of the logger; the figures are their means")
    loss: float | None = Field(default=None, allow_inf_nan=False)
    accuracy: float | None = Field(default=None, allow_inf_nan=False)
    normalized_accuracy: float | None = Field(default=None, allow_inf_nan=False)


class Heartbeat(Message):
    """Sent every `HEARTBEAT_SECONDS`, or `pace_seconds` where that is more; extends the lease."""

    epoch: int
    progress: Progress
    measures: list[Measure] = Field(
        default=[],
        max_length=1000,
        description="those that ended since the last beat",
    )


class HeartbeatReply(Message):
    """`cancel` asks the worker to kill the sandbox and to fail the run with CANCELLED."""

    cancel: bool
    lease_seconds: float
    pace_seconds: float = Field(
        default=0.0,
        ge=0,
        description="heartbeats, and parts of a log, are at least so far apart: the more workers, the farther",
    )


class Event(Message):
    """One line of a run's log; `seq` counts from 0 within an attempt, so that sending twice is harmless."""

    seq: int
    at: float = Field(description="seconds since the epoch, UTC")
    stream: Literal["stdout", "stderr", "platform", "logger"]
    stage: Stage
    text: str
    left_out: int = Field(default=0, ge=0, lt=2**31, description="lines that it stands in place of")


class Events(Message):
    epoch: int
    events: list[Event]


class ArtifactRef(Message):
    """An artifact of this attempt that was uploaded before."""

    name: str
    digest: str
    size: int


class PlatformStep(StrEnum):
    """What takes time that no participant pays for; the documentation says who could stretch each of them."""

    PREPARE = "prepare"
    EVIDENCE = "evidence"
    SANDBOX_START = "sandbox_start"
    START = "start"
    UNPACK = "unpack"
    RESTORE = "restore"
    TRANSPORT = "transport"
    LEARNER = "learner"
    DRAW = "draw"
    BETWEEN = "between"
    FINISH = "finish"
    SCORING = "scoring"
    ANALYSIS = "analysis"
    EXPORTS = "exports"
    UPLOAD = "upload"


class Usage(Message):
    """What the attempt used, participant's share and ours apart."""

    participant_seconds: float = 0.0
    meta_train_seconds: float = 0.0
    meta_test_seconds: float = 0.0
    platform_seconds: dict[str, float] = Field(
        default={},
        description=f"by step: {', '.join(PlatformStep)}; another one is counted, not shown by its name",
    )
    odd_seconds: dict[str, float] = Field(
        default={}, description="of the platform's, those beyond what the step may take in a box"
    )
    cpu_seconds: float = 0.0
    memory_peak_bytes: int = 0
    meta_train_memory_peak_bytes: int = Field(
        default=0, description="0 where it did not end, or is not known"
    )


class EarlierAttempt(Message):
    """An attempt from whose checkpoints a run went on: how many of the answers are its own, and what gave them."""

    tasks: int
    worker: str = ""
    hardware: str = ""
    image_digest: str = ""


class Provenance(Message):
    """What is needed to tell whether two runs are comparable."""

    image: str = ""
    image_digest: str = ""
    sandbox: str = ""
    kit_version: str = ""
    hardware: str = ""
    worker: str = ""
    protocol_digest: str = ""
    earlier: list[EarlierAttempt] = Field(
        default=[], description="before the attempt that all else is said of"
    )


class PartFailure(Message):
    """Why one of several tests of a job failed by the participant's code, while the others went on.

    Its words are those of a `Fail`; `part` counts from 0.
    """

    part: int = Field(ge=0)
    verdict: Verdict
    message: str
    detail: str = ""
    task_index: int | None = None
    ways: int | None = None
    shots: int | None = None


class Complete(Message):
    """The attempt succeeded; artifacts are already stored. Sent again, it changes nothing."""

    epoch: int
    summary: RunSummary | ReportSummary
    artifacts: list[ArtifactRef]
    usage: Usage = Usage()
    provenance: Provenance = Provenance()
    evidence: Evidence | None = Field(
        default=None,
        description="what was found about pretrained weights; none where the job looks at no zip",
    )
    failures: list[PartFailure] = Field(
        default=[], description="of the parts that failed; none from workers before API version 8"
    )


class Fail(Message):
    """The attempt failed. `detail` is what the participant may see; `private` is for operators."""

    epoch: int
    verdict: Verdict
    message: str
    detail: str = ""
    private: str = ""
    task_index: int | None = None
    ways: int | None = None
    shots: int | None = None
    before_training: bool = Field(
        default=False, description="the code failed before meta_fit asked for its first task or batch"
    )
    progress: Progress | None = Field(
        default=None, description="where it stood when it failed; none from workers of API version 1"
    )
    artifacts: list[ArtifactRef] = Field(default=[])
    usage: Usage = Usage()
    provenance: Provenance = Provenance()


class Release(Message):
    """The worker gives the lease back: it is stopping, or it cannot read the job."""

    epoch: int
    unreadable: str = Field(default="", max_length=2000, description="what in the job the worker cannot read")
