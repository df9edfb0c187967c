"""Train from scratch: no meta-learning; for each task a fresh network learns from the support set alone."""

# pyright: reportMissingParameterType=false

from copy import deepcopy
from dataclasses import dataclass

import torch
from api import MetaLearner, Predictor
from torch import nn

from anyshot_starting_kit.adaptation_2022 import adapt_as_2022
from anyshot_starting_kit.training import AdaptationSettings, ModelLearner, NetworkSettings, adapt, embed
from anyshot_starting_kit.training.clock import device


@dataclass(frozen=True, kw_only=True)
class MySettings(NetworkSettings, AdaptationSettings):
    """A network, steps at test time, and what the kit of 2022 does otherwise (`paper.json`)."""

    batch_statistics: bool = False  # the query is normalised by its own images
    zero_bias: bool = False  # of the new head
    replacement: bool = False  # batches of the support are drawn with replacement


SETTINGS = MySettings.read(__file__)


class MyMetaLearner(MetaLearner):
    """Keeps the initial weights: random, or pretrained ones where `method.weights` names some."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Look at no task."""
        return MyLearner()


class MyLearner(ModelLearner):
    """Trains all weights for some steps on small batches of the support set."""

    def build(self):
        """The backbone."""
        return SETTINGS.make_backbone()

    def fit(self, support_set):
        """100 steps of Adam on batches of 4 images."""
        images, labels, _, n_ways, _ = support_set
        head = nn.Linear(self.model.width, n_ways)
        if SETTINGS.zero_bias:
            nn.init.zeros_(head.bias)
        network = nn.Sequential(deepcopy(self.model), head).to(device()).train()
        learn = adapt_as_2022 if SETTINGS.replacement else adapt
        return TrainedPredictor(learn(network, images.to(device()), labels.to(device()), SETTINGS))


class TrainedPredictor(Predictor):
    """The trained network, with the batch norm statistics of its training, or of the query with `batch_statistics`."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    @torch.no_grad()
    def predict(self, query_set):
        """Logits `[n_query, n_ways]`."""
        if SETTINGS.batch_statistics:  # the whole query is one batch
            return self.network.train()(query_set.to(device())).cpu().numpy()
        return embed(self.network, query_set).cpu().numpy()
