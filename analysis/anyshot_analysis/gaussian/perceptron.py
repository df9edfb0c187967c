"""A multilayer perceptron as a pure function of its parameters, as `torch.func` wants it."""

import math
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn import functional

Parameters = dict[str, Tensor]


def draw_parameters(widths: tuple[int, ...], seed: int) -> Parameters:
    """Weights and biases of layers `widths[0]` to `widths[-1]`, uniform in +- 1/sqrt(inputs) as torch draws them."""
    generator = torch.Generator().manual_seed(seed)
    parameters: Parameters = {}
    for layer, (inputs, outputs) in enumerate(pairwise(widths)):
        bound = 1 / math.sqrt(inputs)
        weight = torch.rand(outputs, inputs, generator=generator) * 2 - 1
        parameters[f"weight{layer}"] = weight * bound
        parameters[f"bias{layer}"] = (torch.rand(outputs, generator=generator) * 2 - 1) * bound
    return parameters


def depth(parameters: Parameters) -> int:
    """Number of layers."""
    return len(parameters) // 2


def hidden(parameters: Parameters, x: Tensor) -> list[Tensor]:
    """Activations of every layer, the last without a ReLU."""
    found: list[Tensor] = []
    for layer in range(depth(parameters)):
        x = functional.linear(x, parameters[f"weight{layer}"], parameters[f"bias{layer}"])
        if layer + 1 < depth(parameters):
            x = functional.relu(x)
        found.append(x)
    return found


def logits(parameters: Parameters, x: Tensor) -> Tensor:
    """Outputs `[n, ways]`."""
    return hidden(parameters, x)[-1]


def features(parameters: Parameters, x: Tensor) -> Tensor:
    """The last hidden layer `[n, width]`."""
    return hidden(parameters, x)[-2]


def loss(parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy."""
    return functional.cross_entropy(logits(parameters, x), y)


def clone(parameters: Parameters, trainable: bool = False) -> Parameters:
    """A detached copy."""
    return {name: value.detach().clone().requires_grad_(trainable) for name, value in parameters.items()}
