"""Pretrained weights: from the submission's own folder, or from the folder that the operator mounts read-only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

MOUNTED = Path("/weights")  # where an operator mounts weights in the sandbox
_HEADS = ("fc.", "classifier.", "head.", "head_drop.")


class MissingWeights(FileNotFoundError):
    """The weights that the settings name are nowhere; the message says where they were looked for."""


class WrongWeights(ValueError):
    """The weights do not belong to this network."""


def find_weights(name: str, submission: Path, mounted: Path = MOUNTED) -> Path:
    """The file `name` in the submission, its folder `weights`, or the operator's folder. Raises MissingWeights."""
    places = [submission / name, submission / "weights" / name, mounted / name]
    for place in places:
        if place.is_file():
            return place
    looked = ", ".join(str(place) for place in places)
    raise MissingWeights(
        f"There are no pretrained weights {name}; looked for {looked}. There is no network where submissions run: put"
        " the file into the zip, ask the operator to mount it, or set method.weights to an empty text in config.json"
        " to start from random weights."
    )


def load_weights(network: nn.Module, file: Path) -> None:
    """Fill the network from a state dict (.pt, .pth or .safetensors); a classifier in the file is left out.

    Raises WrongWeights, naming what is missing or has another shape.
    """
    state = {key: value for key, value in _read(file).items() if not key.startswith(_HEADS)}
    own = network.state_dict()
    missing = sorted(key for key in own if key not in state and not key.endswith("num_batches_tracked"))
    other = sorted(key for key in own if key in state and own[key].shape != state[key].shape)
    foreign = sorted(set(state) - set(own))
    if missing or other or foreign:
        words = [("missing", missing), ("of another shape", other), ("unknown", foreign)]
        found = "; ".join(f"{len(keys)} {word}, such as {keys[0]}" for word, keys in words if keys)
        raise WrongWeights(f"{file.name} does not belong to this {type(network).__name__}: {found}.")
    network.load_state_dict({key: state.get(key, own[key]) for key in own})


def _read(file: Path) -> Mapping[str, Tensor]:
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    content: Any = torch.load(file, map_location="cpu", weights_only=True)
    if isinstance(content, Mapping) and "state_dict" in content:
        content = content["state_dict"]
    if not isinstance(content, Mapping):
        raise WrongWeights(f"{file.name} holds no state dict.")
    return content
