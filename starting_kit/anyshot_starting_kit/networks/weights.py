"""Pretrained weights: from the submission's own folder, or from the folder that the operator mounts read-only."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

# Where an operator mounts weights in the sandbox; a dry run without one says where this machine's are.
MOUNTED = Path(os.environ.get("ANYSHOT_WEIGHTS", "/weights"))
_HEADS = ("fc.", "classifier.", "head.", "head_drop.")


_SKIPPED: ContextVar[bool] = ContextVar("weights are not read", default=False)


@contextmanager
def no_weights() -> Iterator[None]:
    """Networks that are made meanwhile keep their random weights: others will be put in at once."""
    token = _SKIPPED.set(True)
    try:
        yield
    finally:
        _SKIPPED.reset(token)


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
        " the file into the zip, ask the operator to offer it (here: anyshot weights add FILE), or set method.weights"
        " to an empty text in config.json to start from random weights."
    )


def load_weights(network: nn.Module, file: Path) -> None:
    """Fill the network from a state dict (.pt, .pth or .safetensors); a classifier in the file is left out.

    Raises WrongWeights, naming what is missing or has another shape.
    """
    if _SKIPPED.get():
        return
    own = network.state_dict()
    state = {
        key: value for key, value in read_weights(file).items() if key in own or not key.startswith(_HEADS)
    }
    missing = sorted(key for key in own if key not in state and not key.endswith("num_batches_tracked"))
    other = sorted(key for key in own if key in state and own[key].shape != state[key].shape)
    foreign = sorted(set(state) - set(own))
    if missing or other or foreign:
        words = [("missing", missing), ("of another shape", other), ("unknown", foreign)]
        found = "; ".join(f"{len(keys)} {word}, such as {keys[0]}" for word, keys in words if keys)
        raise WrongWeights(f"{file.name} does not belong to this {type(network).__name__}: {found}.")
    network.load_state_dict({key: state.get(key, own[key]) for key in own})


def read_weights(file: Path) -> Mapping[str, Tensor]:
    """The state dict of a file. Raises WrongWeights."""
    if file.suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(file)
        except SafetensorError as error:
            raise WrongWeights(f"{file.name} is no file of safetensors: {error}.") from error
    try:
        content: Any = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # of many kinds, since a foreign file's bytes are read as a program
        raise WrongWeights(
            f"{file.name} is no state dict that torch.save wrote, or it holds other objects than tensors:"
            " save `model.state_dict()`, or use safetensors."
        ) from error
    if isinstance(content, Mapping) and "state_dict" in content:
        content = content["state_dict"]
    if not isinstance(content, Mapping):
        raise WrongWeights(f"{file.name} holds no state dict.")
    return content
