"""The way of MetaDelta++, winner of NeurIPS'21 MetaDL (Chen et al. 2021), written from its description.

Backbones are trained one after the other on batches in four rotations, each until validation gets no better, as many
as the time allows; at test time the query is decoded with label propagation by optimal transport.
"""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import power_transform, propagate_labels
from anyshot_starting_kit.training import EnsembleLearner, EnsembleSettings, embed, train_backbones


@dataclass(frozen=True, kw_only=True)
class MySettings(EnsembleSettings):
    """How the query is decoded."""

    sharpness: float = 10.0
    rounds: int = 20
    exact_transport: bool = False  # as the kit of 2022 decodes: by cosines, each set whitened by itself


SETTINGS = MySettings.read(__file__)


class Ensemble(nn.Module):
    """The backbones that there was time for; each decodes the query, and the mean of their answers counts."""

    def __init__(self, backbones):
        super().__init__()
        self.backbones = nn.ModuleList(backbones)

    def forward(self, support, labels, queries, ways):
        """Probabilities `[q, ways]`."""
        return torch.stack([decode(net, support, labels, queries, ways) for net in self.backbones]).mean(
            dim=0
        )


def decode(backbone, support, labels, queries, ways):
    """Whiten by the task's own mean, then propagate the labels of the support to the whole query."""
    sets = embed(backbone, support), embed(backbone, queries)
    rounds, exact = SETTINGS.rounds, SETTINGS.exact_transport
    if exact:
        return propagate_labels(whiten(sets[0]), labels, whiten(sets[1]), ways, rounds=rounds, exact=True)
    known, asked = whiten(power_transform(torch.cat(sets))).split([len(support), len(queries)])
    return propagate_labels(known, labels, asked, ways, sharpness=SETTINGS.sharpness, rounds=rounds)


def whiten(features):
    """Of unit length, seen from their mean."""
    return nn.functional.normalize(features - features.mean(dim=0), dim=1)


class MyMetaLearner(MetaLearner):
    """Decides by the time left how many backbones to train."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Each backbone gets an equal part of the time that is left, and gives back what it does not need."""
        model = train_backbones(
            Ensemble, self.total_classes, meta_train_generator, meta_valid_generator, SETTINGS, self.log
        )
        return MyLearner(model)


class MyLearner(EnsembleLearner):
    """Remembers the backbones."""

    settings = SETTINGS

    def assemble(self, backbones):
        """The model of these."""
        return Ensemble(backbones)
