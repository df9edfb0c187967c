"""MAML's inner loop: gradient steps on the support set, through which the outer gradient can flow."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.networks.backbones import use_batch_statistics
from anyshot_starting_kit.training.settings import Settings


class GradientLearner(nn.Module):
    """A backbone and a head that start from meta-learned values and follow the gradient on each task.

    For any number of ways, every class starts from the same learned vector (Ye and Chao 2022, *How to Train Your MAML
    to Excel in Few-Shot Classification*). Batch norm uses the statistics of its batch, as in the original code.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.backbone = settings.make_backbone()
        use_batch_statistics(self.backbone)
        if settings.second_order:
            self.backbone.lay_out(torch.contiguous_format)
        self.start = nn.Parameter(torch.zeros(1, self.backbone.width))

    def forward(self, support: Tensor, labels: Tensor, queries: Tensor, ways: int) -> Tensor:
        """Logits `[q, ways]` after the inner loop (Finn et al. 2017, algorithm 2)."""
        second_order = self.settings.second_order and self.training
        with torch.enable_grad():
            weights = [*self.backbone.parameters(), self.start.expand(ways, -1)]
            for _ in range(self.settings.inner_steps):
                loss = cross_entropy(self._logits(support, weights), labels)
                slopes = torch.autograd.grad(loss, weights, create_graph=second_order)
                weights = [w - self.settings.inner_rate * g for w, g in zip(weights, slopes, strict=True)]
        return self._logits(queries, weights)

    def _logits(self, images: Tensor, weights: list[Tensor]) -> Tensor:
        names = [name for name, _ in self.backbone.named_parameters()]
        features = functional_call(self.backbone, dict(zip(names, weights[:-1], strict=True)), (images,))
        return features @ weights[-1].T
