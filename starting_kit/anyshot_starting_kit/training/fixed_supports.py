"""FIX-ML as a switch: each training class keeps the first support set that it was drawn with.

Setlur, Li and Smith, *Is Support Set Diversity Necessary for Meta-Learning?*; query images come from the rest.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

Tasks = Callable[[int], Iterator[Any]]


class FixedSupportGenerator:
    """A generator of tasks like the one it wraps, but a class comes with the same support images each time.

    Images are kept as bytes. A task with fewer shots than were kept uses the first of them; with more, the class gets
    the further images that this task drew, and keeps those too.
    """

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._kept: dict[tuple[str, int], list[np.ndarray]] = {}

    def __call__(self, count: int) -> Iterator[Any]:
        """So many tasks with their supports fixed."""
        return (self._fix(task) for task in self._tasks(count))

    def _fix(self, task: Any) -> Any:
        images, labels, _ = task.support_set
        supports = images.clone()
        known: set[bytes] = set()
        for label, original in enumerate(task.original_class_idx.tolist()):
            rows = (labels == label).nonzero().flatten()
            kept = self._support(task.dataset, original, images[rows], task)
            supports[rows] = (torch.from_numpy(np.stack(kept)).float() / 255.0).to(images.device)
            known.update(picture.tobytes() for picture in kept)
        fixed = (supports, *task.support_set[1:])
        return replace(task, support_set=fixed, query_set=_without(task.query_set, known))

    def _support(self, dataset: str, original: int, drawn: Tensor, task: Any) -> list[np.ndarray]:
        """As many pictures as this task has of the class; new ones are never images of its query."""
        kept = self._kept.setdefault((dataset, original), [])
        known = {picture.tobytes() for picture in kept}
        fresh = [picture for picture in _bytes(drawn) if picture.tobytes() not in known]
        kept.extend(fresh[: max(0, len(drawn) - len(kept))])
        return kept[: len(drawn)]


def _without(query: tuple[Tensor, Tensor, Tensor], known: set[bytes]) -> tuple[Tensor, Tensor, Tensor]:
    keep = torch.tensor([picture.tobytes() not in known for picture in _bytes(query[0])])
    return query[0][keep], query[1][keep], query[2][keep]


def _bytes(images: Tensor) -> np.ndarray:
    return (images * 255.0).round().to(torch.uint8).cpu().numpy()
