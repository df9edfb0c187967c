"""The settings of a baseline: the object `method` of its `config.json`, read into its own dataclass.

A bundle declares what its method has on top of the groups below, each of which belongs to one part of the kit:

    @dataclass(frozen=True, kw_only=True)
    class MySettings(TaskSettings):
        scale: float = 10.0  # of the cosine

    SETTINGS = MySettings.read(__file__)
"""

import __future__ as future

import ast
import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from anyshot_starting_kit.networks.backbones import TIMM, Backbone, make_backbone


class BadSettings(ValueError):
    """The object `method` in config.json names something unknown or of the wrong type."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """What every bundle with settings has; a subclass adds its own, whose types are those of their defaults."""

    folder: str = "."  # of the submission, where weights are looked for; filled by `read`

    @classmethod
    def read(cls, module: str | Path, **others: Any) -> Self:
        """Those of the config.json beside a module (`MySettings.read(__file__)`). Raises BadSettings."""
        folder = Path(module).resolve().parent
        method = json.loads((folder / "config.json").read_text(encoding="utf-8-sig")).get("method", {})
        return cls.from_dict({**others, **method, "folder": str(folder)})

    @classmethod
    def from_dict(cls, method: dict[str, Any]) -> Self:
        """From plain data; lists become tuples. Raises BadSettings."""
        types = {field.name: type(field.default) for field in fields(cls)}
        return cls(**{key: _checked(key, value, types) for key, value in method.items()})


@dataclass(frozen=True, kw_only=True)
class NetworkSettings(TrainingSettings):
    """The backbone (`anyshot_starting_kit.networks`)."""

    backbone: str = "resnet18"
    width: int = 64
    stem_pool: int = 1  # shrinks images by this factor first
    image_size: int = 0  # or resizes them to so many pixels first
    drop_block: float = 0.0  # of resnet12: the share of its last maps that DropBlock drops in training
    weights: str = (
        ""  # file of pretrained weights, {backbone} in it stands for the name; empty for random ones
    )
    precision: str = "float32"  # or bfloat16: about twice as quick on CPUs and GPUs that compute in it
    compiled: str = ""  # default, reduce-overhead (CUDA graphs) or max-autotune: torch.compile, in training

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
            compiled=self.compiled,
            image_size=self.image_size,
            drop_block=self.drop_block,
        )


@dataclass(frozen=True, kw_only=True)
class LoopSettings(NetworkSettings):
    """Optimiser, schedule and validation (`training.loop`); rates are of Adam unless `optimizer` is `sgd`.

    `iterations` counts tasks or batches, whatever the meta-batch. Times are shares of the budget that
    `budget.remaining()` tells.
    """

    iterations: int = 30_000
    learning_rate: float = 1e-3
    backbone_rate: float = 0.0  # another learning rate for the backbone; 0 for the same
    optimizer: str = "adam"  # or sgd, with momentum 0.9
    schedule: str = "constant"  # cosine, over the iterations or the time, or stairs such as 0(0.1)-20(6e-3)
    epoch_steps: int = 1_000  # steps of the optimiser in an epoch of such stairs
    weight_decay: float = 0.0
    clip: float = 0.0  # norm of the gradient; 0 for no clipping
    meta_batch: int = 1
    validate_every: int = 5_000
    validation_tasks: int = 300
    patience: int = 0  # validation rounds without a better one before training ends; 0 for no early stopping
    share_for_training: float = 0.5
    crops: int = 0  # pixels that training images are shifted by at most, over a black border
    resized_crops: float = (
        0.0  # the least share of a training image that is shown in its place; 0 for all of it
    )
    colours: float = 0.0  # brightness, contrast and saturation are changed by at most this share
    flips: bool = False  # training images are mirrored at random


@dataclass(frozen=True, kw_only=True)
class TaskSettings(LoopSettings):
    """Training on tasks (`training.episodic`)."""

    fixed_supports: bool = False  # FIX-ML


@dataclass(frozen=True, kw_only=True)
class MetricSettings(TaskSettings):
    """A head on the features of a task's images (`training.episodic.EpisodicModel`)."""

    batch_statistics: bool = False  # batch norm by a task's images at test time too
    apart: bool = False  # support and query pass one after the other, each normalised by itself alone


@dataclass(frozen=True, kw_only=True)
class BatchSettings(LoopSettings):
    """Training on batches (`training.batchwise`)."""

    trained_layers: tuple[str, ...] = ()  # the backbone's, such as layer4; empty for all
    frozen_statistics: bool = False  # batch norm of layers that are not trained keeps what it knows
    rotations: bool = False  # the images turned by 90, 180, 270 degrees too; the turn is the second task


@dataclass(frozen=True, kw_only=True)
class EnsembleSettings(BatchSettings):
    """Several backbones, as long as the time lasts (`training.ensembles`)."""

    backbones: tuple[str, ...] = ()  # empty for the one that `backbone` names
    hidden_layers: int = 0  # of the classifier of all classes, each half as wide as the features


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings:
    """Gradient steps of Adam on a support set at test time (`training.adaptation`)."""

    test_steps: int = 100
    test_batch: int = 4
    test_rate: float = 1e-3


def declared_settings(module: Path) -> type[TrainingSettings] | None:
    """The settings class of a bundle's `model.py`, without running the bundle; None where it reads none of the kit's.

    It is the class of `SETTINGS = NAME.read(__file__)`: a group of this module, or a class statement of the bundle on
    top of groups, which is all of it that is executed.
    """
    tree = ast.parse(module.read_text(encoding="utf-8"))
    reader = _reader(tree)
    own = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == reader]
    if not own or not all(isinstance(base, ast.Name) and base.id in GROUPS for base in own[0].bases):
        return GROUPS.get(reader)
    names: dict[str, Any] = {
        **GROUPS,
        "BadSettings": BadSettings,
        "dataclass": dataclass,
        "__name__": __name__,
    }
    code = ast.fix_missing_locations(ast.Module(body=[own[0]], type_ignores=[]))
    exec(compile(code, str(module), "exec", future.annotations.compiler_flag), names)
    return names[reader]


def _reader(tree: ast.Module) -> str:
    """The NAME of `SETTINGS = NAME.read(__file__)`; empty where there is no such line."""
    for node in tree.body:
        match node:  # pyright: ignore[reportMatchNotExhaustive]
            case ast.Assign(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="read"))):
                return name
    return ""


GROUPS: dict[str, Any] = {
    group.__name__: group
    for group in (
        TrainingSettings,
        NetworkSettings,
        LoopSettings,
        TaskSettings,
        MetricSettings,
        BatchSettings,
        EnsembleSettings,
        AdaptationSettings,
    )
}


def _checked(key: str, value: Any, types: dict[str, type]) -> Any:
    if key not in types:
        raise BadSettings(
            f"config.json: method.{key} is unknown; known are {', '.join(sorted(types))}. A setting of your own is a"
            " field of the settings class in model.py."
        )
    wanted = types[key]
    if wanted is tuple and isinstance(value, list | tuple):
        return tuple(value)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise BadSettings(f"config.json: method.{key} is {json.dumps(value)}; expected a {wanted.__name__}.")
    return value
