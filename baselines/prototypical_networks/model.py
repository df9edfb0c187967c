"""Prototypical Networks (Snell et al. 2017): learn features in which the nearest class mean is the right class."""

from dataclasses import dataclass

from api import MetaLearner
from torch import nn

from anyshot_starting_kit.networks.heads import negative_squared_distances, prototypes
from anyshot_starting_kit.training import EpisodicModel, MetricSettings, ModelLearner, train_on_tasks


@dataclass(frozen=True, kw_only=True)
class MySettings(MetricSettings):
    """A factor of the logits, which the paper has not; Setlur et al. take 10."""

    scale: float = 1.0


SETTINGS = MySettings.read(__file__)


class NearestPrototype(nn.Module):
    """A query image belongs to the class whose mean is nearest."""

    def forward(self, support, labels, queries, ways):
        """Logits `[q, ways]` of query features: minus the squared distance to each prototype (eq. 1 and 2)."""
        return SETTINGS.scale * negative_squared_distances(queries, prototypes(support, labels, ways))


class MyMetaLearner(MetaLearner):
    """Trains the backbone on tasks of the meta-training datasets."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Minimise the cross-entropy of the query (algorithm 1)."""
        model = EpisodicModel(SETTINGS, NearestPrototype())
        train_on_tasks(model, meta_train_generator, meta_valid_generator, SETTINGS, self.log)
        return MyLearner(model)


class MyLearner(ModelLearner):
    """Nothing is trained at test time: the prototypes are the classifier."""

    def build(self):
        """The same model, untrained."""
        return EpisodicModel(SETTINGS, NearestPrototype())
