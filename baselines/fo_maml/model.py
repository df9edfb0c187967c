"""First-order MAML (Finn et al. 2017, section 5.2): learn weights from which a few gradient steps solve a task."""

from dataclasses import dataclass

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
    """The inner loop."""

    inner_rate: float = 0.01
    inner_steps: int = 5
    test_inner_steps: int = 0  # at test time; 0 for as many as in training


SETTINGS = MySettings.read(__file__)


class GradientLearner(nn.Module):
    """A backbone that starts from meta-learned weights, and a linear head that starts at zero, for any number of ways.

    One learned vector for every class (Ye and Chao 2022, *How to Train Your MAML to Excel in Few-Shot Classification*)
    would be the same: it shifts all scores of an image alike, which no softmax sees. The first step therefore moves
    the head alone, and many steps pay (their section 4). Batch norm uses the statistics of its batch, as in the
    original code.
    """

    def __init__(self):
        super().__init__()
        self.backbone = SETTINGS.make_backbone()
        use_batch_statistics(self.backbone)

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]` after the inner loop (Finn et al. 2017, algorithm 2)."""
        steps, clock = SETTINGS.inner_steps, None
        if not self.training:
            steps, clock = SETTINGS.test_inner_steps or steps, Clock.of_task()
        with torch.enable_grad():
            head = torch.zeros(ways, self.backbone.width, device=support.device, requires_grad=True)
            weights = [*self.backbone.parameters(), head]
            for _ in range(steps):
                loss = cross_entropy(self.classify(support, weights), labels)
                slopes = torch.autograd.grad(loss, weights)
                weights = [w - SETTINGS.inner_rate * g for w, g in zip(weights, slopes, strict=True)]
                if clock is not None and clock.over:
                    break
        return self.classify(queries, weights)

    def classify(self, images, weights):
        """Logits of images with these weights of the backbone and, last, of the head."""
        names = [name for name, _ in self.backbone.named_parameters()]
        features = functional_call(self.backbone, dict(zip(names, weights[:-1], strict=True)), (images,))
        return features @ weights[-1].T


class MyMetaLearner(MetaLearner):
    """Learns where to start from."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Outer steps along the gradient of the query loss at the adapted weights."""
        model = GradientLearner()
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Takes the inner steps on the support set, then classifies the query."""

    def build(self):
        """The same model, untrained."""
        return GradientLearner()
