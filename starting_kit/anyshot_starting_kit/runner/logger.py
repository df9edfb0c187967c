"""The logger that a meta-learner is given: one printed line and one row of a table an iteration."""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from anyshot_core.wire.logger_tables import COLUMNS, TABLES, cells
from anyshot_core.wire.messages import LoggerRow


class Logger:
    """`logger.log(data, predictions, loss=None, meta_train=True)`, in meta-training and meta-validation.

    Rows go to `meta_train.csv` and `meta_validation.csv` in `logs_dir`, and to `emit` where one is given. A
    validation round begins with the first validation iteration after a training one.
    """

    def __init__(self, logs_dir: str, emit: Callable[[LoggerRow], None] | None = None) -> None:
        self.logs_dir = logs_dir
        self._emit = emit
        self._train_iteration = self._valid_iteration = self._step = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Iterations of training, of the validation round, and rounds, so far."""
        return self._train_iteration, self._valid_iteration, self._step

    def restore(self, counts: tuple[int, int, int]) -> None:
        """Go on counting from there."""
        self._train_iteration, self._valid_iteration, self._step = counts

    def log(self, data: Any, predictions: Any, loss: Any = None, meta_train: bool = True) -> None:
        """Record an iteration.

        Args:
            data: the task or batch.
            predictions: logits or probabilities [n, classes] or labels [n], for the task's query or the batch.
            loss: of this iteration, where there is one.
            meta_train: False in validation.
        """
        self._count(meta_train)
        is_task = hasattr(data, "query_set")
        truth = _array(data.query_set[1] if is_task else data[1]).reshape(-1)
        guess = _labels(_array(predictions))
        row = LoggerRow(
            validation=not meta_train,
            step=0 if meta_train else self._step,
            iteration=self._train_iteration if meta_train else self._valid_iteration,
            ways=int(data.num_ways) if is_task else -1,
            shots=int(data.num_shots) if is_task else -1,
            loss=math.nan if loss is None else float(loss),
            accuracy=float(np.mean(truth == guess)),
            normalized_accuracy=normalized(truth, guess, int(data.num_ways)) if is_task else math.nan,
            dataset=str(data.dataset) if is_task else "",
        )
        self._write(row)
        print(_line(row))
        if self._emit is not None:
            self._emit(row)

    def _count(self, meta_train: bool) -> None:
        if meta_train:
            self._train_iteration += 1
            self._valid_iteration = 0
            return
        if self._valid_iteration == 0:
            self._step += 1
        self._valid_iteration += 1

    def _write(self, row: LoggerRow) -> None:
        path = Path(self.logs_dir) / (TABLES[row.validation])
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(COLUMNS)
            writer.writerow(cells(row))


def normalized(truth: np.ndarray, guess: np.ndarray, ways: int) -> float:
    """(bac - 1/N) / (1 - 1/N) over the task's N classes; NaN where a class has no example or N < 2."""
    recalls = [
        float(np.mean(guess[truth == label] == label)) for label in range(ways) if np.any(truth == label)
    ]
    if len(recalls) < ways or ways < 2:
        return math.nan
    return (float(np.mean(recalls)) - 1 / ways) / (1 - 1 / ways)


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    return np.asarray(values)


def _labels(predictions: np.ndarray) -> np.ndarray:
    return predictions.argmax(axis=-1) if predictions.ndim >= 2 else predictions.astype(np.int64)


def _line(row: LoggerRow) -> str:
    head = f"Meta-valid step {row.step}, iteration" if row.validation else "Meta-train iteration"
    parts = [f"{head} {row.iteration}:"]
    if not math.isnan(row.normalized_accuracy):
        parts.append(f"{row.normalized_accuracy:.4f} (normalized accuracy)")
    parts.append(f"{row.accuracy:.4f} (accuracy)")
    if not math.isnan(row.loss):
        parts.append(f"{row.loss:.4f} (loss)")
    if row.ways >= 0:
        parts.append(f"[{row.ways}-way {row.shots}-shot task from {row.dataset}]")
    return "\t".join(parts)
