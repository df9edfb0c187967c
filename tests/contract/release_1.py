"""The messages of the last release (API version 1, commit 3724ba4), as it had them: the other side of an upgrade."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from anyshot_core.wire.verdicts import Verdict

API_VERSION = 1
CELERY_TASK = "anyshot.ring"  # the doorbell: argument is the id of a run that may be claimed
QUEUE_PREFIX = "anyshot."  # followed by the hardware class, e.g. "anyshot.cpu"
LEASE_SECONDS = 30.0
HEARTBEAT_SECONDS = 2.0


class Message(BaseModel):
    """Base of all messages: unknown fields are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Stage(StrEnum):
    """What a live attempt is doing; the same words as the run's running states."""

    PREPARING = "preparing"
    META_TRAINING = "meta_training"
    META_TESTING = "meta_testing"
    SCORING = "scoring"


class JobKind(StrEnum):
    """What a worker is asked to do with a claim."""

    EVALUATE = "evaluate"  # meta-train, meta-test, score
    META_TEST = "meta_test"  # from a saved learner
    SCORE = "score"  # only score the predictions of an earlier attempt
    SMOKE = "smoke"  # a few public tasks, no quota
    ANALYSE = "analyse"  # an organizer's report


class LogPolicy(StrEnum):
    """What a participant gets to see of the output of their code."""

    EVERYTHING = "everything"
    META_TRAIN = "meta_train"
    NOTHING = "nothing"


class BlobRef(Message):
    """A content-addressed file: fetch `url` (signed, short-lived, may be relative to the platform) and verify."""

    digest: str = Field(description="sha256 of the content, 64 hex digits")
    size: int = Field(ge=0)
    url: str


class PackRef(Message):
    """A dataset pack of a pool."""

    name: str
    domain: str = ""
    blob: BlobRef


class ResultsRef(Message):
    """The per-task results of one run of a submission, for a report."""

    submission: str
    run: int = Field(ge=0, description="place among the submission's seeded runs")
    blob: BlobRef
    predictions: BlobRef | None = Field(default=None, description="where kept: what reports say of classes")


class Budget(Message):
    """Seconds of the participant's own time; None is unlimited."""

    run_seconds: float = Field(gt=0)
    meta_train_seconds: float | None = Field(default=None, gt=0)
    task_seconds: float | None = Field(default=None, gt=0)


class Limits(Message):
    """Resources of the sandbox."""

    memory_bytes: int = Field(default=4 << 30, gt=0)
    cpus: float = Field(default=1.0, gt=0)
    processes: int = Field(default=512, gt=0)
    scratch_bytes: int = Field(default=2 << 30, gt=0)
    output_bytes: int = Field(default=64 << 20, gt=0)
    gpus: int = Field(default=0, ge=0)


class WorkerInfo(Message):
    """What a worker announces about itself with every claim."""

    version: int = API_VERSION
    name: str
    hardware_class: str = "cpu"
    release: str = ""
    cores: int = 1
    memory_bytes: int = 0
    gpus: list[str] = []
    images: list[str] = []
    sandbox: str = ""
    sandbox_reduced: bool = False
    packs: list[str] = Field(default=[], description="digests of the packs in the cache")
    analyses: bool = Field(default=True, description="whether it can carry out organizers' analyses")


class ClaimRequest(Message):
    """Ask for work: `run_id` names the run that rang, None any that fits."""

    worker: WorkerInfo
    run_id: str | None = None


class Assignment(Message):
    """Everything a worker needs to carry out one attempt of one run."""

    version: int = API_VERSION
    kind: JobKind = JobKind.EVALUATE
    run_id: str
    epoch: int
    attempt: int
    lease_seconds: float = LEASE_SECONDS
    competition: str
    phase: str
    submission_id: str | None = None
    submission: BlobRef | None = None
    meta_train: list[PackRef] = []
    meta_test: list[PackRef] = []
    protocol: dict[str, Any] = Field(default={}, description="as `protocols.protocol_from_dict` reads it")
    tasks: int = 0
    shard: tuple[int, int] | None = Field(default=None, description="task indices [start, stop)")
    dataset: int | None = Field(
        default=None,
        description="place in `meta_test` of the one dataset that is trained on and tested, by a learner of its own",
    )
    train_seed: int = 93
    test_seed: int = 93
    budget: Budget | None = None
    limits: Limits = Limits()
    image: str | None = Field(default=None, description="name of an image that the operator offers")
    weights: bool = Field(default=True, description="whether the operator's pretrained weights may be read")
    log_policy: LogPolicy = LogPolicy.META_TRAIN
    isolated_tasks: bool = False
    hide_dataset_names: bool = True
    keep_learner: bool = False
    learner: BlobRef | None = None
    predictions: BlobRef | None = None
    results: list[ResultsRef] = Field(default=[], description="what a report on a board is computed from")
    parameters: dict[str, Any] = Field(default={}, description="of an analysis")


class Progress(Message):
    """Where an attempt stands."""

    stage: Stage
    tasks_done: int = 0
    tasks_total: int = 0
    seconds_used: float = 0.0
    message: str = ""


class Heartbeat(Message):
    """Sent every `HEARTBEAT_SECONDS`; extends the lease."""

    epoch: int
    progress: Progress


class HeartbeatReply(Message):
    """`cancel` asks the worker to kill the sandbox and to fail the run with CANCELLED."""

    cancel: bool
    lease_seconds: float


class Event(Message):
    """One line of a run's log; `seq` counts from 0 within an attempt, so that sending twice is harmless."""

    seq: int
    at: float = Field(description="seconds since the epoch, UTC")
    stream: Literal["stdout", "stderr", "platform", "logger"]
    stage: Stage
    text: str


class Events(Message):
    epoch: int
    events: list[Event]


class ArtifactRef(Message):
    """An artifact of this attempt that was uploaded before."""

    name: str
    digest: str
    size: int


class Usage(Message):
    """What the attempt used, participant's share and ours apart."""

    participant_seconds: float = 0.0
    meta_train_seconds: float = 0.0
    meta_test_seconds: float = 0.0
    platform_seconds: dict[str, float] = Field(
        default={}, description="by step: prepare, sandbox_start, transport, scoring, upload"
    )
    cpu_seconds: float = 0.0
    memory_peak_bytes: int = 0
    meta_train_memory_peak_bytes: int = Field(
        default=0, description="0 where it did not end, or is not known"
    )


class Provenance(Message):
    """What is needed to tell whether two runs are comparable."""

    image: str = ""
    image_digest: str = ""
    sandbox: str = ""
    kit_version: str = ""
    hardware: str = ""
    worker: str = ""
    protocol_digest: str = ""


class Complete(Message):
    """The attempt succeeded; artifacts are already stored. Sent again, it changes nothing."""

    epoch: int
    summary: dict[str, Any] = Field(description="`anyshot_scoring.summary.RunSummary` as plain data")
    artifacts: list[ArtifactRef]
    usage: Usage = Usage()
    provenance: Provenance = Provenance()
    evidence: dict[str, Any] = Field(default={}, description="what was found about pretrained weights")


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
    artifacts: list[ArtifactRef] = []
    usage: Usage = Usage()
    provenance: Provenance = Provenance()


class Release(Message):
    """The worker is stopping and gives the lease back."""

    epoch: int
