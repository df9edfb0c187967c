"""Meta-Baseline (Chen et al. 2021): first classify all classes, then meta-learn a scaled nearest centroid.

It compares by cosine; Setlur et al. by the Euclidean distance of features of unit length, with a fixed scale.
"""

from dataclasses import dataclass, replace
from itertools import chain, islice, repeat

import torch
from api import MetaLearner
from torch import nn
from torch.nn.functional import normalize

from anyshot_starting_kit.networks.heads import cosines, negative_squared_distances, prototypes
from anyshot_starting_kit.training import (
    BadSettings,
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
    """How classes are compared, and what the two stages have of their own."""

    head: str = "cosine"  # or euclidean, of features of unit length
    scale: float = 1.0  # the temperature: of the cosine its first value, of the distance the only one
    first_iterations: int = 0  # batches of the first stage out of `iterations`; 0 for half of them
    first_batch: int = (
        0  # images of such a batch, one a step; 0 for as many as a task has, and `meta_batch` a step
    )
    second_rate: float = (
        0.0  # the second stage's own learning rate, which stays; 0 for the first one's and its schedule
    )

    def __post_init__(self):
        """An unknown head is told before training."""
        if self.head not in ("cosine", "euclidean"):
            raise BadSettings(f"config.json: method.head is {self.head!r}; there are cosine, euclidean.")


SETTINGS = MySettings.read(__file__)


def stages(settings):
    """The settings of both stages."""
    first, own = settings.first_iterations or settings.iterations // 2, {}
    second = settings.iterations - first if settings.first_iterations else first
    if settings.second_rate:
        own = {"learning_rate": settings.second_rate, "schedule": "constant"}
    batch = {"meta_batch": 1} if settings.first_batch else {}
    return replace(settings, iterations=first, **batch), replace(settings, iterations=second, **own)


FIRST, SECOND = stages(SETTINGS)
HELD = 16  # tasks whose images are mixed


class NearestCentroid(nn.Module):
    """Cosine to the class means, with a learned temperature (eq. 1 and 2); or the Euclidean distance to them."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SETTINGS.scale), requires_grad=SETTINGS.head == "cosine")

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]`."""
        if SETTINGS.head == "euclidean":
            centres = prototypes(normalize(support), labels, ways)
            return self.scale * negative_squared_distances(normalize(queries), centres)
        return self.scale * cosines(queries, prototypes(support, labels, ways))


class MyMetaLearner(MetaLearner):
    """Two stages, each with its iterations and half of the time."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Whole classification, then tasks."""
        clock, model = Clock(SETTINGS.share_for_training), EpisodicModel(FIRST, NearestCentroid())
        unit = SETTINGS.scale if SETTINGS.head == "euclidean" else 0.0
        classifier = Classifier(model.backbone, model.backbone.width, self.total_classes, unit_scale=unit)
        batches, valid = UnionOfClasses(meta_train_generator), meta_valid_generator
        train_on_batches(
            classifier, batches, FIRST, self.log, valid=valid, episodic=model, clock=clock.part(0.5)
        )
        train_on_tasks(model, meta_train_generator, valid, SECOND, self.log, clock=clock)
        return MyLearner(model)


class UnionOfClasses:
    """The images of tasks as batches, mixed over some tasks, labelled by their class in the union of all datasets."""

    def __init__(self, tasks):
        self.tasks, self.numbers = tasks, {}

    def __call__(self, count):
        """So many batches."""
        return islice(self.sized(count), count) if SETTINGS.first_batch else self.mixed(count)

    def mixed(self, count):
        """The images of so many tasks, in batches each as large as a task."""
        held = []
        for number, task in enumerate(self.tasks(count), start=1):
            held.append(self.labelled(task))
            if len(held) == HELD or number == count:
                images, labels = (torch.cat(parts) for parts in zip(*held, strict=True))
                for rows in torch.randperm(len(images)).tensor_split(len(held)):
                    yield [images[rows], labels[rows]]
                held = []

    def sized(self, count):
        """Batches of the size that the settings name, without end."""
        held, size = [], SETTINGS.first_batch
        for task in chain.from_iterable(self.tasks(count) for _ in repeat(None)):
            held.append(self.labelled(task))
            if sum(len(labels) for _, labels in held) > HELD * size:
                images, labels = (torch.cat(parts) for parts in zip(*held, strict=True))
                *full, rest = torch.randperm(len(images)).split(size)
                yield from ([images[rows], labels[rows]] for rows in full)
                held = [(images[rest], labels[rest])]

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
        return EpisodicModel(SETTINGS, NearestCentroid())
