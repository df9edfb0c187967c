"""The settings of a baseline: the object `method` in its `config.json`, typed."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from anyshot_starting_kit.networks.backbones import TIMM, Backbone, make_backbone


class BadSettings(ValueError):
    """The object `method` in config.json names something unknown or of the wrong type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Defaults are those of the NeurIPS'22 competition paper where it says something.

    Rates are of Adam unless `optimizer` is `sgd` (momentum 0.9). `iterations` counts tasks or batches, whatever the
    meta-batch. Times are shares of the budget that `budget.remaining()` tells.
    """

    folder: str = "."  # of the submission, where weights are looked for; filled by `read`
    # network
    backbone: str = "resnet18"
    backbones: tuple[str, ...] = ()  # an ensemble, as long as the time lasts
    width: int = 64
    stem_pool: int = 1  # shrinks images by this factor first
    weights: str = (
        ""  # file of pretrained weights, {backbone} in it stands for the name; empty for random ones
    )
    precision: str = "float32"  # or bfloat16: about twice as quick on CPUs and GPUs that compute in it
    batch_statistics: bool = False  # batch norm by a task's images at test time too
    # meta-training
    iterations: int = 30_000
    learning_rate: float = 1e-3
    backbone_rate: float = 0.0  # another learning rate for the backbone; 0 for the same
    trained_layers: tuple[
        str, ...
    ] = ()  # the backbone's layers that are trained, such as layer4; empty for all
    optimizer: str = "adam"
    schedule: str = "constant"  # or cosine, over the iterations or the time, whichever ends first
    weight_decay: float = 0.0
    clip: float = 0.0  # norm of the gradient; 0 for no clipping
    meta_batch: int = 1
    validate_every: int = 5_000
    validation_tasks: int = 300
    patience: int = 0  # validation rounds without a better one before training ends; 0 for no early stopping
    share_for_training: float = 0.5
    fixed_supports: bool = False  # FIX-ML
    rotations: bool = (
        False  # the images turned by 90, 180, 270 degrees too, recognising the turn as second task
    )
    flips: bool = False
    # task adaptation
    inner_rate: float = 0.01
    inner_steps: int = 5
    test_inner_steps: int = 0  # at test time; 0 for as many as in training
    second_order: bool = False
    test_steps: int = 100
    test_batch: int = 4
    test_rate: float = 1e-3
    # heads
    scale: float = 1.0  # first value of a learned temperature, or the fixed one of a cosine
    strength: float = 1.0  # of a regularisation
    slack: float = 0.1
    strengths: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # to choose from
    folds: int = 5
    sharpness: float = 10.0
    rounds: int = 20

    @classmethod
    def read(cls, module: str | Path, **others: Any) -> Settings:
        """Those of the config.json beside a module (`Settings.read(__file__)`). Raises BadSettings."""
        folder = Path(module).resolve().parent
        method = json.loads((folder / "config.json").read_text(encoding="utf-8-sig")).get("method", {})
        return cls.from_dict({**others, **method, "folder": str(folder)})

    @classmethod
    def from_dict(cls, method: dict[str, Any]) -> Settings:
        """From plain data; lists become tuples. Raises BadSettings."""
        types = {field.name: type(field.default) for field in fields(cls)}
        return cls(**{key: _checked(key, value, types) for key, value in method.items()})

    def make_backbone(self, name: str = "") -> Backbone:
        """The network that the settings ask for, or another by name. Raises MissingWeights, WrongWeights."""
        name = name or self.backbone
        return make_backbone(
            name,
            width=self.width,
            stem_pool=self.stem_pool,
            weights=self.weights.replace("{backbone}", name.removeprefix(TIMM)),
            submission=Path(self.folder),
            precision=self.precision,
        )


def _checked(key: str, value: Any, types: dict[str, type]) -> Any:
    if key not in types:
        raise BadSettings(f"config.json: method.{key} is unknown; known are {', '.join(sorted(types))}.")
    wanted = types[key]
    if wanted is tuple and isinstance(value, list | tuple):
        return tuple(value)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise BadSettings(f"config.json: method.{key} is {json.dumps(value)}; wanted is a {wanted.__name__}.")
    return value
