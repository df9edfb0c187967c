"""R2D2 (Bertinetto et al. 2019): ridge regression in closed form is the classifier, differentiated through."""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import ridge_scores
from anyshot_starting_kit.training import EpisodicModel, MetricSettings, ModelLearner, train_on_tasks


@dataclass(frozen=True, kw_only=True)
class MySettings(MetricSettings):
    """The first values of the learned strength and scale."""

    strength: float = 1.0  # of the regularisation
    scale: float = 1.0
    learn_scale: bool = True


SETTINGS = MySettings.read(__file__)


class Ridge(nn.Module):
    """Ridge regression to one-hot labels; its strength and the scale of the scores are learned (section 3.2)."""

    def __init__(self):
        super().__init__()
        self.log_strength = nn.Parameter(torch.tensor(SETTINGS.strength).log())
        self.scale = nn.Parameter(torch.tensor(SETTINGS.scale), requires_grad=SETTINGS.learn_scale)

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]` (eq. 6 and 7); the shift of the paper cancels in the softmax."""
        return self.scale * ridge_scores(support, labels, queries, ways, self.log_strength.exp())


class MyMetaLearner(MetaLearner):
    """Trains the backbone so that ridge regression on its features works."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Minimise the cross-entropy of the query (algorithm 1)."""
        model = EpisodicModel(SETTINGS, Ridge())
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Solves the ridge regression of each task."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, Ridge())
