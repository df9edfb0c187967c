"""Learners whose knowledge is one module, and the predictor of models that see support and query together."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anyshot_starting_kit.api import Learner, Predictor
from anyshot_starting_kit.networks.layers import layers_of
from anyshot_starting_kit.networks.weights import no_weights
from anyshot_starting_kit.training.clock import device

CHUNK = 128  # images at a time through a network whose batch norm does not depend on them


class ModelLearner(Learner):
    """Saves and loads `model`; a bundle's learner says how to build one, and how to fit a task."""

    def __init__(self, model: nn.Module | None = None) -> None:
        super().__init__()
        self._model = None if model is None else model.to(device()).eval()

    @property
    def model(self) -> Any:
        """The model, built when it is first wanted."""
        if self._model is None:
            self._model = self.build().to(device()).eval()
        return self._model

    def build(self) -> nn.Module:
        """An untrained model, to load weights into."""
        raise NotImplementedError

    def save(self, path_to_save: str) -> None:
        """Write the weights."""
        torch.save(self.model.state_dict(), Path(path_to_save) / "model.pt")

    def rebuild(self, folder: Path) -> nn.Module:
        """A model to load the weights in a folder into."""
        return self.build()

    def load(self, path_to_load: str) -> None:
        """Read the weights; pretrained ones are not read for it once more."""
        folder = Path(path_to_load)
        state = torch.load(folder / "model.pt", map_location=device(), weights_only=True)
        with no_weights():
            model = self.rebuild(folder)
        model.load_state_dict(state)
        self._model = model.to(device()).eval()

    def features(self, images: Tensor) -> dict[str, Tensor]:
        """The layers of the model's backbone; runs may export them."""
        return layers_of(self.model, images.to(device()))

    def fit(self, support_set: tuple[Tensor, Tensor, Tensor, int, int]) -> Predictor:
        """Keep the support set for a model `(support images, labels, query images, ways) -> logits`."""
        return EpisodePredictor(self.model, support_set)


class EpisodePredictor(Predictor):
    """Passes support and query through the model together."""

    def __init__(self, model: nn.Module, support_set: tuple[Any, ...]) -> None:
        super().__init__()
        self._model = model
        self._images, self._labels, _, self._ways, _ = support_set

    @torch.no_grad()
    def predict(self, query_set: Tensor) -> np.ndarray:
        """Logits `[n_query, n_ways]`."""
        where = device()
        images, labels = self._images.to(where), self._labels.to(where)
        return self._model(images, labels, query_set.to(where), self._ways).cpu().numpy()


@torch.no_grad()
def embed(network: nn.Module, images: Tensor) -> Tensor:
    """Features `[n, d]` of images, chunk by chunk, on the network's device; the network is in eval mode."""
    network.eval()
    return torch.cat([network(chunk.to(device())) for chunk in images.split(CHUNK)])
