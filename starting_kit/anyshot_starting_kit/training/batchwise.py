"""Training on batches of the concatenated datasets: a classifier of all their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.networks.heads import cosines
from anyshot_starting_kit.training.clock import Clock, device
from anyshot_starting_kit.training.episodic import Log, Tasks, validate
from anyshot_starting_kit.training.loop import Best, optimise
from anyshot_starting_kit.training.settings import Settings


class Classifier(nn.Module):
    """A backbone with a linear head, or a cosine head of that scale; and one for the four rotations."""

    def __init__(self, backbone: nn.Module, width: int, classes: int, cosine_scale: float = 0.0) -> None:
        super().__init__()
        self.backbone, self.cosine_scale = backbone, cosine_scale
        self.linear = nn.Linear(width, classes)
        self.rotation = nn.Linear(width, 4)

    def scores(self, features: Tensor) -> Tensor:
        """Logits `[n, classes]` of features."""
        if self.cosine_scale:
            return self.cosine_scale * cosines(features, self.linear.weight)
        return self.linear(features)


def train_on_batches(
    classifier: Classifier,
    train: Callable[[int], Iterator[Any]],
    settings: Settings,
    log: Log,
    *,
    valid: Tasks | None = None,
    episodic: nn.Module | None = None,
    clock: Clock | None = None,
) -> Best:
    """Train the classifier; with `valid`, the snapshot is kept in which `episodic` does best on validation tasks.

    `episodic` is a model like those of `train_on_tasks` that shares the classifier's backbone. With `rotations` every
    batch comes in four turns and the turn is recognised too; with `flips` it is mirrored at random.
    """
    where, clock = device(), clock or Clock(settings.share_for_training)
    classifier.to(where)

    def losses() -> Iterator[Tensor]:
        for batch in train(settings.iterations):
            images, labels = batch[0].to(where), batch[1].to(where)
            logits, loss = _loss(classifier, _flipped(images, settings.flips), labels, settings.rotations)
            log(batch, logits.detach().cpu().numpy(), loss.item())
            yield loss

    score = None
    if valid is not None and episodic is not None:
        episodic.to(where)
        score = lambda: validate(episodic, valid, settings.validation_tasks, log)  # noqa: E731
    return optimise(classifier, losses(), settings, clock, score)


def _loss(classifier: Classifier, images: Tensor, labels: Tensor, rotations: bool) -> tuple[Tensor, Tensor]:
    """Logits of the upright images, and the loss of all turns (Mangla et al. 2020, section 3.2)."""
    if not rotations:
        logits = classifier.scores(classifier.backbone(images))
        return logits, cross_entropy(logits, labels)
    turned = torch.cat([images.rot90(turn, dims=(2, 3)) for turn in range(4)])
    turns = torch.arange(4, device=labels.device).repeat_interleave(len(images))
    features = classifier.backbone(turned)
    logits = classifier.scores(features)
    loss = cross_entropy(logits, labels.repeat(4)) + cross_entropy(classifier.rotation(features), turns)
    return logits[: len(images)], loss


def _flipped(images: Tensor, wanted: bool) -> Tensor:
    if not wanted:
        return images
    mirrored = torch.rand(len(images), device=images.device) < 0.5
    return torch.where(mirrored[:, None, None, None], images.flip(3), images)
