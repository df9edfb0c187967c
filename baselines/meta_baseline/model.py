"""Meta-Baseline (Chen et al. 2021): first classify all classes, then meta-learn a scaled cosine nearest centroid."""

from dataclasses import dataclass, replace

import torch
from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import cosines, prototypes
from anyshot_starting_kit.training import (
    BatchSettings,
    Classifier,
    EpisodicModel,
    MetricSettings,
    ModelLearner,
    train_on_batches,
    train_on_tasks,
)
from anyshot_starting_kit.training.clock import Clock


@dataclass(frozen=True, kw_only=True)
class MySettings(MetricSettings, BatchSettings):
    """The first value of the learned temperature."""

    scale: float = 1.0


SETTINGS = MySettings.read(__file__)
STAGE = replace(SETTINGS, iterations=SETTINGS.iterations // 2)
HELD = 16  # tasks whose images are mixed


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
        clock, model = Clock(SETTINGS.share_for_training), EpisodicModel(STAGE, CosineCentroid())
        classifier = Classifier(model.backbone, model.backbone.width, self.total_classes)
        batches, valid = UnionOfClasses(meta_train_generator), meta_valid_generator
        train_on_batches(
            classifier, batches, STAGE, self.log, valid=valid, episodic=model, clock=clock.part(0.5)
        )
        train_on_tasks(model, meta_train_generator, valid, STAGE, self.log, clock=clock)
        return MyLearner(model)


class UnionOfClasses:
    """The images of tasks as batches, mixed over some tasks, labelled by their class in the union of all datasets."""

    def __init__(self, tasks):
        self.tasks, self.numbers = tasks, {}

    def __call__(self, count):
        """So many batches, each as large as a task."""
        held = []
        for number, task in enumerate(self.tasks(count), start=1):
            held.append(self.labelled(task))
            if len(held) == HELD or number == count:
                images, labels = (torch.cat(parts) for parts in zip(*held, strict=True))
                for rows in torch.randperm(len(images)).tensor_split(len(held)):
                    yield [images[rows], labels[rows]]
                held = []

    def labelled(self, task):
        """All images of a task, and the numbers of their classes, counted as they come."""
        originals = torch.cat([task.support_set[2], task.query_set[2]]).tolist()
        keys = [(task.dataset, original) for original in originals]
        numbers = [self.numbers.setdefault(key, len(self.numbers)) for key in keys]
        return torch.cat([task.support_set[0], task.query_set[0]]), torch.tensor(numbers)


class MyLearner(ModelLearner):
    """Averages the features of each class."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, CosineCentroid())
