"""Train from scratch: no meta-learning; for each task a fresh network learns from the support set alone."""

# pyright: reportMissingParameterType=false

from copy import deepcopy
from dataclasses import dataclass

import torch
from api import MetaLearner, Predictor
from torch import nn
from torch.nn.functional import cross_entropy

from anyshot_starting_kit.training import AdaptationSettings, ModelLearner, NetworkSettings, adapt, embed
from anyshot_starting_kit.training.clock import Clock, device


@dataclass(frozen=True, kw_only=True)
class MySettings(NetworkSettings, AdaptationSettings):
    """A network, steps at test time, and what the kit of 2022 does otherwise (`kit.json`)."""

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


def adapt_as_2022(module, inputs, labels, settings):
    """As `adapt` of the kit, but an example may be in a batch twice, and a batch is full however few there are."""
    clock = Clock.of_task()
    optimizer = torch.optim.Adam(module.parameters(), lr=settings.test_rate)
    with torch.enable_grad():
        for _ in range(settings.test_steps):
            rows = torch.randint(len(inputs), (settings.test_batch,), device=inputs.device)
            loss = cross_entropy(module(inputs[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if clock.over:
                break
    return module
