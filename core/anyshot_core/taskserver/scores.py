"""From the answers of a run to what is scored and stored."""

from collections.abc import Sequence

import numpy as np

from anyshot_core.taskserver.job import TaskResult
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_scoring.predictions import Predictions


def collect(
    results: Sequence[TaskResult], tasks: PoolTasks, datasets: Sequence[str], domains: Sequence[str]
) -> Predictions:
    """The predictions of a run; `datasets` and `domains` are names by position in the pool.

    Which class of its dataset each label stood for is drawn again from `tasks`.
    """
    return Predictions.from_tasks(
        task=[result.index for result in results],
        dataset=[datasets[result.dataset] for result in results],
        domain=[domains[result.dataset] for result in results],
        ways=[result.ways for result in results],
        shots=[result.shots for result in results],
        predictions=[result.predictions for result in results],
        labels=[result.labels for result in results],
        classes=[tasks.spec(result.index).classes for result in results],
        fit_seconds=[result.fit_seconds for result in results],
        predict_seconds=[result.predict_seconds for result in results],
    )


def put_together(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of all parts, in order, with their tasks numbered as the parts number them."""
    flat = ("task", "dataset", "domain", "ways", "shots", "fit_seconds", "predict_seconds")
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*flat, "predictions", "labels", "classes")
    }
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    return Predictions(**columns, offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
