"""What an attempt takes from the checkpoints of those before it, and the checkpoints that it stores itself."""

import io
import logging
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyshot_core.taskserver.checkpoints import (
    BadCheckpoint,
    Checkpoint,
    TrainingCheckpoint,
    read_checkpoint,
    read_training,
)
from anyshot_core.taskserver.job import JobOutcome, Resumed, TaskResult, TaskServerJob, TimeUse
from anyshot_core.wire.checkpoints import LEARNER, TRAINING, answers_name, job_key
from anyshot_core.wire.jobs import Evaluate, Smoke, Tested
from anyshot_core.wire.worker_api import EarlierAttempt, Provenance, Stage, Usage
from anyshot_worker.attempt import RunAttempt
from anyshot_worker.client import RequestRefused, StaleEpoch, WorkerApiError
from anyshot_worker.materials import TestedPart

log = logging.getLogger(__name__)

SHORTEST, LONGEST = 2.0, 60.0  # seconds between two files of answers; of training, at least the first
SHARE = 0.01  # of the attempt's time so far, within these
PATIENCE = 10.0  # seconds for what is stored at the end


@dataclass(frozen=True)
class Earlier:
    """What earlier attempts of a run did and used; its `learner`, unless the job brings it or it is not trained yet."""

    learner: Path | None
    resumed: Resumed
    usage: Usage
    attempts: list[EarlierAttempt]


def can_resume(assignment: Tested, parts: Sequence[TestedPart]) -> bool:
    """Whether checkpoints serve a job: a smoke test is short, `legacy` is one process from import to the last
    prediction, and snapshots of training and tests of several parts are not stored.
    """
    if isinstance(assignment, Smoke) or assignment.snapshots or len(parts) > 1:
        return False
    return parts[0].tasks.seeds_tasks


def zip_tables(tables: Mapping[str, bytes]) -> bytes:
    """The participant's own training curves, as CSV files in one zip; empty where there are none."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, table in sorted(tables.items()):
            archive.writestr(Path(name).name, table)
    return content.getvalue() if tables else b""


def _unzip_tables(content: bytes) -> dict[str, bytes]:
    if not content:
        return {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def find_earlier(attempt: RunAttempt[Tested], parts: Sequence[TestedPart]) -> Earlier | None:
    """What to go on from; None to begin at the beginning, with the reason in the log where checkpoints are bad."""
    assignment, stored = attempt.assignment, attempt.assignment.checkpoints
    if not can_resume(assignment, parts) or not (stored.answers or stored.training):
        return None
    try:
        earlier = _read_answers(attempt, parts[0]) if stored.answers else _read_training(attempt)
    except (BadCheckpoint, zipfile.BadZipFile) as problem:
        log.warning("run %s: a checkpoint cannot be used: %s", assignment.run_id, problem)
        words = f"A checkpoint of an earlier attempt cannot be used. {problem} The run begins again."
        attempt.say(Stage.PREPARING, words)
        return None
    where = _describe(earlier.resumed, len(parts[0].tasks.indices))
    attempt.say(Stage.PREPARING, f"This attempt goes on from where an earlier one stood: {where}.")
    return earlier


def _describe(resumed: Resumed, total: int) -> str:
    if resumed.training is not None:
        return f"after {resumed.seconds.get('meta_fit', 0.0):,.0f} s of meta-training"
    return f"after {len(resumed.results)} of {total} tasks" if resumed.results else "with its trained learner"


def _read_training(attempt: RunAttempt[Tested]) -> Earlier:
    assignment, state = attempt.assignment, attempt.folder / "resumed.bin"
    assert assignment.checkpoints.training is not None
    file = attempt.files.get(assignment.checkpoints.training)
    one = read_training(file, job_key(assignment), state)
    resumed = Resumed(seconds=one.seconds, training=state, tables=_unzip_tables(one.tables))
    return Earlier(None, resumed, one.usage, _attempts_until(one.provenance, 0))


def _read_answers(attempt: RunAttempt[Tested], part: TestedPart) -> Earlier:
    assignment, stored = attempt.assignment, attempt.assignment.checkpoints
    trains, key = isinstance(assignment, Evaluate), job_key(assignment)
    learner = stored.learner.digest if stored.learner is not None else ""
    if trains != bool(learner):
        raise BadCheckpoint("Its learner is not there.")
    found = list[Checkpoint]()
    for blob in stored.answers:
        one = read_checkpoint(attempt.files.get(blob).read_bytes(), part.tasks, key)
        if one.learner != learner or one.first != sum(len(before.results) for before in found):
            raise BadCheckpoint("It does not follow from the one before it.")
        found.append(one)
    last = found[-1]
    answers = tuple(answer for one in found for answer in one.results)
    own = len(answers) - sum(one.tasks for one in last.provenance.earlier)
    return Earlier(
        learner=attempt.files.get(stored.learner) if trains and stored.learner is not None else None,
        resumed=Resumed(answers, last.seconds, tables=_unzip_tables(found[0].tables)),
        usage=last.usage,
        attempts=_attempts_until(last.provenance, own),
    )


def _attempts_until(by: Provenance, tasks: int) -> list[EarlierAttempt]:
    """The attempts that a checkpoint comes from: those from which its own went on, and that one, with its answers."""
    own = EarlierAttempt(tasks=tasks, worker=by.worker, hardware=by.hardware, image_digest=by.image_digest)
    return [*by.earlier, own]


class Checkpointer:
    """Stores a training that saves itself, the learner when it is trained, and answers as they come.

    Its thread, while it is open, never holds the run up; what it could not store when the attempt ends is done again by
    the next one.
    """

    def __init__(
        self,
        attempt: RunAttempt[Tested],
        job: TaskServerJob,
        measure: Callable[[TimeUse], tuple[Usage, Provenance]],
    ) -> None:
        """`measure` gives what the run has used when the participant's time is that, and what it runs on."""
        self._attempt, self._measure = attempt, measure
        self._key = job_key(attempt.assignment)
        stored = attempt.assignment.checkpoints.learner
        self._learner = stored.digest if stored is not None and job.resumed is not None else ""
        self._waits_for_learner = job.learner is None
        self._next = len(job.resumed.results) if job.resumed is not None else 0
        # a file, and what came of the job by then: of a training that goes on, and of the learner
        self._training: tuple[Path, JobOutcome] | None = None
        self._trained: tuple[Path, JobOutcome] | None = None
        self._answers: list[TaskResult] = []
        self._time = TimeUse()  # at the last of them
        self._guard, self._awake, self._over = threading.Lock(), threading.Event(), False
        self._began = time.monotonic()
        name = f"checkpoints-{attempt.assignment.run_id}"
        self._thread = threading.Thread(target=self._store_all, name=name, daemon=True)

    def __enter__(self) -> "Checkpointer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._awake.set()
        self._thread.join(PATIENCE)

    def training(self, file: Path, so_far: JobOutcome) -> None:
        """Meta-training goes on, and is saved in `file`, which is taken over."""
        with self._guard:
            self._training = file.replace(file.with_suffix(".latest")), so_far
        self._awake.set()  # code that trains waits itself between two of them

    def learner(self, file: Path, so_far: JobOutcome) -> None:
        """Meta-training is over, and `file` has its learner; an empty one cannot be gone on from."""
        if self._waits_for_learner and file.stat().st_size:
            with self._guard:
                self._trained = file, so_far

    def answer(self, result: TaskResult, time: TimeUse) -> None:
        """One more task is answered, and the participant's code had used that time by then."""
        with self._guard:
            self._answers.append(result)
            self._time = time

    def _store_all(self) -> None:
        while not self._over:
            self._awake.wait(self._pause())
            self._awake.clear()
            self._store()
        self._store()

    def _pause(self) -> float:
        return min(max(SHORTEST, SHARE * (time.monotonic() - self._began)), LONGEST)

    def _store(self) -> None:
        try:
            self._store_training()
            self._store_learner()
            self._store_answers()
        except (StaleEpoch, RequestRefused) as error:
            log.info("run %s: checkpoints are not wanted: %s", self._attempt.assignment.run_id, error)
        except (WorkerApiError, OSError) as error:
            log.warning("run %s: a checkpoint is not stored: %s", self._attempt.assignment.run_id, error)

    def _store_training(self) -> None:
        with self._guard:
            if self._training is None or self._trained is not None:
                return
            latest, so_far = self._training
            state, self._training = latest.replace(latest.with_suffix(".sent")), None
        usage, provenance = self._measure(so_far.time)
        tables = zip_tables(so_far.logger_tables)
        checkpoint = TrainingCheckpoint(self._key, so_far.time.participant, usage, provenance, tables)
        file = self._attempt.folder / TRAINING
        checkpoint.write(file, state)
        state.unlink()
        self._upload(TRAINING, file)
        file.unlink()

    def _store_learner(self) -> None:
        with self._guard:
            trained = self._trained
        if trained is None or not self._waits_for_learner:
            return
        file, so_far = trained
        self._learner = self._upload(LEARNER, file)
        self._upload_answers((), so_far.time, zip_tables(so_far.logger_tables))
        self._waits_for_learner = False

    def _store_answers(self) -> None:
        with self._guard:
            answers, spent = tuple(self._answers), self._time
        if self._waits_for_learner or not answers:
            return
        self._upload_answers(answers, spent)
        with self._guard:
            del self._answers[: len(answers)]
        self._next += len(answers)

    def _upload_answers(self, answers: tuple[TaskResult, ...], spent: TimeUse, tables: bytes = b"") -> None:
        usage, provenance = self._measure(spent)
        checkpoint = Checkpoint(
            key=self._key,
            learner=self._learner,
            first=self._next,
            results=answers,
            seconds=spent.participant,
            usage=usage,
            provenance=provenance,
            tables=tables,
        )
        name = answers_name(self._next, self._next + len(answers))
        file = self._attempt.folder / name
        file.write_bytes(checkpoint.to_bytes())
        self._upload(name, file)
        file.unlink()

    def _upload(self, name: str, file: Path) -> str:
        run, epoch = self._attempt.assignment.run_id, self._attempt.assignment.epoch
        return self._attempt.site.client.upload(run, epoch, name, file).digest
