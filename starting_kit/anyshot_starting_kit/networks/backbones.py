"""Backbones by name, with random or pretrained weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from anyshot_starting_kit.networks.conv4 import Conv4
from anyshot_starting_kit.networks.drop_block import add_drop_block
from anyshot_starting_kit.networks.resnet import ResNet12, ResNet18
from anyshot_starting_kit.networks.weights import MOUNTED, find_weights, load_weights
from anyshot_starting_kit.networks.wide_resnet import WideResNet16

NAMES = {"conv4": Conv4, "resnet12": ResNet12, "resnet18": ResNet18, "wrn16": WideResNet16}
TIMM = "timm:"  # before the name of a model of timm
PRECISIONS = ("float32", "bfloat16")
COMPILED = ("", "default", "reduce-overhead", "max-autotune")  # modes of torch.compile; empty for none
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and deviation, of images in [0, 1]

_WIDTHS: dict[str, int] = {}  # of models of timm, once they were asked


class Backbone(nn.Module):
    """A network with the normalisation of its input; `width` is the number of features, `name` what it was made by.

    `stem` changes their size first: shrinking is what makes 128 x 128 affordable on a CPU.

    Images pass it with their channels last in memory, which convolutions on a CPU like best: the same numbers up to
    rounding. With `precision` bfloat16 matrix products are computed in that type where torch's autocast allows it;
    weights and features stay float32. `compiled` is a mode of `torch.compile`, for training alone: test tasks have
    too many shapes.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(
        self,
        network: nn.Module,
        width: int,
        mean: tuple[float, ...],
        deviation: tuple[float, ...],
        precision: str = "float32",
        stem: nn.Module | None = None,
        compiled: str = "",
    ):
        super().__init__()
        if precision not in PRECISIONS:
            raise ValueError(f"method.precision is {precision!r}; there are {' and '.join(PRECISIONS)}.")
        if compiled not in COMPILED:
            raise ValueError(
                f"method.compiled is {compiled!r}; there are {', '.join(filter(None, COMPILED))}."
            )
        self.name, self.width, self.precision, self.compiled = "", width, precision, compiled
        self.stem = stem or nn.Identity()
        self.network = network
        if compiled:
            network.compile(mode=compiled)
        self.lay_out(torch.channels_last)
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1))
        self.register_buffer("deviation", torch.tensor(deviation).view(1, 3, 1, 1))

    def lay_out(self, layout: torch.memory_format) -> None:
        """Keep weights and images in memory so; `torch.contiguous_format` is quicker for gradients of gradients."""
        self.layout = layout
        self.network.to(memory_format=layout)  # pyright: ignore[reportCallIssue] - torch's stub lacks it

    def forward(self, *images: Tensor) -> Tensor:
        """Images `[n, 3, h, w]` in [0, 1] to features `[n, width]`; several sets of them pass as one batch."""
        small = [self.stem(one) for one in images]  # first: that leaves fewer pixels to join and normalise
        joined = torch.cat(small) if len(small) > 1 else small[0]
        shown = ((joined - self.mean) / self.deviation).contiguous(memory_format=self.layout)
        with torch.autocast(shown.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            features = self._compute(shown)
        return features.float()

    def _compute(self, shown: Tensor) -> Tensor:
        if not self.compiled:
            return self.network(shown)
        with torch.compiler.set_stance("default" if self.training else "force_eager"):
            return self.network(shown).clone()  # a CUDA graph writes its next result to the same memory


def make_backbone(
    name: str,
    *,
    width: int = 64,
    stem_pool: int = 1,
    weights: str = "",
    submission: Path = Path(),
    mounted: Path = MOUNTED,
    precision: str = "float32",
    image_size: int = 0,
    drop_block: float = 0.0,
    compiled: str = "",
) -> Backbone:
    """A backbone: `conv4`, `resnet12`, `resnet18`, `wrn16` or `timm:NAME`.

    `width` is the channels of the first block, `stem_pool` shrinks the image first; neither is used with timm.
    Above 0, `image_size` is what images are resized to instead, and `drop_block` the rate of a ResNet-12's DropBlock.
    `weights` names a file (see `find_weights`), empty for random ones. Raises ValueError for an unknown name,
    precision or mode, MissingWeights, WrongWeights.
    """
    network, features = _network(name, width)
    mean, deviation = _normalisation(name, network)
    if weights:
        load_weights(network, find_weights(weights, submission, mounted))
    if drop_block:
        add_drop_block(network, drop_block)
    stem = Resize((image_size, image_size)) if image_size else _stem(name, network, stem_pool)
    backbone = Backbone(network, features, mean, deviation, precision, stem, compiled)
    backbone.name = name
    return backbone


def _network(name: str, width: int) -> tuple[nn.Module, int]:
    if name in NAMES:
        network = NAMES[name](width)
        return network, network.width
    if not name.startswith(TIMM):
        raise ValueError(f"There is no backbone {name!r}; there are {', '.join(NAMES)} and timm:NAME.")
    import timm

    model = timm.create_model(name.removeprefix(TIMM), pretrained=False, num_classes=0)
    if name not in _WIDTHS:  # models name their width by different attributes, and some of them another one
        described = _described(model)
        size = described["input_size"] if described.get("fixed_input_size") else (3, 128, 128)
        with torch.no_grad():
            _WIDTHS[name] = int(model.eval()(torch.zeros(1, *size)).shape[1])
    return model.train(), _WIDTHS[name]


def _described(network: nn.Module) -> Mapping[str, Any]:
    return getattr(network, "pretrained_cfg", {})


def _stem(name: str, network: nn.Module, stem_pool: int) -> nn.Module:
    """What images pass first: shrinking, or for networks of timm that take one size only, resizing to it."""
    if not name.startswith(TIMM):
        return nn.AvgPool2d(stem_pool) if stem_pool > 1 else nn.Identity()
    described = _described(network)
    return Resize(described["input_size"][1:]) if described.get("fixed_input_size") else nn.Identity()


class Resize(nn.Module):
    """Images of any size to one size, smoothly."""

    def __init__(self, size: tuple[int, int]) -> None:
        super().__init__()
        self.size = size

    def forward(self, images: Tensor) -> Tensor:
        """`[n, 3, h, w]` to `[n, 3, *size]`."""
        return interpolate(images, self.size, mode="bilinear", antialias=True)


def _normalisation(name: str, network: nn.Module) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if not name.startswith(TIMM):
        return IMAGENET
    described = _described(network)
    return tuple(described.get("mean", IMAGENET[0])), tuple(described.get("std", IMAGENET[1]))


def use_batch_statistics(network: nn.Module) -> nn.Module:
    """Make every batch norm use the statistics of its batch always, in training as at test time (transductive)."""
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.track_running_stats = False
            module.running_mean = module.running_var = None
    return network
