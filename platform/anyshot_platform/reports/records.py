"""What a report was asked for with and is computed from, as it is stored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from anyshot_core.wire.reports import (
    Audit,
    DifficultyParameters,
    Diversity,
    FlipsParameters,
    PlanParameters,
    Shift,
)


class RunTable(BaseModel):
    """The table of tasks of one run: whose, which run, the file, and the predictions (digest, size) where kept."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    submission: str
    run: int
    digest: str
    size: int
    predictions: tuple[str, int] | None = None


class ReportInputs(BaseModel):
    """The tables that a report on a board is computed from; none for a report on pools."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    runs: tuple[RunTable, ...] = ()


class Earlier(BaseModel):
    """What an earlier release was asked, in its own words: shown, and not computed again."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    analysis: Literal["earlier"] = "earlier"
    name: str
    values: dict[str, JsonValue]


StoredParameters = Annotated[
    FlipsParameters | DifficultyParameters | PlanParameters | Diversity | Audit | Shift | Earlier,
    Field(discriminator="analysis"),
]
