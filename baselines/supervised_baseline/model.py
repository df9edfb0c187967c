"""The supervised baseline: learn the union of all classes, then classify on the features as they are.

Chen et al. 2021 (*Meta-Baseline*) take the cosine to the class mean and call it Classifier-Baseline, Setlur et al. the
Euclidean distance (SB), Miranda et al. logistic regression (union supervised learning, USL).
"""

from dataclasses import dataclass

from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import cosines, fit_logistic, negative_squared_distances, prototypes
from anyshot_starting_kit.training import (
    BadSettings,
    BatchSettings,
    Classifier,
    ModelLearner,
    embed,
    train_on_batches,
)


@dataclass(frozen=True, kw_only=True)
class MySettings(BatchSettings):
    """What classifies at test time, and how features enter the classifier of all classes."""

    head: str = "cosine"  # or euclidean, logistic
    unit_scale: float = 0.0  # above 0: features of unit length, and logits times this; not used with cosine

    def __post_init__(self):
        """An unknown head is told before training."""
        if self.head not in ("cosine", "euclidean", "logistic"):
            raise BadSettings(
                f"config.json: method.head is {self.head!r}; there are cosine, euclidean, logistic."
            )


SETTINGS = MySettings.read(__file__)
HEADS = {
    "cosine": cosines,
    "euclidean": lambda queries, centres: (
        (SETTINGS.unit_scale or 1.0) * negative_squared_distances(queries, centres)
    ),
}


class OnFeatures(nn.Module):
    """The nearest class mean, or logistic regression, on a backbone that no task changes."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        known, asked = embed(self.backbone, support), embed(self.backbone, queries)
        if SETTINGS.head == "logistic":  # with the penalty that scikit-learn has by default
            weights, bias = fit_logistic(known, labels, ways, strength=1 / len(known))
            return asked @ weights + bias
        return HEADS[SETTINGS.head](asked, prototypes(known, labels, ways))


class MyMetaLearner(MetaLearner):
    """Trains a classifier on batches of the concatenated datasets."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Train the classifier; its head is thrown away."""
        backbone = SETTINGS.make_backbone()
        model = OnFeatures(backbone)
        classifier = Classifier(backbone, backbone.width, self.total_classes, unit_scale=SETTINGS.unit_scale)
        train_on_batches(
            classifier, meta_train_generator, SETTINGS, self.log, valid=meta_valid_generator, episodic=model
        )
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Averages the features of each class."""

    def build(self):
        """The same model, untrained."""
        return OnFeatures(SETTINGS.make_backbone())
