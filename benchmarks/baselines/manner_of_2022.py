"""Prototypical training as kits of 2022 did it, for comparison only: each image decoded from its file, a functional
forward pass that names every weight, and a learner that is written and read again around each task."""

import io
from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from anyshot_core.data.pool import Pool
from anyshot_core.protocols.legacy import training_stream
from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from benchmarks.episodes.peer import load_task

Weights = list[Tensor]
Task = tuple[Tensor, Tensor, Tensor, Tensor, int]  # support images and labels, query images and labels, ways


def write_images(pool: Pool, folder: Path) -> list[list[Path]]:
    """Each image as a file, as datasets come; returns their paths by dataset and row."""
    paths = []
    for pack in pool:
        target = folder / pack.name
        target.mkdir()
        own = [target / f"{row}.jpg" for row in range(len(pack))]
        for row, path in enumerate(own):
            Image.fromarray(np.ascontiguousarray(pack.images[row].transpose(1, 2, 0))).save(path, quality=90)
        paths.append(own)
    return paths


def tasks(pool: Pool, paths: list[list[Path]], config: dict[str, int | None], seed: int) -> Generator[Task]:
    """Support images and labels, query images and labels: the same tasks, read file by file."""
    for spec in training_stream(pool, config, seed):
        support, query = map(_shuffled, load_task(paths, spec))
        labels, truth = torch.from_numpy(spec.support_labels), torch.from_numpy(spec.query_labels)
        yield support, labels, query, truth, spec.ways


def _shuffled(images: Tensor) -> Tensor:
    """Their loader puts a set's images in their order after they are loaded, which copies each once more."""
    return images[torch.arange(len(images))]


def make_weights(width: int, device: torch.device | str = "cpu") -> Weights:
    """Conv-4's: convolution, scale and shift of each block."""
    torch.manual_seed(0)
    weights: Weights = []
    for block in range(4):
        weights.append(torch.randn(width, 3 if block == 0 else width, 3, 3) * 0.05)
        weights += [torch.ones(width), torch.zeros(width)]
    return [weight.to(device).requires_grad_() for weight in weights]


def forward(images: Tensor, weights: Weights, stem_pool: int) -> Tensor:
    """Features of images with these weights."""
    maps = functional.avg_pool2d(images, stem_pool) if stem_pool > 1 else images
    for block in range(4):
        kernel, scale, shift = weights[3 * block : 3 * block + 3]
        maps = functional.conv2d(maps, kernel, padding=1)
        maps = functional.batch_norm(maps, None, None, scale, shift, training=True)
        maps = functional.max_pool2d(functional.relu(maps), 2)
    return functional.adaptive_avg_pool2d(maps, 1).flatten(1)


def train(
    supply: Iterator[Task], count: int, width: int, stem_pool: int, device: torch.device | str = "cpu"
) -> None:
    """One step of Adam a task; before each the learner is written and a fresh one reads it, as their loop did."""
    weights = make_weights(width, device)
    optimizer = torch.optim.Adam(weights, lr=1e-3)
    for _ in range(count):
        *tensors, ways = next(supply)
        support, labels, query, truth = (tensor.to(device) for tensor in tensors)
        fast = _reload(weights)
        loss = _loss(fast, support, labels, query, truth, ways, stem_pool)
        slopes = torch.autograd.grad(loss, fast)
        for weight, slope in zip(weights, slopes, strict=True):
            weight.grad = slope
        optimizer.step()


def _reload(weights: Weights) -> Weights:
    memory = io.BytesIO()
    torch.save(weights, memory)
    memory.seek(0)
    return [weight.detach().requires_grad_() for weight in torch.load(memory, weights_only=True)]


def _loss(
    weights: Weights, support: Tensor, labels: Tensor, query: Tensor, truth: Tensor, ways: int, stem_pool: int
) -> Tensor:
    centres = prototypes(forward(support, weights, stem_pool), labels, ways)
    return functional.cross_entropy(
        negative_squared_distances(forward(query, weights, stem_pool), centres), truth
    )
