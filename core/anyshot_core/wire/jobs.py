"""What a worker is asked to do: one message for each kind of job, told apart by `kind`.

All durations are seconds, all sizes bytes.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from anyshot_core.protocols.keys import KEY_PATTERN
from anyshot_core.wire.message import API_VERSION, Message
from anyshot_core.wire.protocols import ProtocolField
from anyshot_core.wire.reports import ReportParameters

LEASE_SECONDS = 30.0
IMAGE_DIGEST = r"^sha256:[0-9a-f]{64}$"  # of a sandbox image
Key = Annotated[str, Field(pattern=KEY_PATTERN)]


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


class ExportRef(Message):
    """A file that a run of a submission exported, for a report; `submission` is its shown name."""

    submission: str
    run: int = Field(ge=0, description="place among the submission's seeded runs")
    blob: BlobRef


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


class Claimed(Message):
    """What every job says, in every release: which attempt of which run it is."""

    run_id: str
    epoch: int


class Job(Claimed):
    """What jobs of all kinds have in common."""

    version: int = API_VERSION
    attempt: int
    lease_seconds: float = LEASE_SECONDS
    competition: str
    phase: str
    tasks: int = 0
    same_test_tasks: bool = Field(
        default=False, description="whether all seeded runs of a submission are tested on the same tasks"
    )


class Scored(Job):
    """A job whose end is a score: on which tasks, of which submission."""

    submission_id: str
    submission_name: str = Field(default="", description="as the submission is shown: team and number")
    run: int = Field(default=0, ge=0, description="place among the submission's seeded runs")
    submission: BlobRef
    meta_train: list[PackRef] = Field(default=[])
    meta_test: list[PackRef]
    protocol: ProtocolField
    train_protocol: ProtocolField | None = Field(
        default=None, description="of the meta-training tasks; absent: as config.json asks"
    )
    validation_protocol: ProtocolField | None = Field(
        default=None, description="of the validation tasks; absent: datasets held out, as config.json asks"
    )
    shard: tuple[int, int] | None = Field(default=None, description="task indices [start, stop)")
    dataset: int | None = Field(
        default=None,
        description="place in `meta_test` of the one dataset that is trained on and tested, by a learner of its own",
    )
    train_seed: int
    test_seed: int | Key = Field(description="what the tasks are drawn from: a key, or a small number")
    query_key: Key | None = Field(
        default=None, description="of the order of the query, where a submission runs"
    )
    fingerprint: str = Field(default="", description="what the tasks are known by; equal for equal tasks")


class Rescore(Scored):
    """Score the predictions of an earlier attempt again; nothing of the submission runs."""

    kind: Literal[JobKind.SCORE] = JobKind.SCORE
    predictions: BlobRef


class Checkpoints(Message):
    """What earlier attempts of a run stored: a training that lasts, or its learner and answers to the first tasks."""

    training: BlobRef | None = None
    learner: BlobRef | None = None
    answers: list[BlobRef] = Field(default=[])


class Tested(Scored):
    """A job that runs a submission in a sandbox."""

    budget: Budget
    limits: Limits = Limits()
    image: str | None = Field(default=None, description="name of an image that the operator offers")
    image_digest: str | None = Field(
        default=None,
        description="of the one image to use, whatever its name means by now; absent: not pinned",
    )
    weights: bool = Field(default=True, description="whether the operator's pretrained weights may be read")
    log_policy: LogPolicy = LogPolicy.META_TRAIN
    isolated_tasks: bool = False
    hide_dataset_names: bool = True
    keep_learner: bool = False
    snapshots: int = Field(default=0, ge=0, description="of training, that are kept and tested")
    features: bool = Field(default=False, description="whether the learner's layers are exported")
    estimates: bool = Field(default=False, description="whether accuracies are estimated from support sets")
    probabilities: bool = Field(default=False, description="whether those of the answers are exported")
    tasks_mark: Key | None = Field(
        default=None,
        description="what equal tasks are known by in exported files; absent: it follows from the test seed",
    )
    checkpoints: Checkpoints = Field(
        default=Checkpoints(),
        description="from which this attempt may go on; none: it begins at the beginning",
    )


class Evaluate(Tested):
    """Meta-train, meta-test and score."""

    kind: Literal[JobKind.EVALUATE] = JobKind.EVALUATE


class Smoke(Tested):
    """The same on a few public tasks, with short generators."""

    kind: Literal[JobKind.SMOKE] = JobKind.SMOKE


class MetaTestPart(Message):
    """One of several tests of a learner, with the budget of a run; its tasks come after those of the part before."""

    protocol: ProtocolField
    tasks: int = Field(gt=0)
    packs: list[int] = Field(min_length=1, description="places in `meta_test` of the datasets that it is on")


class MetaTest(Tested):
    """Meta-test and score with the learner of an earlier attempt.

    With `parts`, `tasks` is the sum of theirs, and the files of results number the tasks through; a part whose tasks
    they lack has failed.
    """

    kind: Literal[JobKind.META_TEST] = JobKind.META_TEST
    learner: BlobRef
    parts: list[MetaTestPart] = Field(
        default=[], description="absent: one test, by `protocol` on all of `meta_test`"
    )


class Analyse(Job):
    """Compute an organizer's report from packs or from results."""

    kind: Literal[JobKind.ANALYSE] = JobKind.ANALYSE
    meta_train: list[PackRef] = Field(default=[])
    meta_test: list[PackRef] = Field(default=[])
    results: list[ResultsRef] = Field(default=[], description="what a report on a board is computed from")
    exports: list[ExportRef] = Field(default=[], description="what a report on submissions is computed from")
    parameters: ReportParameters


Assignment = Annotated[Evaluate | Smoke | MetaTest | Rescore | Analyse, Field(discriminator="kind")]
"""Everything a worker needs to carry out one attempt of one run."""

_READER: TypeAdapter[Evaluate | Smoke | MetaTest | Rescore | Analyse] = TypeAdapter(Assignment)


def read_assignment(content: bytes) -> Evaluate | Smoke | MetaTest | Rescore | Analyse:
    """The job that a platform of this release, or of the one before or after, sent. Raises ValidationError."""
    return _READER.validate_json(content)
