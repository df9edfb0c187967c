"""MetaOptNet-SVM (Lee et al. 2019): a linear multi-class SVM is the classifier, differentiated through its dual."""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import svm_scores
from anyshot_starting_kit.training import EpisodicModel, MetricSettings, ModelLearner, train_on_tasks


@dataclass(frozen=True, kw_only=True)
class MySettings(MetricSettings):
    """The SVM's slack, and the first value of the learned scale."""

    slack: float = 0.1
    scale: float = 1.0
    learn_scale: bool = True


SETTINGS = MySettings.read(__file__)


class SupportVectors(nn.Module):
    """The SVM of Crammer and Singer with a learned scale of its scores (eq. 12)."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SETTINGS.scale), requires_grad=SETTINGS.learn_scale)

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]` of the dual's solution (eq. 9 to 11)."""
        return self.scale * svm_scores(support, labels, queries, ways, SETTINGS.slack)


class MyMetaLearner(MetaLearner):
    """Trains the backbone so that an SVM on its features generalises."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Minimise the cross-entropy of the query (eq. 12)."""
        model = EpisodicModel(SETTINGS, SupportVectors())
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Solves the SVM of each task."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, SupportVectors())
