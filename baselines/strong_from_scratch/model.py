"""A strong entry for the meta-learning league: no pretrained weights.

Backbones learn all classes and the rotations of their images (Mangla et al. 2020), as many as the time allows. A task
is solved on the features of all of them, of each image and its mirror image, by label propagation (Hu et al. 2021).
"""

from dataclasses import replace

import torch
from api import MetaLearner
from torch import nn
from torch.nn.functional import normalize

from anyshot_starting_kit.networks.heads import power_transform, propagate_labels
from anyshot_starting_kit.training import Classifier, ModelLearner, Settings, embed, train_on_batches
from anyshot_starting_kit.training.clock import Clock

SETTINGS = Settings.read(__file__)


class JointFeatures(nn.Module):
    """The features of all backbones side by side; the query is decoded once."""

    def __init__(self, backbones=()):
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
        clock, trained = Clock(SETTINGS.share_for_training), []
        for name in SETTINGS.backbones:
            if clock.over:
                break
            backbone = SETTINGS.make_backbone(name)
            train_on_batches(
                Classifier(backbone, backbone.width, self.total_classes),
                meta_train_generator,
                replace(SETTINGS, share_for_training=SETTINGS.share_for_training / len(SETTINGS.backbones)),
                self.log,
                valid=meta_valid_generator,
                episodic=JointFeatures([backbone]),
            )
            trained.append(backbone)
        return MyLearner(JointFeatures(trained))


class MyLearner(ModelLearner):
    """Remembers the backbones."""

    def build(self):
        """No backbone yet; `load` finds out how many there are."""
        return JointFeatures()

    def load(self, path_to_load):
        """As many backbones as were trained, in their order."""
        state = torch.load(f"{path_to_load}/model.pt", map_location="cpu", weights_only=True)
        count = len({key.split(".")[1] for key in state})
        self.model = JointFeatures([SETTINGS.make_backbone(name) for name in SETTINGS.backbones[:count]])
        super().load(path_to_load)
