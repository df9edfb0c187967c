"""The loop that all baselines share: step, validate now and then, keep the best snapshot."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.settings import Settings


@dataclass
class Best:
    """The best snapshot so far, by the score of a validation round; the earliest one wins ties."""

    score: float = float("-inf")
    state: dict[str, Tensor] = field(default_factory=dict)
    rounds_since: int = 0

    def offer(self, score: float, model: nn.Module) -> None:
        """Take it if it is better."""
        self.rounds_since += 1
        if score > self.score:
            self.score, self.rounds_since = score, 0
            self.state = copy.deepcopy(model.state_dict())


def optimise(
    model: nn.Module,
    losses: Iterable[Tensor],
    settings: Settings,
    clock: Clock,
    score: Callable[[], float] | None = None,
) -> Best:
    """Follow the losses, one an iteration, until they end, the time is used up or patience is lost.

    With `score`, the model ends as its best validated snapshot. Gradients of a meta-batch are averaged.
    """
    optimizer, best = make_optimizer(model, settings), Best()
    waiting = validated_at = step = 0
    model.train()
    for step, loss in enumerate(losses, start=1):
        (loss / settings.meta_batch).backward()
        waiting += 1
        if waiting == settings.meta_batch:
            _step(model, optimizer, settings.clip)
            waiting = 0
        if score is not None and step % settings.validate_every == 0:
            best.offer(score(), model)
            model.train()
            validated_at = step
        if clock.over or (settings.patience and best.rounds_since >= settings.patience):
            break
    if score is not None and step != validated_at:
        best.offer(score(), model)
    if best.state:
        model.load_state_dict(best.state)
    model.eval()
    return best


def make_optimizer(model: nn.Module, settings: Settings) -> torch.optim.Optimizer:
    """Adam, or SGD with momentum, over what is trained. Raises ValueError for another name."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if settings.optimizer == "adam":
        return torch.optim.Adam(trained, settings.learning_rate, weight_decay=settings.weight_decay)
    if settings.optimizer == "sgd":
        return torch.optim.SGD(
            trained, settings.learning_rate, momentum=0.9, weight_decay=settings.weight_decay, nesterov=True
        )
    raise ValueError(f"method.optimizer is {settings.optimizer!r}; there are adam and sgd.")


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, clip: float) -> None:
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
