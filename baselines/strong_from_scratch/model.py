"""A strong entry for the meta-learning league: no pretrained weights.

Backbones learn all classes and the rotations of their images (Mangla et al. 2020), as many as the time allows. A task
is solved on the features of all of them, of each image and its mirror image, by label propagation (Hu et al. 2021).
"""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn
from torch.nn.functional import normalize

from anyshot_starting_kit.networks.heads import power_transform, propagate_labels
from anyshot_starting_kit.training import EnsembleLearner, EnsembleSettings, embed, train_backbones


@dataclass(frozen=True, kw_only=True)
class MySettings(EnsembleSettings):
    """How the query is decoded."""

    sharpness: float = 10.0
    rounds: int = 20


SETTINGS = MySettings.read(__file__)


class JointFeatures(nn.Module):
    """The features of all backbones side by side; the query is decoded once."""

    def __init__(self, backbones):
        super().__init__()
        self.backbones = nn.ModuleList(backbones)

    def describe(self, images):
        """Unit features `[n, d]`: for each backbone the mean over an image and its mirror image."""
        views = [(embed(net, images) + embed(net, images.flip(3))) / 2 for net in self.backbones]
        return normalize(torch.cat([power_transform(view) for view in views], dim=1))

    def forward(self, support, labels, queries, ways):
        """Probabilities `[q, ways]`."""
        features = self.describe(torch.cat([support, queries]))
        features = normalize(features - features.mean(dim=0))
        known, asked = features[: len(support)], features[len(support) :]
        return propagate_labels(
            known, labels, asked, ways, sharpness=SETTINGS.sharpness, rounds=SETTINGS.rounds
        )


class MyMetaLearner(MetaLearner):
    """One backbone after the other, each with an equal part of the time."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Keep of each backbone the snapshot that solves validation tasks best."""
        model = train_backbones(
            JointFeatures, self.total_classes, meta_train_generator, meta_valid_generator, SETTINGS, self.log
        )
        return MyLearner(model)


class MyLearner(EnsembleLearner):
    """Remembers the backbones."""

    settings = SETTINGS

    def assemble(self, backbones):
        """The model of these."""
        return JointFeatures(backbones)
