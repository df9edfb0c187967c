"""The supervised baseline: learn the union of all classes, then classify by the nearest centroid of features.

Chen et al. 2021 (*Meta-Baseline*) call it Classifier-Baseline, Miranda et al. union supervised learning.
"""

from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import cosines, prototypes
from anyshot_starting_kit.training import BatchSettings, Classifier, ModelLearner, embed, train_on_batches

SETTINGS = BatchSettings.read(__file__)


class NearestCentroid(nn.Module):
    """Cosine to the mean feature of each class, on a backbone that no task changes."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        return cosines(embed(self.backbone, queries), prototypes(embed(self.backbone, support), labels, ways))


class MyMetaLearner(MetaLearner):
    """Trains a classifier on batches of the concatenated datasets."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Train the classifier; its head is thrown away."""
        backbone = SETTINGS.make_backbone()
        model = NearestCentroid(backbone)
        classifier = Classifier(backbone, backbone.width, self.total_classes)
        train_on_batches(
            classifier, meta_train_generator, SETTINGS, self.log, valid=meta_valid_generator, episodic=model
        )
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Averages the features of each class."""

    def build(self):
        """The same model, untrained."""
        return NearestCentroid(SETTINGS.make_backbone())
