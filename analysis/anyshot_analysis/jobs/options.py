"""Settings that several analyses have, each with its words and its choices."""

from typing import Annotated, Any

from pydantic import BaseModel, Field
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from anyshot_core.wire.reports import PROTOCOL_HELP, Choices

BACKBONES = "pixels, conv4, conv4-WIDTH, or a model of timm such as resnet18"
HEADS = "baseline, baseline++, protonet, r2d2, metaoptnet-svm"

Backbone = Annotated[str, Field(description=f"Network that images become features by: {BACKBONES}.")]
Pixels = Annotated[
    int | None,
    Field(description="Side that images are shrunk to; by default what the network usually takes."),
]
Weights = Annotated[
    str | None,
    Field(description="File of a state dictionary for the network; random weights without it."),
]
Cache = Annotated[str | None, Field(description="Folder that keeps features for the next time.")]
Heads = Annotated[
    tuple[str, ...], Field(description=f"What is fitted on each support set, separated by commas: {HEADS}.")
]
Mixing = Annotated[
    str,
    Field(
        description="How classes are mixed: weighted draws as the papers' code, or a coin for each place as their text."
    ),
    Choices(("weighted", "coin")),
]
Query = Annotated[int, Field(description="Query images of each class.")]
Shots = Annotated[int, Field(description="Support images of each class.")]
Tasks = Annotated[int, Field(description="Tasks that are drawn.")]
Ways = Annotated[int, Field(description="Classes of a task.")]


ProtocolDict = Annotated[dict[str, Any], Field(description=PROTOCOL_HELP)]


def settings_of(kind: type[Any]) -> dict[str, FieldInfo]:
    """The settings that an analysis's `Parameters` take, by name; what only chooses a site's files is none."""
    fields: dict[str, FieldInfo] = (
        kind.model_fields if issubclass(kind, BaseModel) else dataclass(frozen=True)(kind).__pydantic_fields__
    )
    return {name: field for name, field in fields.items() if name != "analysis" and not field.exclude}


def choices_of(field: FieldInfo) -> tuple[str, ...]:
    """The values that a setting takes, where they are a few names."""
    return next((one.names for one in field.metadata if isinstance(one, Choices)), ())
