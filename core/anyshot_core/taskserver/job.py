"""What a task server is asked to do, and what comes of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from anyshot_core import protocols
from anyshot_core.wire.messages import LoggerRow
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, LogPolicy, Stage


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """One task, with the labels that never leave the task server.

    `support` uint8 [s, 3, h, w], `support_labels` int64 [s] in [0, ways), `query` uint8 [q, 3, h, w], `query_labels`
    int64 [q]; `dataset` is the position of the dataset in the pool, `shots` 0 where the classes differ in it.
    """

    index: int
    dataset: int
    ways: int
    shots: int
    support: np.ndarray
    support_labels: np.ndarray
    query: np.ndarray
    query_labels: np.ndarray
    seeded: bool = True  # whether the random numbers of participants' code start anew with it


class TaskSource(Protocol):
    """The hidden tasks of a run: a pure function of the index."""

    @property
    def indices(self) -> Sequence[int]:
        """The indices of the tasks to be tested, a part of the phase's."""
        ...

    def draw(self, index: int) -> DrawnTask:
        """The task of that index; called from another thread, ahead of its time."""
        ...


@dataclass(frozen=True, slots=True)
class OutputCaps:
    """How much text a runner may send before it is killed with OUTPUT_LIMIT, in bytes and rows.

    Lines past `shown_lines` are counted, and only the last of them are kept: a flood has to reach its end at the speed
    of the stream. Both together fit into the log that a platform keeps (`ANYSHOT_EVENTS_MAX_LINES`).
    """

    log_bytes: int = 64 << 20
    log_lines: int = 500_000
    shown_lines: int = 98_000
    logger_rows: int = 200_000
    learner_bytes: int = 2 << 30
    layer_bytes: int = 64 << 20
    probability_bytes: int = 64 << 20


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The answer to one task: `predictions` int64 [q] in the order of `DrawnTask.query_labels`.

    `probabilities` float32 [q, ways] of the classes where the job asks for them and labels did not come alone; `doubt`
    says why what came for them is not believed.
    """

    index: int
    dataset: int
    ways: int
    shots: int
    predictions: np.ndarray
    labels: np.ndarray
    load_seconds: float
    fit_seconds: float
    predict_seconds: float
    probabilities: np.ndarray | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Resumed:
    """What earlier attempts of a job did: the answers to its first tasks, and the participant's seconds by step.

    `training` is what the meta-learner saved of itself, where it was not trained yet; `tables` are those of its logger.
    """

    results: tuple[TaskResult, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    training: Path | None = None
    tables: dict[str, bytes] = field(default_factory=dict)  # file name -> CSV


@dataclass(frozen=True, slots=True)
class TaskServerJob:
    """One evaluation, or one shard of it.

    `bundle` is the zip as uploaded. `packs` are those of the meta-training pool, in order, `validation_packs` those
    that validation tasks come from, both cut to what their protocols show; a protocol is None where config.json says.
    With `learner` (an exported one) meta-training is skipped; with `keep_learner` the learner is exported to that
    file after meta-training.
    Where `learner_optional`, one beyond the limit is left out there: the file is empty.
    With `resumed`, what earlier attempts did is not done again; their learner is `learner`.
    With `keep_training`, a meta-learner that can saves itself to that file while it trains, each time anew;
    `try_checkpoint` lets it do so once, and resume.
    With `keep_snapshots`, a folder, up to `snapshots` of training are exported there.
    With `probabilities`, results hold those of the answers.
    `query_secret` keys the permutation of each query; None leaves the order of the protocol. `tasks` None stops after
    meta-training.
    """

    bundle: Path
    packs: tuple[Path, ...]
    tasks: TaskSource | None
    budget: Budget
    train_protocol: protocols.Protocol | None = None
    validation_protocol: protocols.Protocol | None = None
    validation_packs: tuple[Path, ...] = ()
    train_seed: int = 93
    query_secret: bytes | None = None
    learner: Path | None = None
    keep_learner: Path | None = None
    learner_optional: bool = False
    resumed: Resumed | None = None
    keep_training: Path | None = None
    try_checkpoint: bool = False
    checkpoint_seconds: float = 5.0  # between two of training, at least
    snapshots: int = 0
    keep_snapshots: Path | None = None
    probabilities: bool = False
    hide_dataset_names: bool = True
    log_policy: LogPolicy = LogPolicy.META_TRAIN
    caps: OutputCaps = field(default_factory=OutputCaps)
    cpus: int = 1
    device: str = "cpu"
    unpacked_bytes: int = 4 << 30
    max_items: int | None = None  # of one call of a generator: a trial run; None for a real one
    start_seconds: float = 120.0  # for READY, and for what is ours between commands


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of output that the log policy lets the participant see; `text` has no line end, bad UTF-8 is replaced."""

    stream: str  # "stdout", "stderr", "platform" or "logger"
    stage: Stage
    text: str
    left_out: int = 0  # lines in whose place it stands


@dataclass(frozen=True, slots=True)
class ServerProgress:
    """Where a run stands; `seconds_used` is the participant's time."""

    stage: Stage
    tasks_done: int
    tasks_total: int
    seconds_used: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A learner as it was at some moment of its training; `train_loss` is the mean loss since the one before."""

    learner: Path
    train_loss: float


@dataclass(frozen=True, slots=True)
class TimeUse:
    """Seconds by step on the task server's clock; the participant's apart from the platform's."""

    participant: dict[str, float] = field(
        default_factory=dict
    )  # import, meta_fit (with save), load, fit, predict
    platform: dict[str, float] = field(default_factory=dict)  # by `PlatformStep`
    odd: dict[str, float] = field(default_factory=dict)  # of the platform's, those beyond `ledger.UNCHARGED`

    @property
    def participant_seconds(self) -> float:
        return sum(self.participant.values())


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run did not finish: `message` one sentence for the participant, `detail` what the log policy shows them."""

    verdict: Verdict
    message: str
    detail: str = ""
    private: str = ""
    task_index: int | None = None
    ways: int | None = None
    shots: int | None = None
    before_training: bool = False  # meta_fit had asked for no task or batch


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """All that came of a job. `failure` None means OK; `results` of a failed run are what came before."""

    results: tuple[TaskResult, ...]
    time: TimeUse
    failure: Failure | None = None
    logger_tables: dict[str, bytes] = field(default_factory=dict)  # file name -> CSV
    runner: dict[str, str] = field(default_factory=dict)  # versions as READY stated them
    snapshots: tuple[Snapshot, ...] = ()
    layers: dict[str, np.ndarray] = field(default_factory=dict)  # float32 [images, ...], of `serve_features`

    @property
    def verdict(self) -> Verdict:
        return Verdict.OK if self.failure is None else self.failure.verdict


def _ignore(_: object) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What the caller wants to hear; each must return at once (a slow one is charged to the platform, not the run)."""

    on_progress: Callable[[ServerProgress], object] = _ignore
    on_log: Callable[[LogLine], object] = _ignore
    on_row: Callable[[LoggerRow], object] = _ignore  # of its logger, where the log policy shows it
    on_training: Callable[[Path, JobOutcome], object] = lambda file, so_far: None  # it is saved to that file
    on_learner: Callable[[Path, JobOutcome], object] = lambda file, so_far: None  # it is in that file
    on_answer: Callable[[TaskResult, TimeUse], object] = lambda answer, time: None
    cancelled: Callable[[], bool] = lambda: False
    stops: Callable[[], bool] = lambda: False  # asked between tasks, and while a training can be saved
