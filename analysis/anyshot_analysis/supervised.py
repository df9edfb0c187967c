"""An ordinary image classifier over all classes of a pool: a backbone where no pretrained weights can be had, and
the control of the flip experiments, whose training and test data are i.i.d."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from anyshot_analysis.features import FrozenBackbone
from anyshot_core.data.pool import Pool
from anyshot_starting_kit.networks.conv4 import Conv4


@dataclass(frozen=True)
class SupervisedSettings:
    """Adam with a cosine schedule, random mirror images."""

    width: int = 48
    pixels: int = 32
    epochs: int = 8
    batch: int = 64
    rate: float = 3e-3
    seed: int = 0


def load_images(pool: Pool, backbone: FrozenBackbone) -> tuple[Tensor, NDArray[np.int64]]:
    """All images of a pool at the backbone's size `[n, 3, p, p]`, and class numbers over all datasets."""
    parts = [backbone.prepare(pack.images[i : i + 200]) for pack in pool for i in range(0, len(pack), 200)]
    starts = np.cumsum([0] + [len(pack.classes) for pack in pool])
    labels = np.concatenate([pack.labels + start for pack, start in zip(pool, starts[:-1], strict=True)])
    return torch.cat(parts), labels


def train_supervised(
    pool: Pool,
    settings: SupervisedSettings = SupervisedSettings(),
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[FrozenBackbone, list[float]]:
    """A Conv-4 trained on every class of `pool`; the mean training loss of each epoch beside it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = Conv4(settings.width)
        backbone = FrozenBackbone(network, settings.pixels)
        images, labels = load_images(pool, backbone)
        head = nn.Linear(settings.width, int(labels.max()) + 1)
        losses = fit(network, head, images, torch.from_numpy(labels), settings, progress)
    return FrozenBackbone(network.eval(), settings.pixels), losses


def fit(
    network: nn.Module,
    head: nn.Module,
    images: Tensor,
    labels: Tensor,
    settings: SupervisedSettings,
    progress: Callable[[int], None],
    after_epoch: Callable[[], None] = lambda: None,
) -> list[float]:
    """Train network and head in place; `after_epoch` may look at them, and finds them in training mode."""
    parameters = [*network.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, settings.rate)
    steps = settings.epochs * (len(images) // settings.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses: list[float] = []
    network.train()
    for _ in range(settings.epochs):
        total, order = 0.0, torch.randperm(len(images))
        batches = order[: len(order) // settings.batch * settings.batch].split(settings.batch)
        for rows in batches:
            mirrored = torch.where(torch.rand(len(rows), 1, 1, 1) < 0.5, images[rows], images[rows].flip(3))
            loss = functional.cross_entropy(head(network(mirrored)), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
            progress(1)
        losses.append(total / len(batches))
        after_epoch()
    return losses
