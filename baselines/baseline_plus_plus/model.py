"""Baseline++ (Chen et al. 2019): as fine-tuning, but both heads compare by cosine, which keeps classes compact."""

from dataclasses import dataclass

from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import cosines, prototypes
from anyshot_starting_kit.training import (
    AdaptationSettings,
    BatchSettings,
    Classifier,
    ModelLearner,
    adapt,
    embed,
    train_on_batches,
)


@dataclass(frozen=True, kw_only=True)
class MySettings(BatchSettings, AdaptationSettings):
    """The scale of both cosine heads."""

    scale: float = 1.0


SETTINGS = MySettings.read(__file__)


class CosineHead(nn.Module):
    """Scaled cosines to one weight vector a class (section 3.2)."""

    def __init__(self, start):
        super().__init__()
        self.weight = nn.Parameter(start.clone())

    def forward(self, features):
        """Logits `[n, ways]`."""
        return SETTINGS.scale * cosines(features, self.weight)


class FrozenWithCosineHead(nn.Module):
    """A frozen backbone, and a cosine head that is trained on each task's support set, from its class means."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        features = embed(self.backbone, support)
        head = adapt(CosineHead(prototypes(features, labels, ways)), features, labels, SETTINGS)
        return head(embed(self.backbone, queries)).detach()


class MyMetaLearner(MetaLearner):
    """Trains a cosine classifier on batches of the concatenated datasets."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Train the classifier; its head is thrown away."""
        backbone = SETTINGS.make_backbone()
        classifier = Classifier(backbone, backbone.width, self.total_classes, cosine_scale=SETTINGS.scale)
        model = FrozenWithCosineHead(backbone)
        train_on_batches(
            classifier, meta_train_generator, SETTINGS, self.log, valid=meta_valid_generator, episodic=model
        )
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Trains the cosine head of each task."""

    def build(self):
        """The same model, untrained."""
        return FrozenWithCosineHead(SETTINGS.make_backbone())
