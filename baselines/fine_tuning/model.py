"""Fine-tuning: learn to classify all meta-training classes, then train a new last layer for each task."""

# pyright: reportMissingParameterType=false

from dataclasses import dataclass

import torch
from api import MetaLearner, Predictor
from torch import nn

from anyshot_starting_kit.adaptation_2022 import adapt_as_2022
from anyshot_starting_kit.training import (
    AdaptationSettings,
    BatchSettings,
    Classifier,
    ModelLearner,
    adapt,
    embed,
    train_on_batches,
)
from anyshot_starting_kit.training.clock import device


@dataclass(frozen=True, kw_only=True)
class MySettings(BatchSettings, AdaptationSettings):
    """Training on batches, steps at test time, and what the kit of 2022 does otherwise (`paper.json`)."""

    last_statistics: bool = False  # batch norm knows the last training batch alone
    zero_bias: bool = False  # of the new head
    replacement: bool = False  # batches of the support are drawn with replacement


SETTINGS = MySettings.read(__file__)


class MyMetaLearner(MetaLearner):
    """Trains a classifier on batches of the concatenated datasets."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Train the classifier; its head is thrown away."""
        backbone = SETTINGS.make_backbone()
        if SETTINGS.last_statistics:
            forget_earlier_batches(backbone)
        classifier = Classifier(backbone, backbone.width, self.total_classes)
        learner = MyLearner(backbone)
        judge = FineTuned(learner)
        train_on_batches(
            classifier, meta_train_generator, SETTINGS, self.log, valid=meta_valid_generator, episodic=judge
        )
        return learner


class MyLearner(ModelLearner):
    """Keeps the backbone as it is and trains a linear layer on its features."""

    def build(self):
        """The backbone."""
        return SETTINGS.make_backbone()

    def fit(self, support_set):
        """100 steps of Adam on batches of 4 images."""
        images, labels, _, n_ways, _ = support_set
        head = nn.Linear(self.model.width, n_ways).to(device())
        if SETTINGS.zero_bias:
            nn.init.zeros_(head.bias)
        learn = adapt_as_2022 if SETTINGS.replacement else adapt
        return LinearPredictor(
            self.model, learn(head, embed(self.model, images), labels.to(device()), SETTINGS)
        )


class LinearPredictor(Predictor):
    """The new last layer on the frozen backbone."""

    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    @torch.no_grad()
    def predict(self, query_set):
        """Logits `[n_query, n_ways]`."""
        return self.head(embed(self.backbone, query_set)).cpu().numpy()


class FineTuned(nn.Module):
    """The learner as a model of whole tasks, for validation."""

    def __init__(self, learner):
        super().__init__()
        self.learner = learner

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        return torch.from_numpy(self.learner.fit((support, labels, labels, ways, 0)).predict(queries))


def forget_earlier_batches(network):
    """Let running statistics be those of the last batch."""
    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.momentum = 1.0
