"""The three classes that a submission implements, unchanged from the NeurIPS'22 Cross-Domain MetaDL competition.

A submission may write `from api import MetaLearner, Learner, Predictor` with or without shipping this file. Only
`MyMetaLearner` and `MyLearner` have fixed names; inheriting from these classes is usual, not required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch


class Predictor:
    """What `Learner.fit` returns: classifies the query images of one task."""

    def __init__(self) -> None:
        pass

    def predict(self, query_set: torch.Tensor) -> np.ndarray:
        """Classify all query images of the task at once.

        Args:
            query_set: float32 [n_query, 3, 128, 128] in [0, 1], shuffled, equally many of each class.

        Returns:
            Logits or probabilities [n_query, n_ways], or labels [n_query] in [0, n_ways).
        """
        raise NotImplementedError("Your predictor needs a method predict(query_set).")


class Learner:
    """What `MetaLearner.meta_fit` returns. A fresh one is made, without arguments, and loaded for each test task."""

    def __init__(self) -> None:
        pass

    def fit(self, support_set: tuple[torch.Tensor, torch.Tensor, torch.Tensor, int, int]) -> Predictor:
        """Learn a task from its support set.

        Args:
            support_set: images float32 [n, 3, 128, 128], labels int64 [n] in [0, n_ways), original labels int64 [n]
                (anonymous for hidden data), n_ways, k_shots.
        """
        raise NotImplementedError("Your learner needs a method fit(support_set).")

    def save(self, path_to_save: str) -> None:
        """Write everything that `load` needs into the folder `path_to_save`."""
        raise NotImplementedError("Your learner needs a method save(path_to_save).")

    def load(self, path_to_load: str) -> None:
        """Restore what `save` wrote into the folder `path_to_load`."""
        raise NotImplementedError("Your learner needs a method load(path_to_load).")

    # Optional: `features(self, images) -> dict[str, Tensor]`, the layers [n, ...] of images float32 [n, 3, 128, 128] in
    # [0, 1] by name. Where a run exports features, they are what this returns.


class MetaLearner:
    """The meta-learning algorithm.

    Args:
        train_classes: N in task format (None when the ways vary), the number of classes of all training datasets in
            batch format.
        total_classes: the number of classes of all training datasets.
        logger: has `log(data, predictions, loss=None, meta_train=True)`, also available as `self.log`.
    """

    def __init__(self, train_classes: int, total_classes: int, logger: Any) -> None:
        self.train_classes = train_classes
        self.total_classes = total_classes
        self.log = logger.log

    def meta_fit(
        self,
        meta_train_generator: Callable[[int], Iterator[Any]],
        meta_valid_generator: Callable[[int], Iterator[Any]] | None,
    ) -> Learner:
        """Meta-train.

        Args:
            meta_train_generator: `meta_train_generator(n)` yields n tasks or n batches, as config.json asks.
            meta_valid_generator: `meta_valid_generator(n)` yields n tasks; None without validation datasets.
        """
        raise NotImplementedError("Your meta-learner needs a method meta_fit.")

    # Optional, both or none: `checkpoint(self, path)` writes how far training is into the folder `path`, between two
    # items of meta_train_generator; `resume(self, path)` restores it in a new process, before meta_fit is called. The
    # first call of meta_train_generator then leaves out what the call that was broken off had yielded; random numbers
    # and the logger go on as well.
