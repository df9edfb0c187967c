"""The `competition.yaml` of an Anyshot bundle, version 1.

What a competition is made of, without anything that happens in it: texts, pools by name and digest, leagues,
phases. Every key stands in docs/organizers/competition-file.md; a test holds the two together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from anyshot_core.protocols import PROTOCOLS
from anyshot_core.protocols.keys import KEY_PATTERN
from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.bundles.old_rules import one_rule
from anyshot_platform.bundles.quantities import Duration, Moment, Size
from anyshot_platform.competitions.states import Registration
from anyshot_platform.fact_sheets.states import Due
from anyshot_platform.leagues.states import Admission, AwardSplit
from anyshot_platform.phases.states import Audience, BoardShows, PhaseKind, QueryOrder

FORMAT_VERSION = 1
LONGEST = 366 * 86400.0  # seconds of a budget
MOST = 2_000_000_000
LARGEST = 1 << 50  # bytes of memory and space

Key = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Key256 = Annotated[str, StringConstraints(pattern=KEY_PATTERN)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Expiring = Literal["predictions.parquet", "learner.bin", "log.txt", "logger.zip"]
Days = Annotated[int, Field(ge=1, le=36_500)]
Metric = Literal[
    "normalized_accuracy",
    "balanced_accuracy",
    "accuracy",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "duration",
]


WeightsName = Annotated[
    str, Field(max_length=128, pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]*\.(pt|pth|safetensors))?$")
]


class Part(BaseModel):
    """Base of all parts: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


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
    settings: Literal["", "paper", "within", "pretrained", "quick"] = Field(
        default="",
        description="of a built-in one: as published, as within one domain, as published from pretrained weights, "
        "quick, or its own config",
    )
    weights: WeightsName = Field(
        default="",
        description="of a built-in one: the file of the site's weights folder that it starts from; "
        "without the file it is not run",
    )
    leagues: list[Key] = []

    @model_validator(mode="after")
    def _starts_from_what_it_says(self) -> BaselineSpec:
        if self.weights and self.file:
            raise ValueError("weights are for a built-in baseline: put the file into the zip of another one")
        if self.settings == "pretrained" and self.builtin and not (self.weights or self.file):
            raise ValueError("name the weights that the settings `pretrained` start from")
        return self


class ColumnSpec(Part):
    """A further column of a league's board."""

    metric: Metric
    title: str = ""
    decimals: int = Field(default=3, ge=0, le=6)


class LeagueQuestionSpec(Part):
    """What a league asks those who want an entry in it."""

    key: Key
    label: Title
    answer: Literal["confirm", "text", "link"] = "confirm"
    required: bool = True
    shown_to: Literal["organizers", "team"] = "organizers"


class LeagueQuotaSpec(Part):
    """How many submissions of a team may enter the league, beside the phase's quota; null is unlimited."""

    per_day: int | None = Field(default=None, ge=0, le=MOST, description="a UTC day")
    total: int | None = Field(default=None, ge=0, le=MOST, description="in one phase")


class AwardsSpec(Part):
    """Money for a league's first places; teams that tie share the prizes of their places."""

    amounts: list[Annotated[float, Field(gt=0, le=1e9)]] = Field(
        default=[], max_length=100, description="the first place's first"
    )
    currency: Annotated[str, Field(min_length=1, max_length=8)] = "EUR"
    split: AwardSplit = Field(
        default=AwardSplit.EQUALLY, description="between the members, or to the captain"
    )


class LeagueSpec(Part):
    key: Key
    title: Title
    description: str = ""
    admission: Admission = Admission.ALL
    every_member: bool = Field(default=False, description="every member of a team must answer the questions")
    questions: list[LeagueQuestionSpec] = Field(default=[], max_length=20)
    closed_to_newcomers: bool = Field(default=False, description="teams without an entry cannot get one")
    opens: Moment | None = Field(default=None, description="when the league takes its first entries")
    quota: LeagueQuotaSpec | None = None
    prizes: str = Field(default="", description="in words, beside the awards")
    awards: AwardsSpec | None = None
    columns: list[ColumnSpec] = []


class GateSpec(Part):
    """Only entries of the league that beat this score come into the phase."""

    league: Key
    score: float
    note: str = ""


class EntriesSpec(Part):
    """Where the entries of a final phase come from."""

    phase: Key
    gates: list[GateSpec] = []


class QuotaSpec(Part):
    """How much may be submitted; null is unlimited."""

    per_day: int | None = Field(default=2, ge=0, le=MOST, description="a UTC day")
    total: int | None = Field(default=100, ge=0, le=MOST)
    running: int | None = Field(default=2, ge=1, le=MOST, description="queued or running at a time")
    cancelled_counts: bool = True


class BudgetSpec(Part):
    run: Duration = Field(default=3600.0, gt=0, le=LONGEST)
    meta_train: Duration | None = Field(default=None, gt=0, le=LONGEST)
    task: Duration | None = Field(default=None, gt=0, le=LONGEST)
    each_dataset: bool = Field(
        default=False, description="dataset by dataset: each has these times, instead of sharing them equally"
    )


class MachineSpec(Part):
    hardware: Annotated[Key, Field(max_length=32)] = "cpu"
    image: str | None = Field(default=None, max_length=64)
    memory: Size = Field(default=4 << 30, gt=0, le=LARGEST)
    cpus: float = Field(default=1.0, gt=0, le=4096)
    processes: int = Field(default=512, gt=0, le=MOST)
    scratch: Size = Field(default=2 << 30, gt=0, le=LARGEST)
    output: Size = Field(default=64 << 20, gt=0, le=LARGEST)
    gpus: int = Field(default=0, ge=0, le=64)


class TasksSpec(Part):
    """Which hidden tasks a run is tested on, and what it may learn from."""

    meta_train: Key | None = None
    meta_test: Key | None = None
    protocol: dict[str, Any] = Field(default={}, description="as the starting kit's protocols read it")
    count: int = Field(default=100, ge=1, le=10_000_000, description="tasks a run")
    train_seeds: list[Seed] = Field(default=[], max_length=20, description="one a run; its code sees it")
    key: Key256 | None = Field(
        default=None, description="secret, 64 hex digits; tasks, query order and class split follow from it"
    )
    test_seeds: list[Seed] = Field(
        default=[],
        max_length=20,
        description="secret, one a run, instead of the key: for comparison, not for prizes",
    )
    query_order: QueryOrder = Field(
        default=QueryOrder.KEY, description="`key`, or `test_seeds` to make scores of the first release again"
    )
    same_test_tasks: bool = Field(default=False, description="runs differ in the training seed only")
    isolated: bool = Field(default=False, description="each task in a fresh sandbox")
    keep_learner: bool = False
    shards: int = Field(default=1, ge=1, le=64, description="workers that share a run's meta-test")
    each_dataset: bool = Field(
        default=False,
        description="a fresh learner for each dataset, trained and tested on that dataset alone",
    )

    @field_validator("query_order")
    @classmethod
    def _has_seeds(cls, value: QueryOrder, others: ValidationInfo) -> QueryOrder:
        if value == QueryOrder.TEST_SEEDS and not others.data.get("test_seeds"):
            raise ValueError("there are no test_seeds that the order of the query could follow from")
        return value

    @field_validator("each_dataset")
    @classmethod
    def _can_be_split(cls, value: bool, others: ValidationInfo) -> bool:
        protocol = PROTOCOLS.get(str(others.data.get("protocol", {}).get("name", "")))
        if value and (protocol is None or not protocol.splits_datasets):
            able = ", ".join(name for name, kind in PROTOCOLS.items() if kind.splits_datasets)
            raise ValueError(f"dataset by dataset needs a protocol that splits their classes: {able}")
        if value and others.data.get("shards", 1) > 1:
            raise ValueError("dataset by dataset, each dataset is a part already: leave `shards` at 1")
        return value


class ScoringSpec(Part):
    runs: int = Field(default=1, ge=1, le=20, description="seeded runs of an entry")
    ranking: str = Field(default="worst_run", description="a rule of anyshot_scoring.rules")
    board_shows: BoardShows = BoardShows.LAST
    team_chooses: bool = Field(default=False, description="a team may choose which of its submissions counts")

    @model_validator(mode="before")
    @classmethod
    def _without_combine(cls, data: Any) -> Any:
        return one_rule(data) if isinstance(data, dict) and "combine" in data else data


class ShownSpec(Part):
    """What participants see while the phase runs."""

    logs: LogPolicy = LogPolicy.META_TRAIN
    scores: bool = True
    tasks: bool = Field(
        default=False,
        description="rows of single tasks, not only figures by dataset, ways and shots; "
        "closed phases show them always",
    )
    dataset_names: bool = False
    board: Audience = Audience.EVERYONE
    others: bool = Field(default=False, description="others' submissions are listed")
    confusion: bool = False
    after_publishing: bool = Field(default=False, description="nothing before the organizers publish")


class SmokeSpec(Part):
    """The smoke test before an upload: a few tasks of a public pool, without quota. Without a pool there is none."""

    pool: Key | None = None
    tasks: int = Field(default=5, ge=1, le=100)
    budget: Duration = Field(default=120.0, gt=0, le=LONGEST)
    per_day: int | None = Field(default=10, ge=0, le=MOST)


class PhaseSpec(Part):
    key: Key
    title: Title
    description: str = ""
    kind: PhaseKind = PhaseKind.FEEDBACK
    start: Moment
    end: Moment | None = None
    timezone: str | None = Field(default=None, description="instead of the competition's")
    accepts_uploads: bool = True
    priority: int = Field(default=20, ge=0, le=100, description="in the queue; higher goes first")
    tasks: TasksSpec = TasksSpec()
    scoring: ScoringSpec = ScoringSpec()
    budget: BudgetSpec = BudgetSpec()
    machine: MachineSpec = MachineSpec()
    quota: QuotaSpec = QuotaSpec()
    shown: ShownSpec = ShownSpec()
    smoke: SmokeSpec = SmokeSpec()
    entries: EntriesSpec | None = None


class CompetitionSpec(Part):
    anyshot: Literal[1] = Field(description="version of this format")
    slug: Key
    title: Title
    summary: str = ""
    timezone: str = Field(default="UTC", description="IANA name; moments without an offset are of this zone")
    logo: FileName | None = None
    contact: str = ""
    terms: FileName | None = None
    pages: list[PageSpec] = []
    registration: Registration = Registration.OPEN
    email_domains: list[str] = []
    team_size: int = Field(default=1, ge=1, le=100, description="largest team; 1 means no teams")
    discussion: bool = True
    prizes: str = ""
    retention: dict[Expiring, Days] = Field(
        default={}, description="days that files are kept, instead of the site's"
    )
    fact_sheet: list[QuestionSpec] = []
    fact_sheet_from: Due = Due.FINALISTS
    fact_sheet_by: Moment | None = Field(default=None, description="when the fact sheets are due")
    pools: list[PoolSpec] = []
    leagues: list[LeagueSpec] = []
    baselines: list[BaselineSpec] = []
    phases: list[PhaseSpec]
