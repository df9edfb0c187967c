"""Backbones by name, with random or pretrained weights."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from anyshot_starting_kit.networks.conv4 import Conv4
from anyshot_starting_kit.networks.resnet import ResNet12, ResNet18
from anyshot_starting_kit.networks.weights import MOUNTED, find_weights, load_weights

NAMES = {"conv4": Conv4, "resnet12": ResNet12, "resnet18": ResNet18}
TIMM = "timm:"  # before the name of a model of timm
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and deviation, of images in [0, 1]


class Backbone(nn.Module):
    """A network with the normalisation of its input; `width` is the number of features."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, network: nn.Module, width: int, mean: tuple[float, ...], deviation: tuple[float, ...]):
        super().__init__()
        self.network, self.width = network, width
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(1, 3, 1, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Images `[n, 3, h, w]` in [0, 1] to features `[n, width]`."""
        return self.network((images - self.mean) / self.deviation)


def make_backbone(
    name: str,
    *,
    width: int = 64,
    stem_pool: int = 1,
    weights: str = "",
    submission: Path = Path(),
    mounted: Path = MOUNTED,
) -> Backbone:
    """A backbone: `conv4`, `resnet12`, `resnet18` or `timm:NAME`.

    `width` is the channels of the first block, `stem_pool` shrinks the image first; neither is used with timm.
    `weights` names a file (see `find_weights`), empty for random ones. Raises ValueError for an unknown name,
    MissingWeights, WrongWeights.
    """
    network, features = _network(name, width, stem_pool)
    mean, deviation = _normalisation(name, network)
    if weights:
        load_weights(network, find_weights(weights, submission, mounted))
    return Backbone(network, features, mean, deviation)


def _network(name: str, width: int, stem_pool: int) -> tuple[nn.Module, int]:
    if name in NAMES:
        network = NAMES[name](width, stem_pool)
        return network, network.width
    if not name.startswith(TIMM):
        raise ValueError(f"There is no backbone {name!r}; there are {', '.join(NAMES)} and timm:NAME.")
    import timm

    model = timm.create_model(name.removeprefix(TIMM), pretrained=False, num_classes=0)
    return model, int(getattr(model, "num_features"))  # noqa: B009 - timm does not type it


def _normalisation(name: str, network: nn.Module) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not name.startswith(TIMM):
        return IMAGENET
    described = getattr(network, "pretrained_cfg", {})
    return tuple(described.get("mean", IMAGENET[0])), tuple(described.get("std", IMAGENET[1]))


def use_batch_statistics(network: nn.Module) -> nn.Module:
    """Make every batch norm use the statistics of its batch always, in training as at test time (transductive)."""
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    return network
