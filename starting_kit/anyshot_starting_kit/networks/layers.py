"""What the layers of a network say of images: features that runs export."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

MAP = 4  # maps of convolutions are averaged to at most so many rows and columns
FEATURES = "features"  # what the network itself puts out


def backbone_of(model: nn.Module) -> nn.Module:
    """Where a model's features come from: its backbone, the first of several, or the model itself where it is one."""
    several = getattr(model, "backbones", None)
    return getattr(model, "backbone", model) if several is None else several[0]


@torch.no_grad()
def layers_of(model: nn.Module, images: Tensor) -> dict[str, Tensor]:
    """The output of each part of the network of a model's backbone, in its order, and its features, for images
    `[n, 3, h, w]`.

    Vectors `[n, d]`; maps `[n, channels, rows, columns]`, averaged to at most 4 x 4.
    """
    found: dict[str, Tensor] = {}
    backbone = backbone_of(model)
    network: nn.Module = getattr(backbone, "network", backbone)

    def keep(name: str) -> Any:
        def hook(module: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.ndim in (2, 4) and len(output) == len(images):
                found[name] = _small(output)

        return hook

    hooks = [part.register_forward_hook(keep(name)) for name, part in _parts(network)]
    try:
        found[FEATURES] = _small(backbone(images))
    finally:
        for hook in hooks:
            hook.remove()
    return found


def _parts(network: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Its children by name, those of a sequence each by itself."""
    for name, child in network.named_children():
        if isinstance(child, nn.Sequential):
            yield from ((f"{name}.{inner}", part) for inner, part in child.named_children())
        else:
            yield name, child


def _small(output: Tensor) -> Tensor:
    values = output.detach().float()
    if values.ndim == 4 and max(values.shape[2:]) > MAP:
        values = adaptive_avg_pool2d(values, (min(MAP, values.shape[2]), min(MAP, values.shape[3])))
    return values.cpu()
