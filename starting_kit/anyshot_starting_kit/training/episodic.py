"""Training on tasks, with validation and the best snapshot."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from anyshot_core.words import decimal_words
from anyshot_starting_kit.episodes.residence import drawn_on
from anyshot_starting_kit.networks.backbones import use_batch_statistics
from anyshot_starting_kit.training.augmentation import augmented
from anyshot_starting_kit.training.clock import Clock, device
from anyshot_starting_kit.training.fixed_supports import FixedSupportGenerator
from anyshot_starting_kit.training.learners import embed
from anyshot_starting_kit.training.loop import Best, optimise
from anyshot_starting_kit.training.settings import MetricSettings, TaskSettings

Log = Callable[..., None]
Tasks = Callable[[int], Iterator[Any]]


class EpisodicModel(nn.Module):
    """A backbone, and a head that is called with (support features, labels, query features, ways).

    Support and query pass the backbone together, normalised by that batch in training and, with `batch_statistics`, at
    test time; without it they then pass chunk by chunk, which a large task needs. With `apart` they are two batches.
    """

    def __init__(self, settings: MetricSettings, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = settings.make_backbone(), head
        self.joint, self.apart = settings.batch_statistics, settings.apart
        if self.joint:
            use_batch_statistics(self.backbone)

    def forward(self, support: Tensor, labels: Tensor, queries: Tensor, ways: int) -> Tensor:
        """Logits `[q, ways]` from images."""
        if self.apart and (self.training or self.joint):
            return self.head(self.backbone(support), labels, self.backbone(queries), ways)
        if self.training or self.joint:
            features = self.backbone(support, queries)
        else:
            features = embed(self.backbone, torch.cat([support, queries]))
        return self.head(features[: len(support)], labels, features[len(support) :], ways)


def train_on_tasks(
    model: nn.Module,
    train: Tasks,
    valid: Tasks | None,
    settings: TaskSettings,
    log: Log,
    clock: Clock | None = None,
) -> nn.Module:
    """Train `model(support images, labels, query images, ways) -> logits`; the best snapshot where there are
    validation datasets, else the last one."""
    where, clock = device(), clock or Clock(settings.share_for_training)
    model.to(where)
    supply = FixedSupportGenerator(train) if settings.fixed_supports else train

    def losses() -> Iterator[list[Tensor]]:
        for task in supply(settings.iterations):
            logits = classify(model, task, where, partial(augmented, settings=settings))
            loss = cross_entropy(logits, task.query_set[1].to(where))
            log(task, logits.detach().cpu().numpy(), loss.item())
            yield [loss]

    score = None if valid is None else partial(validate, model, valid, settings.validation_tasks, log)
    with drawn_on(where):
        _report(optimise(model, losses(), settings, clock, score))
    return model


@torch.no_grad()
def validate(
    model: nn.Module, tasks: Tasks, count: int, log: Log, clock: Clock | None = None
) -> float | None:
    """Mean accuracy over validation tasks, which are the same in every round; None if the clock is over before."""
    model.eval()
    right: list[float] = []
    for task in tasks(count):
        logits = classify(model, task, device()).cpu()
        right.append(float((logits.argmax(dim=1) == task.query_set[1]).float().mean()))
        log(task, logits.numpy(), meta_train=False)
        if clock is not None and clock.over:
            return None
    return sum(right) / max(1, len(right))


def classify(
    model: nn.Module,
    task: Any,
    where: torch.device,
    change: Callable[[Tensor], Tensor] = lambda images: images,
) -> Tensor:
    """Logits of a task's query; `change` is what images pass first."""
    support, labels, queries = task.support_set[0], task.support_set[1], task.query_set[0]
    return model(change(support.to(where)), labels.to(where), change(queries.to(where)), task.num_ways)


def _report(best: Best) -> None:
    if best.state:
        print(f"Best validation accuracy {decimal_words(best.score)}; its snapshot is kept.", flush=True)
