"""Why a trained network loses from base to novel classes and an untrained one does not: a world where it must."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.episodic import train_on_tasks
from anyshot_starting_kit.training.settings import TaskSettings

PIXELS, CLASSES, WAYS, SHOTS, QUERY = 64, 20, 5, 2, 5


@dataclass
class Task:
    support_set: tuple[Tensor, Tensor]
    query_set: tuple[Tensor, Tensor]
    num_ways: int = WAYS
    num_shots: int = SHOTS
    dataset: str = "world"


class World:
    """Each class is a pattern of its own in noise; base and novel patterns are drawn alike."""

    def __init__(self, seed: int) -> None:
        self.random = torch.Generator().manual_seed(1000 + seed)  # not the stream that networks start from
        self.patterns = 0.5 * torch.randn(2 * CLASSES, PIXELS, generator=self.random)

    def tasks(self, first: int, count: int) -> Iterator[Task]:
        """Tasks of the classes from `first` on."""
        for _ in range(count):
            chosen = first + torch.randperm(CLASSES, generator=self.random)[:WAYS]
            yield Task(self.images(chosen, SHOTS), self.images(chosen, QUERY))

    def images(self, chosen: Tensor, each: int) -> tuple[Tensor, Tensor]:
        labels = torch.arange(WAYS).repeat_interleave(each)
        noise = torch.randn(len(labels), PIXELS, generator=self.random)
        return self.patterns[chosen[labels]] + noise, labels


class Prototypes(nn.Module):
    """A linear prototypical network."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Linear(PIXELS, CLASSES, bias=False)

    def forward(self, support: Tensor, labels: Tensor, queries: Tensor, ways: int) -> Tensor:
        centres = prototypes(self.backbone(support), labels, ways)
        return negative_squared_distances(self.backbone(queries), centres)


def accuracy(model: nn.Module, world: World, first: int) -> float:
    """Over 150 tasks."""
    right = []
    with torch.no_grad():
        for task in world.tasks(first, 150):
            logits = model.eval()(*task.support_set, task.query_set[0], WAYS)
            right.append((logits.argmax(dim=1) == task.query_set[1]).float().mean())
    return float(torch.stack(right).mean())


def gap(model: nn.Module, world: World) -> float:
    """What the model loses from base to novel classes."""
    return accuracy(model, world, 0) - accuracy(model, world, CLASSES)


@pytest.mark.slow("trains four small networks")
def test_training_is_what_makes_novel_classes_harder() -> None:
    """Untrained the two sides differ by luck of the classes; what training wins on base classes novel ones lack."""
    untrained, trained = [], []
    settings = TaskSettings(iterations=200, learning_rate=0.01, validate_every=10_000)
    for seed in (1, 2, 3, 4):
        torch.manual_seed(seed)
        world, model = World(seed), Prototypes()
        untrained.append(gap(model, world))
        supply = partial(world.tasks, 0)
        train_on_tasks(model, supply, None, settings, lambda *_, **__: None, Clock(1.0, of=1e6))
        trained.append(gap(model, world))
    assert min(trained) > 0.15 > 3 * abs(sum(untrained) / 4), (untrained, trained)
