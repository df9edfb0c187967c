"""Makes the exports of a run, once it is scored: more tests of learners that it has left, and no score.

An export that fails costs nothing but itself: it is left out, and a note says why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from anyshot_core.data.images import IMAGE_SHAPE
from anyshot_core.data.pool import Pool
from anyshot_core.episodes.folds import FOLDS, class_folds
from anyshot_core.evaluations import EvaluationPoint
from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS, write_arrays
from anyshot_core.exports.requests import Asked, snapshot_points
from anyshot_core.protocols import Roles
from anyshot_core.protocols.keys import Seed, draw_mark, exports_seed
from anyshot_core.taskserver.job import DrawnTask, JobOutcome, Snapshot, TaskResult, TaskServerJob, TaskSource
from anyshot_core.taskserver.tasks import JoinedTasks, PoolTasks
from anyshot_scoring.calibration import negative_log_likelihoods

MOST_TASKS = 100  # of each test of a snapshot, and of estimates
PROBE = 120  # images that layers are exported for
LEAST_SNAPSHOTS = 2


@dataclass(frozen=True)
class _FoldTasks:
    """A task source: fold `f` of task `t` has index 5 t + f. Tasks of which no fold can be made have none.

    A learner fits all folds but one of a support set, and is asked for that one, whose labels it would have.
    Shimabucoro et al., *Evaluating the Evaluators*: 5-fold cross-validation, and the hold-out of its first fold.
    """

    tasks: PoolTasks

    @property
    def indices(self) -> Sequence[int]:
        """All folds of all tasks that can be estimated."""
        return self._indices

    @cached_property
    def _indices(self) -> Sequence[int]:
        return [
            FOLDS * task + fold
            for task in self.tasks.indices
            if (folds := class_folds(self.tasks.spec(task).support_labels)) is not None
            for fold in range(int(folds.max()) + 1)
        ]

    def draw(self, index: int) -> DrawnTask:
        """The task that is a fold."""
        task, fold = divmod(index, FOLDS)
        whole = self._whole(task)
        folds = class_folds(whole.support_labels)
        assert folds is not None
        learned, asked = folds != fold, folds == fold
        shots = np.bincount(whole.support_labels[learned], minlength=whole.ways)
        return replace(
            whole,
            index=index,
            shots=int(shots[0]) if np.ptp(shots) == 0 else 0,
            support=whole.support[learned],
            support_labels=whole.support_labels[learned],
            query=whole.support[asked],
            query_labels=whole.support_labels[asked],
        )

    @cached_property
    def _whole(self) -> Callable[[int], DrawnTask]:
        """A task with its own copy of the support images; the last one is kept, since its folds follow one another."""

        def draw(task: int) -> DrawnTask:
            found = self.tasks.draw(task)
            return replace(found, support=found.support.copy(), query=found.query[:0])

        return lru_cache(maxsize=1)(draw)


class NotMade(Exception):
    """An export that could not be made; the text says why."""


@dataclass(frozen=True)
class Exporting:
    """A scored run, and how to do more with what it left.

    Attributes:
        job: the run's; `learner` what it has kept, `results` its answers.
        snapshots: of its training, in order.
        serve, serve_features: carry a job out that starts from a learner.
        folder: where the files go.
        tasks_mark: a site's, by which its runs on the same tasks are known; None: the seed of the tasks is no secret.
    """

    asked: Asked
    job: TaskServerJob
    tasks: PoolTasks
    roles: Roles
    learner: Path
    results: Sequence[TaskResult]
    snapshots: Sequence[Snapshot]
    serve: Callable[[TaskServerJob], JobOutcome]
    serve_features: Callable[[TaskServerJob, np.ndarray], JobOutcome]
    folder: Path
    tasks_mark: Seed | None = None
    _from: TaskServerJob = field(init=False, repr=False)

    def __post_init__(self) -> None:
        bare = replace(
            self.job,
            packs=(),
            validation_packs=(),
            train_protocol=None,
            validation_protocol=None,
            keep_learner=None,
            keep_snapshots=None,
            snapshots=0,
            probabilities=False,
            learner=self.learner,
        )
        object.__setattr__(self, "_from", bare)

    def answers(self, learner: Path, tasks: TaskSource) -> Sequence[TaskResult]:
        """The answers of a learner. Raises `NotMade`."""
        outcome = self.serve(replace(self._from, learner=learner, tasks=tasks))
        if outcome.failure is not None:
            raise NotMade(f"{outcome.failure.verdict}: {outcome.failure.message}")
        return outcome.results

    def layers(self, images: np.ndarray) -> dict[str, np.ndarray]:
        """The layers of the learner. Raises `NotMade`."""
        outcome = self.serve_features(replace(self._from, tasks=None), images)
        if outcome.failure is not None:
            raise NotMade(f"{outcome.failure.verdict}: {outcome.failure.message}")
        if not outcome.layers:
            raise NotMade("the learner has no method `features`, which says what they are")
        return outcome.layers


def make_exports(run: Exporting) -> tuple[list[Path], list[str]]:
    """The files that could be made of those asked for, and a note on each of the others."""
    made, notes = list[Path](), list[str]()
    for name, wanted, make in (
        (SNAPSHOTS, run.asked.snapshots, _snapshots),
        (LAYERS, run.asked.features, _layers),
        (ESTIMATES, run.asked.estimates, _estimates),
        (PROBABILITIES, run.asked.probabilities, _probabilities),
    ):
        if not wanted:
            continue
        try:
            made.append(write_arrays(run.folder / name, make(run)))
        except NotMade as error:
            notes.append(f"{name} is not made: {str(error).removesuffix('.')}.")
    return made, notes


def _snapshots(run: Exporting) -> dict[str, np.ndarray]:
    """`train_loss` `[S]`; `base`, `validation`, `novel` accuracies `[S, tasks]`, the same tasks for every snapshot."""
    if len(run.snapshots) < LEAST_SNAPSHOTS:
        raise NotMade(
            f"{len(run.snapshots)} snapshot(s) were taken, {LEAST_SNAPSHOTS} are needed: train longer by a loop of the "
            "kit, or call anyshot_starting_kit.snapshots.checkpoint in your own"
        )
    points = snapshot_points(run.roles)
    tasks = JoinedTasks(tuple(_tasks_of(run, point) for point in points))
    scores = [
        [accuracies(part) for part in tasks.split(run.answers(snapshot.learner, tasks))]
        for snapshot in run.snapshots
    ]
    found = {"train_loss": np.array([snapshot.train_loss for snapshot in run.snapshots])}
    return found | {
        point.key: np.array([parts[place] for parts in scores]) for place, point in enumerate(points)
    }


def _tasks_of(run: Exporting, point: EvaluationPoint) -> PoolTasks:
    """Tasks of a point, other ones than those that the run is scored on."""
    count = min(len(run.tasks.indices), MOST_TASKS)
    return PoolTasks(run.tasks.pool, point.protocol, exports_seed(run.tasks.seed), 0, count)


def accuracies(results: Sequence[TaskResult]) -> list[float]:
    """The share of right answers in each task, by index."""
    ordered = sorted(results, key=lambda result: result.index)
    return [float((result.predictions == result.labels).mean()) for result in ordered]


def _layers(run: Exporting) -> dict[str, np.ndarray]:
    """Layers `[n, ...]`, and `image_dataset` (place in the pool) and `image_class` (number in its pack) `[n]`."""
    places = probe_images(run.tasks.pool, run.roles)
    images = np.empty((len(places), *IMAGE_SHAPE), np.uint8)
    classes = np.empty(len(places), np.int64)
    for dataset, pack in enumerate(run.tasks.pool):
        own = places[:, 0] == dataset
        rows = places[own, 1]
        pixels = np.empty((len(rows), *IMAGE_SHAPE), np.uint8)
        pack.read_rows(rows, pixels)
        images[own], classes[own] = pixels, pack.labels[rows]
    return run.layers(images) | {"image_dataset": places[:, 0], "image_class": classes}


def probe_images(pool: Pool, roles: Roles) -> np.ndarray:
    """Dataset and row `[n, 2]` of the images of layers: evenly over what is tested, the same for every run."""
    each = max(1, PROBE // len(pool))
    found = []
    for dataset, pack in enumerate(pool):
        shown = roles.test.shown_rows(pack)
        rows = np.arange(len(pack)) if shown is None else np.asarray(shown)
        spread = np.linspace(0, max(0, len(rows) - 1), min(each, len(rows))).round().astype(np.int64)
        chosen = rows[np.unique(spread)]
        found.append(np.column_stack([np.full(len(chosen), dataset), chosen]))
    return np.concatenate(found).astype(np.int64)


def _estimates(run: Exporting) -> dict[str, np.ndarray]:
    """For each task its place, dataset, ways, shots, `accuracy` on the query, `k_fold` and `hold_out` estimates.

    `draw` is the same number for runs that are tested on the same tasks.
    """
    indices = list(run.tasks.indices)[:MOST_TASKS]
    known = {result.index: result for result in run.results}
    folds = _FoldTasks(replace(run.tasks, start=run.tasks.start, stop=indices[-1] + 1))
    if not folds.indices:
        raise NotMade("each task has a class with a single labelled image, so none can be set aside")
    hits = _hits_by_task(run.answers(run.learner, folds))
    answers = [known[index] for index in indices]
    right = np.array([np.sum(hits[index], axis=0) if index in hits else (0, 0) for index in indices])
    first = np.array([hits[index][0] if index in hits else (0, 0) for index in indices])
    return {
        "task": np.array(indices),
        "draw": np.full(len(indices), _mark(run)),
        "dataset": np.array([answer.dataset for answer in answers]),
        "ways": np.array([answer.ways for answer in answers]),
        "shots": np.array([answer.shots for answer in answers]),
        "accuracy": np.array(accuracies(answers)),
        "k_fold": _shares(right),
        "hold_out": _shares(first),
    }


def _mark(run: Exporting) -> int:
    """What the tasks of a run are known by."""
    return draw_mark(run.tasks.seed if run.tasks_mark is None else run.tasks_mark)


def _probabilities(run: Exporting) -> dict[str, np.ndarray]:
    """For each task with probabilities: its place, shape, classes and `nll`; `label`, `predicted` and the rows of
    `probabilities`, one after the other, of all its query images.
    """
    ordered = sorted(run.results, key=lambda result: result.index)
    cap = run.job.caps.probability_bytes
    if sum(4 * len(result.labels) * result.ways for result in ordered) > cap:
        raise NotMade(f"the answers of so many tasks have more than {cap >> 20} MiB of probabilities")
    kept = [(result, result.probabilities) for result in ordered if result.probabilities is not None]
    doubts = sorted({result.doubt for result in ordered if result.doubt})
    if not kept and doubts:
        raise NotMade(f"what came for probabilities is not believed ({'; '.join(doubts)})")
    if not kept:
        raise NotMade(
            "predict returned labels alone: return logits or probabilities, `[queries, ways]` (an older image of the "
            "sandbox sends none of them either)"
        )
    answers = [result for result, _ in kept]
    return {
        "task": np.array([answer.index for answer in answers]),
        "draw": np.full(len(answers), _mark(run)),
        "dataset": np.array([answer.dataset for answer in answers]),
        "ways": np.array([answer.ways for answer in answers]),
        "shots": np.array([answer.shots for answer in answers]),
        "queries": np.array([len(answer.labels) for answer in answers]),
        "classes": np.concatenate([run.tasks.spec(answer.index).classes for answer in answers]),
        "nll": np.array([negative_log_likelihoods(own, answer.labels).mean() for answer, own in kept]),
        "label": np.concatenate([answer.labels for answer in answers]),
        "predicted": np.concatenate([answer.predictions for answer in answers]),
        "probabilities": np.concatenate([own.ravel() for _, own in kept]),
        "tasks_of_run": np.array(len(ordered)),
        "not_believed": np.array(sum(bool(result.doubt) for result in ordered)),
    }


def _shares(hits: np.ndarray) -> np.ndarray:
    """Right answers among answers; NaN where there was none."""
    with np.errstate(invalid="ignore"):
        return hits[:, 0] / hits[:, 1]


def _hits_by_task(results: Sequence[TaskResult]) -> dict[int, list[tuple[int, int]]]:
    """Right answers and answers of each fold, by task."""
    found: dict[int, list[tuple[int, int]]] = {}
    for result in sorted(results, key=lambda result: result.index):
        right = int((result.predictions == result.labels).sum())
        found.setdefault(result.index // FOLDS, []).append((right, len(result.labels)))
    return found
