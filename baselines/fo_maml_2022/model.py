"""First-order MAML as the starting kit of 2022 has it, which is not what `fo_maml` is.

The head for the ways of training is meta-learned; a task with a fresh head (validation and test) begins at random
weights and a bias of zero. Gradients are clipped value by value, in the inner loop and in the outer one, where each
task's count alone. Batch norm uses the statistics of its batch always: support and query are batches of their own.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from api import MetaLearner
from torch import nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.networks.backbones import use_batch_statistics
from anyshot_starting_kit.training import ModelLearner, TaskSettings, train_on_tasks
from anyshot_starting_kit.training.clock import Clock


@dataclass(frozen=True, kw_only=True)
class MySettings(TaskSettings):
    """The inner loop, the largest absolute value of a gradient's entries, and what a task starts from at test time."""

    inner_rate: float = 0.01
    inner_steps: int = 5
    largest_slope: float = 10.0
    batch_statistics: bool = True  # batch norm by the batch at test time too
    zero_bias: bool = True  # of a fresh head


SETTINGS = MySettings.read(__file__)


class GradientLearner(nn.Module):
    """A backbone and a linear head for the ways of training, from which every task departs."""

    def __init__(self, ways):
        super().__init__()
        self.backbone = SETTINGS.make_backbone()
        if SETTINGS.batch_statistics:
            use_batch_statistics(self.backbone)
        self.head = nn.Linear(self.backbone.width, ways)
        for weight in self.parameters():
            # a task's part of the loss is divided by the meta-batch
            weight.register_hook(lambda slope: clip(slope, SETTINGS.largest_slope / SETTINGS.meta_batch))

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]` after the inner loop."""
        head = self.head if self.training else self.fresh_head(ways).to(support.device)
        clock = None if self.training else Clock.of_task()
        with torch.enable_grad():
            weights = [*self.backbone.parameters(), *head.parameters()]
            for _ in range(SETTINGS.inner_steps):
                loss = cross_entropy(self.classify(support, weights), labels)
                slopes = torch.autograd.grad(loss, weights)
                weights = [
                    w - SETTINGS.inner_rate * clip(g, SETTINGS.largest_slope)
                    for w, g in zip(weights, slopes, strict=True)
                ]
                if clock is not None and clock.over:
                    break
        return self.classify(queries, weights)

    def fresh_head(self, ways):
        """A head for the ways of a task at test time."""
        head = nn.Linear(self.backbone.width, ways)
        if SETTINGS.zero_bias:
            nn.init.zeros_(head.bias)
        return head

    def classify(self, images, weights):
        """Logits of images with these weights of the backbone and, last, of the head."""
        names = [name for name, _ in self.backbone.named_parameters()]
        features = functional_call(self.backbone, dict(zip(names, weights[:-2], strict=True)), (images,))
        return features @ weights[-2].T + weights[-1]


def clip(slope, most):
    """Each entry of a gradient within `-most` and `most`."""
    return slope.clamp(-most, most)


class MyMetaLearner(MetaLearner):
    """Learns where to start from; `train_config` asks for a fixed number of ways, `N`."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Outer steps along the gradient of the query loss at the adapted weights."""
        model = GradientLearner(self.train_classes)
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Takes the inner steps on the support set, then classifies the query."""

    def build(self):
        """The same model, untrained."""
        ways = json.loads((Path(SETTINGS.folder) / "config.json").read_text())["train_config"]["N"]
        return GradientLearner(ways)
