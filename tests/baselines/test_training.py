"""The shared loop, FIX-ML and the settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from anyshot_starting_kit.runner.generators import Task
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.fixed_supports import FixedSupports
from anyshot_starting_kit.training.loop import optimise
from anyshot_starting_kit.training.settings import BadSettings, Settings


def draw_task(seed: int, shots: int = 2) -> Task:
    """A 3-way task of tiny images from 3 classes of 8 images each."""
    random = np.random.default_rng(seed)
    pictures = np.random.default_rng(0).integers(0, 256, (3, 8, 3, 4, 4)).astype(np.float32) / np.float32(255)
    classes, rows = random.permutation(3), np.stack([random.permutation(8) for _ in range(3)])
    labels = torch.arange(3).repeat_interleave(shots), torch.arange(3).repeat_interleave(8 - shots)
    originals = torch.from_numpy(classes)

    def images(columns: slice) -> torch.Tensor:
        return torch.from_numpy(
            np.concatenate([pictures[c][rows[i, columns]] for i, c in enumerate(classes)])
        )

    return Task(
        3,
        shots,
        (images(slice(shots)), labels[0], originals[labels[0]]),
        (images(slice(shots, None)), labels[1], originals[labels[1]]),
        classes,
        "D",
    )


def supports(task: Task) -> dict[int, torch.Tensor]:
    """Support images by original class."""
    return {int(c): task.support_set[0][task.support_set[2] == c] for c in task.original_class_idx}


def test_fixed_supports_stay() -> None:
    """Every task has the first task's support of a class, and its query holds none of it."""
    fixed = list(FixedSupports(lambda n: (draw_task(seed) for seed in range(n)))(5))
    first = supports(fixed[0])
    torch.testing.assert_close(first, supports(draw_task(0)))
    for task in fixed[1:]:
        torch.testing.assert_close(supports(task), first)
        for image in torch.cat(list(first.values())):
            assert not any(torch.equal(image, other) for other in task.query_set[0])
        assert len(task.query_set[0]) == len(task.query_set[1]) == len(task.query_set[2])
    assert not torch.equal(supports(draw_task(1))[0], first[0])


def test_best_snapshot_is_kept() -> None:
    """The model ends as it was at the best validation, not as it was last."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    settings = Settings(iterations=6, validate_every=1, optimizer="sgd", learning_rate=0.1)
    scores = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.1])
    seen: list[float] = []

    def score() -> float:
        seen.append(model.weight.item())
        return next(scores)

    best = optimise(model, (-model.weight.sum() for _ in range(6)), settings, Clock(1.0), score)
    assert best.score == 0.5 and model.weight.item() == seen[1] < seen[-1]


def test_patience_ends_training() -> None:
    """Two rounds without a better one are enough."""
    model, steps = nn.Linear(1, 1), []

    def losses():
        for step in range(100):
            steps.append(step)
            yield model.weight.sum()

    settings = Settings(validate_every=1, patience=2)
    optimise(model, losses(), settings, Clock(1.0), lambda: 0.5)
    assert len(steps) == 3


@pytest.mark.parametrize(
    ("method", "words"),
    [({"bakbone": "conv4"}, "bakbone is unknown"), ({"iterations": "many"}, 'iterations is "many"')],
)
def test_bad_settings_are_named(method: dict, words: str) -> None:
    """A typing error does not pass for a default."""
    with pytest.raises(BadSettings, match=words):
        Settings.from_dict(method)
