"""BaselineCV (Shimabucoro et al.): logistic regression on a frozen backbone, tuned on each task's support set.

With `method.backbone` "timm:NAME" and `method.weights` the backbone is a pretrained one and is not trained further;
with random weights it learns the union of the meta-training classes first.
"""

from dataclasses import dataclass

import torch
from api import MetaLearner
from torch import nn
from torch.nn.functional import normalize

from anyshot_starting_kit.networks.heads import fit_logistic
from anyshot_starting_kit.training import BatchSettings, Classifier, ModelLearner, embed, train_on_batches


@dataclass(frozen=True, kw_only=True)
class MySettings(BatchSettings):
    """What the cross-validation chooses from."""

    strengths: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    folds: int = 5


SETTINGS = MySettings.read(__file__)


class TunedLogisticRegression(nn.Module):
    """The strength of its regularisation is chosen by cross-validation over the support set."""

    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        known, asked = normalize(embed(self.backbone, support)), normalize(embed(self.backbone, queries))
        weights, bias = fit_logistic(known, labels, ways, choose_strength(known, labels, ways))
        return asked @ weights + bias


def choose_strength(features, labels, ways):
    """The best strength over class-interleaved folds, ties to the stronger; the middle one for single shots."""
    folds = min(SETTINGS.folds, int(torch.bincount(labels, minlength=ways).min()))
    if folds < 2:
        return SETTINGS.strengths[len(SETTINGS.strengths) // 2]
    place = torch.zeros_like(labels)
    for way in range(ways):
        place[labels == way] = torch.arange(int((labels == way).sum()), device=labels.device) % folds
    strengths = sorted(SETTINGS.strengths, reverse=True)
    return max(strengths, key=lambda strength: cross_validate(features, labels, ways, strength, place, folds))


def cross_validate(features, labels, ways, strength, place, folds):
    """How many support images are classified rightly when their fold is left out."""
    right = 0
    for fold in range(folds):
        train, test = place != fold, place == fold
        weights, bias = fit_logistic(features[train], labels[train], ways, strength)
        right += int(((features[test] @ weights + bias).argmax(dim=1) == labels[test]).sum())
    return right


class MyMetaLearner(MetaLearner):
    """Trains the backbone where it is not pretrained."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Learn the union of all classes, or take the backbone as it is."""
        backbone = SETTINGS.make_backbone()
        model = TunedLogisticRegression(backbone)
        if not SETTINGS.weights:
            classifier = Classifier(backbone, backbone.width, self.total_classes)
            train_on_batches(
                classifier,
                meta_train_generator,
                SETTINGS,
                self.log,
                valid=meta_valid_generator,
                episodic=model,
            )
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Tunes and fits the logistic regression of each task."""

    def build(self):
        """The same model, untrained."""
        return TunedLogisticRegression(SETTINGS.make_backbone())
