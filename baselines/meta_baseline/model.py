"""Meta-Baseline (Chen et al. 2021): first classify all classes, then meta-learn a scaled cosine nearest centroid."""

from dataclasses import replace
from itertools import islice

import torch
from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import cosines, prototypes
from anyshot_starting_kit.training import (
    Classifier,
    EpisodicModel,
    ModelLearner,
    Settings,
    train_on_batches,
    train_on_tasks,
)

SETTINGS = Settings.read(__file__)
STAGE = replace(
    SETTINGS, iterations=SETTINGS.iterations // 2, share_for_training=SETTINGS.share_for_training / 2
)


class CosineCentroid(nn.Module):
    """Cosine to the class means, with a learned temperature (eq. 1 and 2)."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SETTINGS.scale))

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        return self.scale * cosines(queries, prototypes(support, labels, ways))


class MyMetaLearner(MetaLearner):
    """Two stages, each with half of the iterations and of the time."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Whole classification, then tasks."""
        model = EpisodicModel(STAGE, CosineCentroid())
        classifier = Classifier(model.backbone, model.backbone.width, self.total_classes)
        batches = UnionOfClasses(meta_train_generator)
        train_on_batches(classifier, batches, STAGE, self.log, valid=meta_valid_generator, episodic=model)
        train_on_tasks(model, meta_train_generator, meta_valid_generator, STAGE, self.log)
        return MyLearner(model)


class UnionOfClasses:
    """The images of tasks as batches, labelled by their class in the union of all datasets."""

    def __init__(self, tasks):
        self.tasks, self.numbers = tasks, {}

    def __call__(self, count):
        """So many batches."""
        for task in islice(self.tasks(count), count):
            images = torch.cat([task.support_set[0], task.query_set[0]])
            originals = torch.cat([task.support_set[2], task.query_set[2]]).tolist()
            keys = [(task.dataset, original) for original in originals]
            yield [images, torch.tensor([self.numbers.setdefault(key, len(self.numbers)) for key in keys])]


class MyLearner(ModelLearner):
    """Averages the features of each class."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, CosineCentroid())
