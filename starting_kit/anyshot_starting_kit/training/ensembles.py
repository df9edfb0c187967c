"""Several backbones, as many as the time allows."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from anyshot_starting_kit.networks.backbones import Backbone
from anyshot_starting_kit.networks.weights import WrongWeights
from anyshot_starting_kit.training.batchwise import Classifier, train_on_batches
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.episodic import Log, Tasks
from anyshot_starting_kit.training.learners import ModelLearner
from anyshot_starting_kit.training.settings import EnsembleSettings

NAMES = "backbones.json"


def train_backbones(
    model: Callable[[Sequence[Backbone]], nn.Module],
    classes: int,
    train: Callable[[int], Iterator[Any]],
    valid: Tasks | None,
    settings: EnsembleSettings,
    log: Log,
) -> nn.Module:
    """`model` of those backbones of `settings.backbones` that there was time for, at least of the first.

    Each learns all classes and gets an equal part of the time that is left, so that what one does not need goes to the
    next; `model([backbone])` is what validation judges. Raises MissingWeights, WrongWeights before any is trained.
    """
    clock, trained, networks = Clock(settings.share_for_training), [], make_backbones(settings)
    while networks and not (trained and clock.over):
        part, backbone = clock.part(1 / len(networks)), networks.pop(0)
        train_on_batches(
            Classifier(backbone, backbone.width, classes, hidden_layers=settings.hidden_layers),
            train,
            settings,
            log,
            valid=valid,
            episodic=model([backbone]),
            clock=part,
        )
        trained.append(backbone.cpu())
    return model(trained)


def make_backbones(settings: EnsembleSettings) -> list[Backbone]:
    """Those of `settings.backbones`; where one file of weights is named for all, those that it fits.

    Raises MissingWeights, and WrongWeights where it fits none.
    """
    made, wrong = [], None
    for name in settings.backbones or (settings.backbone,):
        try:
            made.append(settings.make_backbone(name))
        except WrongWeights as error:
            wrong = error
            print(f"{name} is left out: {error}", flush=True)
    if wrong is not None and not made:
        raise wrong
    return made


class EnsembleLearner(ModelLearner):
    """A learner of a model with `backbones`, a list of networks; which there are is saved beside their weights.

    A bundle's learner says which settings they have and what model they make.
    """

    settings: EnsembleSettings

    def assemble(self, backbones: Sequence[Backbone]) -> nn.Module:
        """The model of these backbones."""
        raise NotImplementedError

    def build(self) -> nn.Module:
        """A model of all backbones."""
        return self.assemble(make_backbones(self.settings))

    def save(self, path_to_save: str) -> None:
        """Write the weights and the backbones' names."""
        super().save(path_to_save)
        backbones: Any = self.model.backbones
        (Path(path_to_save) / NAMES).write_text(json.dumps([network.name for network in backbones]))

    def rebuild(self, folder: Path) -> nn.Module:
        """A model of the backbones that were saved."""
        names = json.loads((folder / NAMES).read_text())
        return self.assemble([self.settings.make_backbone(name) for name in names])
