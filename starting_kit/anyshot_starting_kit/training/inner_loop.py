"""MAML's inner loop: gradient steps on the support set, through which the outer gradient can flow."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.networks.backbones import use_batch_statistics
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.settings import Settings


class GradientLearner(nn.Module):
    """A backbone that starts from meta-learned weights, and a linear head that starts at zero, for any number of ways.

    One learned vector for every class (Ye and Chao 2022, *How to Train Your MAML to Excel in Few-Shot Classification*)
    would be the same: it shifts all scores of an image alike, which no softmax sees. The first step therefore moves
    the head alone, and many steps pay (their section 4). Batch norm uses the statistics of its batch, as in the
    original code.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.backbone = settings.make_backbone()
        use_batch_statistics(self.backbone)
        if settings.second_order:
            self.backbone.lay_out(torch.contiguous_format)

    def forward(self, support: Tensor, labels: Tensor, queries: Tensor, ways: int) -> Tensor:
        """Logits `[q, ways]` after the inner loop (Finn et al. 2017, algorithm 2)."""
        second_order = self.settings.second_order and self.training
        steps, clock = self.settings.inner_steps, None
        if not self.training:
            steps, clock = self.settings.test_inner_steps or steps, Clock.of_task()
        with torch.enable_grad():
            head = torch.zeros(ways, self.backbone.width, device=support.device, requires_grad=True)
            weights = [*self.backbone.parameters(), head]
            for _ in range(steps):
                loss = cross_entropy(self._logits(support, weights), labels)
                slopes = torch.autograd.grad(loss, weights, create_graph=second_order)
                weights = [w - self.settings.inner_rate * g for w, g in zip(weights, slopes, strict=True)]
                if clock is not None and clock.over:
                    break
        return self._logits(queries, weights)

    def _logits(self, images: Tensor, weights: list[Tensor]) -> Tensor:
        names = [name for name, _ in self.backbone.named_parameters()]
        features = functional_call(self.backbone, dict(zip(names, weights[:-1], strict=True)), (images,))
        return features @ weights[-1].T
