"""Feature extractors by name: what a command, a report or a reproduction looks at images with."""

from pathlib import Path

import timm
import torch
from torch import Tensor, nn
from torch.nn import functional

from anyshot_analysis.features import FrozenBackbone
from anyshot_starting_kit.networks.conv4 import Conv4

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
PLAIN = ((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


class UnknownBackbone(ValueError):
    """No backbone of this name, or weights that do not fit it."""


class Pixels(nn.Module):
    """The image itself, shrunk to `side` x `side`: what can be told without any learning."""

    def __init__(self, side: int = 12) -> None:
        super().__init__()
        self.side = side

    def forward(self, images: Tensor) -> Tensor:
        """`[b, 3, h, w]` to `[b, 3 side side]`."""
        return functional.adaptive_avg_pool2d(images, self.side).flatten(1)


def make_backbone(
    name: str = "conv4", pixels: int | None = None, weights: Path | None = None, seed: int = 0
) -> FrozenBackbone:
    """`pixels`, `conv4`, `conv4-WIDTH`, or a model of timm such as `resnet18`.

    Weights come from a state dictionary in the file `weights`, else are random by `seed`: this never downloads.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network, size = build(name)
    if weights is not None:
        try:
            network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        except RuntimeError as error:
            raise UnknownBackbone(f"{weights} does not hold weights of {name}: {error}") from error
    own = name == "pixels" or name.startswith("conv4")
    mean, std = PLAIN if own else IMAGENET
    return FrozenBackbone(network.eval(), pixels or size, mean, std)


def build(name: str) -> tuple[nn.Module, int]:
    """An untrained network without a head, and its usual input size."""
    if name == "pixels":
        return Pixels(), 36
    if name == "conv4" or name.startswith("conv4-"):
        width = name.partition("-")[2] or "64"
        if not width.isdigit() or int(width) == 0:
            raise UnknownBackbone(f"conv4-WIDTH needs a number, found {name!r}")
        return Conv4(int(width)), 32
    if name not in timm.list_models():
        raise UnknownBackbone(f"unknown backbone {name!r}: pixels, conv4, conv4-WIDTH or a model of timm")
    return timm.create_model(name, pretrained=False, num_classes=0), 84
