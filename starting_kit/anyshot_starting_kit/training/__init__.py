"""What the baselines train with: settings, loops over tasks and batches, learners that save a network."""

from anyshot_starting_kit.training.adaptation import adapt
from anyshot_starting_kit.training.batchwise import Classifier, train_on_batches
from anyshot_starting_kit.training.ensembles import EnsembleLearner, train_backbones
from anyshot_starting_kit.training.episodic import EpisodicModel, train_on_tasks, validate
from anyshot_starting_kit.training.learners import EpisodePredictor, ModelLearner, embed
from anyshot_starting_kit.training.settings import (
    AdaptationSettings,
    BadSettings,
    BatchSettings,
    EnsembleSettings,
    LoopSettings,
    MetricSettings,
    NetworkSettings,
    TaskSettings,
    TrainingSettings,
)

__all__ = [
    "AdaptationSettings",
    "BadSettings",
    "BatchSettings",
    "Classifier",
    "EnsembleLearner",
    "EnsembleSettings",
    "EpisodePredictor",
    "EpisodicModel",
    "LoopSettings",
    "MetricSettings",
    "ModelLearner",
    "NetworkSettings",
    "TaskSettings",
    "TrainingSettings",
    "adapt",
    "embed",
    "train_backbones",
    "train_on_batches",
    "train_on_tasks",
    "validate",
]
