"""The loop that all baselines share: step, validate now and then, keep the best snapshot."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from anyshot_starting_kit.snapshots import Following
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.schedules import make_schedule
from anyshot_starting_kit.training.settings import LoopSettings

ROUND = 1.25  # of the time that a validation round took, the next one may take


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
    losses: Iterable[Iterable[Tensor]],
    settings: LoopSettings,
    clock: Clock,
    score: Callable[[Clock], float | None] | None = None,
) -> Best:
    """Follow the losses until they end, the time is used up or patience is lost.

    An iteration's loss comes in parts whose sum it is; each is differentiated before the next is asked for, so that
    only one of them takes memory. Gradients of a meta-batch are averaged. `score(clock)` is a validation round, None
    where the clock was over before its end; with it the model ends as its best validated snapshot. Pretrained weights
    are validated before the first step too, since training may only spoil them. Training leaves the time for
    one more round, so that what was learned since the last one is validated too. Where a run asks for snapshots,
    they are taken on the way.
    """
    optimizer, best, schedule = make_optimizer(model, settings), Best(), make_schedule(settings)
    rates = [group["lr"] for group in optimizer.param_groups]
    waiting = validated_at = step = 0
    steps = 0  # of the optimiser
    reserve = 0.0  # seconds for a last validation round

    def validate() -> None:
        nonlocal reserve, validated_at
        validated_at, left = step, clock.left
        found = score(clock) if score is not None else None
        if found is not None:
            best.offer(found, model)
            reserve = ROUND * (left - clock.left) if left < math.inf else 0.0
        model.train()

    if settings.weights:
        validate()
    model.train()
    follow = Following(model)
    for step, parts in enumerate(losses, start=1):
        for loss in parts:
            (loss / settings.meta_batch).backward()
            follow.loss(loss)
        waiting += 1
        if waiting == settings.meta_batch:
            _step(model, optimizer, settings.clip)
            waiting, steps = 0, steps + 1
            _set_rates(optimizer, rates, schedule(steps, max(step / settings.iterations, clock.used)))
        follow.at(max(step / settings.iterations, clock.used))
        if step % settings.validate_every == 0:
            validate()
        if clock.left <= reserve or (settings.patience and best.rounds_since >= settings.patience):
            break
    follow.end()
    if step != validated_at and not clock.over:
        validate()
    if best.state:
        model.load_state_dict(best.state)
    model.eval()
    return best


def _set_rates(optimizer: torch.optim.Optimizer, rates: list[float], share: float) -> None:
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * share


def make_optimizer(model: nn.Module, settings: LoopSettings) -> torch.optim.Optimizer:
    """Adam, or SGD with Nesterov's momentum, over what is trained. Raises ValueError for an unknown optimizer."""
    backbone: nn.Module | None = getattr(model, "backbone", None)
    own = set() if backbone is None else set(backbone.parameters())
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trained if p in own], "lr": settings.backbone_rate or settings.learning_rate},
        {"params": [p for p in trained if p not in own], "lr": settings.learning_rate},
    ]
    if settings.optimizer == "adam":
        return torch.optim.Adam(groups, weight_decay=settings.weight_decay)
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=0.9, weight_decay=settings.weight_decay, nesterov=True)
    raise ValueError(f"method.optimizer is {settings.optimizer!r}; there are adam and sgd.")


def _step(model: nn.Module, optimizer: torch.optim.Optimizer, clip: float) -> None:
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad()
