"""The `competition.yaml` of an Anyshot bundle, version 1.

What a competition is made of, without anything that happens in it: texts, pools by name and digest, leagues,
phases. Every key stands in docs/organizers/competition-file.md; a test holds the two together.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from anyshot_platform.contest.competitions.states import Due, Registration, Visibility
from anyshot_platform.contest.leagues.description import LeagueSpec
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.foundation.schema.parts import Digest, FileName, Key, Part, Title
from anyshot_platform.foundation.schema.quantities import Moment

FORMAT_VERSION = 1
Expiring = Literal["predictions.parquet", "learner.bin", "log.txt", "logger.zip"]
Days = Annotated[int, Field(ge=1, le=36_500)]
SettingsName = Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9-]{0,62})?$")]
WeightsName = Annotated[
    str, Field(max_length=128, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*\.(pt|pth|safetensors))?$")
]


FILES = "files/"  # the folder of a bundle whose content pages can show


class PageSpec(Part):
    title: Title
    file: FileName


class QuestionSpec(Part):
    """A question of the fact sheet that participants fill in with a submission."""

    key: Key
    label: Title
    required: bool = False


class PoolSpec(Part):
    """A pool that phases use; its packs lie in the platform's storage and are found by name and digest."""

    name: Key
    title: str = ""
    description: str = ""
    digest: Digest | None = None
    combines: list[Key] = Field(default=[], description="made of the packs of these pools, in this order")


class BaselineSpec(Part):
    """A marked row of the organizers, out of the ranking."""

    key: Key
    title: Title
    file: FileName | None = Field(default=None, description="a zip or folder in the bundle")
    builtin: FileName | None = Field(default=None, description="a baseline that Anyshot ships")
    settings: SettingsName = Field(
        default="",
        description="of a built-in one: the name of one of its files of settings, such as `paper` (as published), "
        "`within` (within one domain), `pretrained`, `quick`; empty for its own config",
    )
    weights: WeightsName = Field(
        default="",
        description="of a built-in one: the file of the site's weights folder that it starts from; "
        "without the file it is not run",
    )
    leagues: list[Key] = Field(default=[])

    @model_validator(mode="after")
    def _starts_from_what_it_says(self) -> BaselineSpec:
        if self.weights and self.file:
            words = "weights are for a built-in baseline: put the file into the zip of another one"
            raise ValueError(words)
        if self.settings.endswith("pretrained") and self.builtin and not (self.weights or self.file):
            words = f"name the weights that the settings `{self.settings}` start from"
            raise ValueError(words)
        return self


class CompetitionSpec(Part):
    anyshot: Literal[1] = Field(description="version of this format")
    slug: Key
    title: Title
    summary: str = ""
    timezone: str = Field(
        default="UTC",
        description="IANA name, AoE or an offset such as UTC-12; moments without an offset are of this zone",
    )
    logo: FileName | None = None
    contact: str = ""
    terms: FileName | None = None
    pages: list[PageSpec] = Field(default=[])
    registration: Registration = Registration.OPEN
    email_domains: list[str] = Field(default=[])
    team_size: int = Field(default=1, ge=1, le=100, description="largest team; 1 means no teams")
    visibility: Visibility = Field(default=Visibility.PUBLIC, description="who sees it once it is published")
    opens: Moment | None = Field(default=None, description="published before, it is seen from then on")
    discussion: bool = True
    prizes: str = ""
    retention: dict[Expiring, Days] = Field(
        default={}, description="days that files are kept, instead of the site's"
    )
    fact_sheet: list[QuestionSpec] = Field(default=[])
    fact_sheet_from: Due = Due.FINALISTS
    fact_sheet_by: Moment | None = Field(default=None, description="when the fact sheets are due")
    pools: list[PoolSpec] = Field(default=[])
    leagues: list[LeagueSpec] = Field(default=[])
    baselines: list[BaselineSpec] = Field(default=[])
    phases: list[PhaseSpec]
