"""Gradient steps on a support set at test time."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.settings import AdaptationSettings


def adapt(
    module: nn.Module,
    inputs: Tensor,
    labels: Tensor,
    settings: AdaptationSettings,
    forward: Callable[..., Tensor] | None = None,
) -> nn.Module:
    """Train all of `module` with Adam on random batches of the support: `test_steps` of `test_batch` at `test_rate`.

    The mode of the module (batch norm) stays as it is; `forward(inputs) -> logits` is the module itself by default.
    Where a task's time is limited, half of it is the most that the steps take.
    """
    clock = Clock.of_task()
    forward = forward or module
    optimizer = torch.optim.Adam(module.parameters(), lr=settings.test_rate)
    size = min(settings.test_batch, len(inputs))
    with torch.enable_grad():
        for _ in range(settings.test_steps):
            rows = torch.randperm(len(inputs), device=inputs.device)[:size]
            loss = cross_entropy(forward(inputs[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if clock.over:
                break
    return module
