"""MAML (Finn et al. 2017), second order, through `torch.func`: whole batches of tasks adapt side by side."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import grad, vmap

from anyshot_analysis.gaussian.perceptron import Parameters, clone, depth, draw_parameters, logits, loss
from anyshot_analysis.gaussian.world import GaussianTasks, draw_tasks

Draw = Callable[[np.random.Generator, int], GaussianTasks]


@dataclass(frozen=True)
class MamlSettings:
    """Inner and outer loop. Training ends when the loss stops falling, judged by the slope of its last `window`."""

    inner_steps: int = 5
    inner_rate: float = 0.1
    rate: float = 1e-3
    meta_batch: int = 8
    iterations: int = 2000
    window: int = 200
    first_order: bool = False


@dataclass(frozen=True)
class Trained:
    """Meta-trained parameters, the training loss of every iteration, and whether it had stopped falling."""

    parameters: Parameters
    losses: NDArray[np.float64]
    converged: bool


def has_converged(losses: list[float], window: int, share: float = 0.01) -> bool:
    """Whether the line through the last `window` losses falls by less than `share` of their mean over the window."""
    if len(losses) < 2 * window:
        return False
    recent = np.asarray(losses[-window:])
    slope = np.polyfit(np.arange(window), recent, 1)[0]
    return bool(-slope * window < share * recent.mean())


def adapt(
    parameters: Parameters,
    x: Tensor,
    y: Tensor,
    steps: int,
    rate: float,
    only: tuple[str, ...] | None = None,
    first_order: bool = False,
) -> Parameters:
    """`steps` gradient steps on one support set; `only` names the parameters that move (default all)."""
    for _ in range(steps):
        slopes = grad(loss)(parameters, x, y)
        parameters = {
            name: value - rate * (slopes[name].detach() if first_order else slopes[name])
            if only is None or name in only
            else value
            for name, value in parameters.items()
        }
    return parameters


def head_names(parameters: Parameters) -> tuple[str, str]:
    """The last layer's parameters."""
    last = depth(parameters) - 1
    return f"weight{last}", f"bias{last}"


def tensors(tasks: GaussianTasks) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Support and query as torch tensors."""
    return (
        torch.from_numpy(np.ascontiguousarray(tasks.support_x)),
        torch.from_numpy(np.ascontiguousarray(tasks.support_y)),
        torch.from_numpy(np.ascontiguousarray(tasks.query_x)),
        torch.from_numpy(np.ascontiguousarray(tasks.query_y)),
    )


def outer_loss(parameters: Parameters, batch: tuple[Tensor, ...], settings: MamlSettings) -> Tensor:
    """Mean query loss after adaptation."""

    def of_task(own: Parameters, sx: Tensor, sy: Tensor, qx: Tensor, qy: Tensor) -> Tensor:
        moved = adapt(
            own, sx, sy, settings.inner_steps, settings.inner_rate, first_order=settings.first_order
        )
        return loss(moved, qx, qy)

    return vmap(of_task, in_dims=(None, 0, 0, 0, 0))(parameters, *batch).mean()


def meta_train(
    draw: Draw,
    widths: tuple[int, ...],
    seed: int,
    settings: MamlSettings = MamlSettings(),
    progress: Callable[[int], None] = lambda done: None,
) -> Trained:
    """Meta-train from random parameters until convergence or `iterations`; `draw` gives tasks for a generator."""
    rng = np.random.default_rng(seed)
    parameters = clone(draw_parameters(widths, seed), trainable=True)
    optimizer = torch.optim.Adam(parameters.values(), settings.rate)
    losses: list[float] = []
    for iteration in range(settings.iterations):
        value = outer_loss(parameters, tensors(draw(rng, settings.meta_batch)), settings)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
        progress(1)
        if iteration % 25 == 0 and has_converged(losses, settings.window):
            break
    return Trained(clone(parameters), np.asarray(losses), has_converged(losses, settings.window))


def adapted_hits(
    parameters: Parameters,
    tasks: GaussianTasks,
    steps: int,
    rate: float,
    only: tuple[str, ...] | None = None,
) -> NDArray[np.float64]:
    """Query accuracy `[T]` after `steps` steps on each task's support from the same start."""

    def of_task(sx: Tensor, sy: Tensor, qx: Tensor, qy: Tensor) -> Tensor:
        moved = adapt(parameters, sx, sy, steps, rate, only)
        return (logits(moved, qx).argmax(dim=1) == qy).float().mean()

    return vmap(of_task)(*tensors(tasks)).detach().numpy().astype(np.float64)


def tasks_of(points: NDArray[np.float32], ways: int = 5, shots: int = 10, query: int = 15) -> Draw:
    """A source of tasks from the points `[classes, n]` of one split."""
    return lambda rng, count: draw_tasks(points, rng, count, ways, shots, query)
