"""Exact squared per-example gradients of a network's weights, averaged over the inputs of each output filter.

Per-example gradients are never stored for the whole network. Each layer turns its input and the gradient at its output
into a number per filter and forgets both; where a layer has few positions, sum_k G_ok^2 = b_o' (A A') b_o comes from
the positions' Gram matrix, which serves all output directions, instead of the gradient G = b A itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional

PassiveModules = (nn.Embedding, nn.EmbeddingBag, nn.Bilinear)


class UnsupportedModule(ValueError):
    """A module with weights for which no exact per-example rule is written here."""


@dataclass
class Tap:
    """One weighted layer during a forward pass: what its rule needs, and the sum of squares per filter."""

    name: str
    squares: Callable[[Tensor], Tensor] = field(init=False)
    total: Tensor | None = None
    calls: int = 0

    def collect(self, gradient: Tensor) -> None:
        """Add the squares for one output direction; `gradient` is at the layer's output, `[B, ...]`."""
        added = self.squares(gradient.detach()).double()
        self.total = added if self.total is None else self.total + added


def positions_rule(columns: Tensor, inputs: int) -> Callable[[Tensor], Tensor]:
    """Rule of a layer whose weight meets `columns` `[B, K, T]`: gradient `[B, O, T]` to mean squares `[O]`.

    The cheaper of two exact ways: the gradient `[B, O, K]` itself, or the Gram matrix of the T positions.
    """
    _, width, places = columns.shape
    if places > width or places * places * 2 > width * places:
        turned = columns.transpose(1, 2)
        return lambda b: torch.bmm(b, turned).square_().sum(dim=(0, 2)) / inputs
    gram = torch.bmm(columns.transpose(1, 2), columns)
    return lambda b: (torch.bmm(b, gram).mul_(b)).sum(dim=(0, 2)) / inputs


def convolution_rule(layer: nn.Conv2d, given: Tensor) -> Callable[[Tensor], Tensor]:
    """Rule of a convolution, groups included; zero padding only."""
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        raise UnsupportedModule(f"a convolution with padding {layer.padding!r}, mode {layer.padding_mode!r}")
    kernel = (layer.kernel_size[0], layer.kernel_size[1])
    columns = functional.unfold(given, kernel, layer.dilation, layer.padding, layer.stride)
    batch, groups, places = len(given), layer.groups, columns.shape[2]
    inputs = layer.in_channels // groups * kernel[0] * kernel[1]
    if groups == 1:
        rule = positions_rule(columns, inputs)
        return lambda b: rule(b.reshape(batch, -1, places))
    rules = [
        positions_rule(part, inputs) for part in columns.reshape(batch, groups, inputs, places).unbind(1)
    ]

    def grouped(b: Tensor) -> Tensor:
        parts = b.reshape(batch, groups, -1, places).unbind(1)
        return torch.cat([rule(part) for rule, part in zip(rules, parts, strict=True)])

    return grouped


def linear_rule(layer: nn.Linear, given: Tensor) -> Callable[[Tensor], Tensor]:
    """Rule of a linear layer on `[B, K]` or `[B, T, K]`."""
    if given.ndim == 2:
        lengths = given.square().sum(dim=1)
        return lambda b: (b.square() * lengths[:, None]).sum(dim=0) / layer.in_features
    rule = positions_rule(given.flatten(1, -2).transpose(1, 2), layer.in_features)
    return lambda b: rule(b.flatten(1, -2).transpose(1, 2))


def channel_rule(normalised: Tensor) -> Callable[[Tensor], Tensor]:
    """Rule of a scale per channel on `[B, C, ...]`: its gradient is the sum over positions of b times the input."""
    flat = normalised.flatten(2) if normalised.ndim > 2 else normalised[:, :, None]
    return lambda b: (b.reshape(flat.shape) * flat).sum(dim=2).square_().sum(dim=0)


def rule_of(layer: nn.Module, given: Tensor) -> Callable[[Tensor], Tensor]:
    """The exact rule of a weighted layer for this input; UnsupportedModule if there is none."""
    if isinstance(layer, nn.Conv2d):
        return convolution_rule(layer, given)
    if isinstance(layer, nn.Linear):
        return linear_rule(layer, given)
    if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
        if layer.running_mean is None or layer.running_var is None or given.ndim == 3:
            raise UnsupportedModule("batch normalisation without running statistics, or on sequences")
        shape = (1, -1, *[1] * (given.ndim - 2))
        scale = (layer.running_var + layer.eps).rsqrt().reshape(shape)
        return channel_rule((given - layer.running_mean.reshape(shape)) * scale)
    if isinstance(layer, nn.GroupNorm):
        return channel_rule(functional.group_norm(given, layer.num_groups, eps=layer.eps))
    if isinstance(layer, nn.LayerNorm) and len(layer.normalized_shape) == 1 and given.ndim in (2, 3):
        rule_input = functional.layer_norm(given, layer.normalized_shape, eps=layer.eps)
        if given.ndim == 2:
            return channel_rule(rule_input)
        rule = channel_rule(rule_input.transpose(1, 2).contiguous())
        return lambda b: rule(b.transpose(1, 2).contiguous())
    raise UnsupportedModule(f"no exact per-example gradient is known for {type(layer).__name__}")


def weighted_layers(network: nn.Module) -> dict[str, nn.Module]:
    """Modules with a trainable `weight`, in the network's order; UnsupportedModule for loose parameters."""
    layers = {}
    for name, module in network.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if not own:
            continue
        if set(own) - {"weight", "bias"} or "weight" not in own or isinstance(module, PassiveModules):
            raise UnsupportedModule(f"{name or type(module).__name__} holds the parameters {sorted(own)}")
        layers[name] = module
    if not layers:
        raise UnsupportedModule("the network has no weights")
    return layers


@contextmanager
def tapped(network: nn.Module) -> Iterator[dict[str, Tap]]:
    """Hooks on every weighted layer of `network` while the context lasts.

    Parameters are frozen and the first layers' outputs become leaves, so that a backward pass computes gradients of
    activations only.
    """
    taps = {name: Tap(name) for name in weighted_layers(network)}
    wanted = {name: p.requires_grad for name, p in network.named_parameters()}
    inplace = [m for m in network.modules() if getattr(m, "inplace", False)]
    handles = [m.register_forward_hook(hook(taps[n])) for n, m in weighted_layers(network).items()]
    training = network.training
    try:
        network.eval().requires_grad_(False)
        for module in inplace:
            vars(module)["inplace"] = False
        yield taps
    finally:
        for handle in handles:
            handle.remove()
        for module in inplace:
            vars(module)["inplace"] = True
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(wanted[name])
        network.train(training)


def hook(tap: Tap) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], Tensor]:
    """Forward hook that prepares the layer's rule and asks for the gradient at its output."""

    def after(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        tap.calls += 1
        if tap.calls > 1:
            raise UnsupportedModule(
                f"{tap.name} is used twice in one pass: its gradients would have to be added first"
            )
        tap.squares = rule_of(module, inputs[0].detach())
        leaf = output if output.requires_grad else output.detach().requires_grad_()
        leaf.register_hook(tap.collect)
        return leaf

    return after


def add_squares(features: Tensor, taps: dict[str, Tap], directions: Tensor) -> None:
    """Backward passes from `features` `[B, F]`, one for each of `directions` `[D, B, F]`; fills the taps."""
    roots = [d.to(features.dtype) for d in directions]
    for position, direction in enumerate(roots):
        features.backward(direction, retain_graph=position + 1 < len(roots))
    for tap in taps.values():
        tap.calls = 0
