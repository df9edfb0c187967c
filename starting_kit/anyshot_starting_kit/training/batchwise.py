"""Training on batches of the concatenated datasets: a classifier of all their classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize

from anyshot_starting_kit.episodes.residence import drawn_on
from anyshot_starting_kit.networks.heads import cosines
from anyshot_starting_kit.training.augmentation import augmented
from anyshot_starting_kit.training.clock import Clock, device
from anyshot_starting_kit.training.episodic import Log, Tasks, validate
from anyshot_starting_kit.training.loop import Best, optimise
from anyshot_starting_kit.training.settings import BadSettings, BatchSettings


class Classifier(nn.Module):
    """A backbone with a linear head, and one for the four rotations.

    With `cosine_scale` the head compares by cosine; with `unit_scale` it sees features of unit length. Both are the
    factor of its logits. Of `hidden_layers` before it each is half as wide as the features. The parts that are `still`
    work in training as they do outside of it.
    """

    def __init__(
        self,
        backbone: nn.Module,
        width: int,
        classes: int,
        cosine_scale: float = 0.0,
        unit_scale: float = 0.0,
        hidden_layers: int = 0,
    ) -> None:
        super().__init__()
        self.backbone, self.cosine_scale, self.unit_scale = backbone, cosine_scale, unit_scale
        self.hidden = hidden(width, hidden_layers)
        self.linear = nn.Linear(width // 2 if hidden_layers else width, classes)
        self.rotation = nn.Linear(width, 4)
        self.still: tuple[nn.Module, ...] = ()

    def train(self, mode: bool = True) -> Classifier:
        """Set the mode of all parts but those that are still."""
        super().train(mode)
        for part in self.still:
            part.eval()
        return self

    def scores(self, features: Tensor) -> Tensor:
        """Logits `[n, classes]` of features."""
        features = self.hidden(features)
        if self.cosine_scale:
            return self.cosine_scale * cosines(features, self.linear.weight)
        if self.unit_scale:
            return self.unit_scale * self.linear(normalize(features))
        return self.linear(features)


def hidden(width: int, layers: int) -> nn.Sequential:
    """So many layers of half that width, each with a ReLU; none changes nothing."""
    sizes = [width, *[width // 2] * layers]
    return nn.Sequential(*[part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())])


def train_on_batches(
    classifier: Classifier,
    train: Callable[[int], Iterator[Any]],
    settings: BatchSettings,
    log: Log,
    *,
    valid: Tasks | None = None,
    episodic: nn.Module | None = None,
    clock: Clock | None = None,
) -> Best:
    """Train the classifier; with `valid`, the snapshot is kept in which `episodic` does best on validation tasks.

    `episodic` is a model like those of `train_on_tasks` that shares the classifier's backbone. With `rotations` every
    batch comes in four turns and the turn is recognised too.
    """
    where, clock = device(), clock or Clock(settings.share_for_training)
    if settings.trained_layers:
        _freeze_others(classifier.backbone, settings.trained_layers)
        classifier.still = _frozen_norms(classifier.backbone) if settings.frozen_statistics else ()
    classifier.to(where)

    def turns(batch: Any) -> Iterator[Tensor]:
        images, labels = augmented(batch[0].to(where), settings), batch[1].to(where)
        for turn in range(4 if settings.rotations else 1):
            logits, loss = _loss(classifier, images, labels, turn, settings.rotations)
            if turn == 0:
                log(batch, logits.detach().cpu().numpy(), loss.item())
            yield loss

    def losses() -> Iterator[Iterator[Tensor]]:
        for batch in train(settings.iterations):
            yield turns(batch)

    score = None
    if valid is not None and episodic is not None:
        episodic.to(where)
        score = partial(validate, episodic, valid, settings.validation_tasks, log)
    with drawn_on(where):
        return optimise(classifier, losses(), settings, clock, score)


def _loss(
    classifier: Classifier, images: Tensor, labels: Tensor, turn: int, rotations: bool
) -> tuple[Tensor, Tensor]:
    """Logits of the images in one of four turns, and that turn's part of the loss.

    The parts are those of the mean over all turns (Mangla et al. 2020, section 3.2), one by one, so that a deep network
    needs the memory of one batch and not of four.
    """
    features = classifier.backbone(images.rot90(turn, dims=(2, 3)) if turn else images)
    logits = classifier.scores(features)
    loss = cross_entropy(logits, labels)
    if rotations:
        turns = torch.full_like(labels, turn)
        loss = (loss + cross_entropy(classifier.rotation(features), turns)) / 4
    return logits, loss


def _frozen_norms(backbone: nn.Module) -> tuple[nn.Module, ...]:
    """Batch norm whose weights do not learn."""
    norms = [part for part in backbone.modules() if isinstance(part, nn.BatchNorm2d)]
    return tuple(part for part in norms if not part.weight.requires_grad)


def _freeze_others(backbone: nn.Module, layers: tuple[str, ...]) -> None:
    """Let only the weights in these layers of the network learn."""
    found = set()
    for name, weight in backbone.named_parameters():
        at = name.removeprefix("network.")
        within = {layer for layer in layers if at == layer or at.startswith(f"{layer}.")}
        weight.requires_grad_(bool(within))
        found |= within
    if found != set(layers):
        missing = ", ".join(sorted(set(layers) - found))
        raise BadSettings(f"config.json: method.trained_layers names {missing}, which the backbone lacks.")
