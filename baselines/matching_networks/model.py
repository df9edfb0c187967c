"""Matching Networks (Vinyals et al. 2016): a query image is labelled by attention over the support images."""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn
from torch.nn.functional import one_hot

from anyshot_starting_kit.networks.heads import cosines, matching_attention
from anyshot_starting_kit.training import EpisodicModel, MetricSettings, ModelLearner, train_on_tasks


@dataclass(frozen=True, kw_only=True)
class MySettings(MetricSettings):
    """The first value of the learned temperature; or no attention, as the kit of 2022 has it."""

    scale: float = 1.0
    summed: bool = (
        False  # a class's score is the sum of the cosines to its support images, without a softmax over them
    )


SETTINGS = MySettings.read(__file__)


class Attention(nn.Module):
    """Cosine attention, with a learned temperature and without full context embeddings."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SETTINGS.scale))

    def forward(self, support, labels, queries, ways):
        """Log probabilities `[q, ways]` (eq. 1); summed cosines are logits."""
        if SETTINGS.summed:
            return cosines(queries, support) @ one_hot(labels, ways).to(queries)
        return matching_attention(support, labels, queries, ways, self.scale)


class MyMetaLearner(MetaLearner):
    """Trains the backbone under the conditions in which it will be used."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Maximise the probability of the query's labels, task by task (section 2.2)."""
        model = EpisodicModel(SETTINGS, Attention())
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Remembers the support set."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, Attention())
