"""A phase, described once: the form, competition files, the JSON API, the rows of the database, the difference between
two versions, the tables of the documentation and what workers are sent are read off these fields.

A new setting is a field here, a column in `contest.phases.models` and its migration. A setting that is kept with the
*version* decides what a score is: where there are submissions it changes by a new version only. What a worker has to
know is `sent` in the field of the same name of its assignment.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from anyshot_core.evaluations.registry import read_evaluations
from anyshot_core.exports.requests import MOST_SNAPSHOTS
from anyshot_core.protocols import PROTOCOLS, ProtocolError
from anyshot_core.protocols.keys import KEY_PATTERN
from anyshot_core.protocols.registry import SEEDS
from anyshot_core.wire.jobs import IMAGE_DIGEST, LogPolicy
from anyshot_core.wire.requirements import PACKAGES_IMAGE, packages_image, read_requirements
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.states import (
    AUDIENCE_WORDS,
    BOARD_WORDS,
    KIND_WORDS,
    LOG_WORDS,
    Audience,
    BoardShows,
    PhaseKind,
    RescoreMode,
)
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.schema.parts import LARGEST, LONGEST, MOST, Key, Part, Seed, Title
from anyshot_platform.foundation.schema.quantities import Duration, Moment, Size
from anyshot_platform.foundation.schema.settings import (
    Choices,
    Column,
    Effect,
    Elsewhere,
    Lines,
    Offered,
    Setting,
    Triggers,
    settings_of,
)
from anyshot_scoring.rules import find_rule

Key256 = Annotated[str, Field(pattern=KEY_PATTERN)]
ONE_LEARNER_EACH = "Dataset by dataset there is a learner for each: none that could be tested further."
_VERSIONS = "phase_versions"  # the tables by name: who reads a file needs no database
_Phase = partial(Column, "phases")
_Version = partial(Column, _VERSIONS)
_Sent = partial(Column, _VERSIONS, sent=True)  # to the worker, as it is
_BOARD = Triggers(Effect.BOARD)
# Becomes something else than one column of the version: a pool's version, drawn seeds, the root key.
_VERSION = Triggers(Effect.VERSION)


@dataclass(frozen=True)
class Reusable:
    """A new version with another value can use earlier results again in these ways."""

    ways: frozenset[RescoreMode]


_RETESTED = Reusable(frozenset({RescoreMode.META_TEST}))  # learners belong to their training
_RESCORED = Reusable(frozenset({RescoreMode.META_TEST, RescoreMode.SCORE}))  # predictions to their tasks


class GateSpec(Part):
    """Only entries of the league that beat this score come into the phase."""

    league: Key
    score: float
    note: str = ""


class EntriesSpec(Part):
    """Where the entries of a final phase come from."""

    phase: Annotated[Key, Offered("phases")] = Field(
        title="Entries come from", description="the phase whose standing entries a final phase takes over"
    )
    gates: Annotated[list[GateSpec], Elsewhere()] = Field(default=[], description="one a league")


class QuotaSpec(Part):
    """How much a team may submit. Empty (null) means unlimited. Days are UTC. A platform failure never counts."""

    per_day: Annotated[int | None, _Phase("quota_day")] = Field(default=2, ge=0, le=MOST, title="A day")
    total: Annotated[int | None, _Phase("quota_phase")] = Field(
        default=100, ge=0, le=MOST, title="In the phase"
    )
    running: Annotated[int | None, _Phase("quota_concurrent")] = Field(
        default=2, ge=1, le=MOST, title="At a time", description="queued or running"
    )
    cancelled_counts: Annotated[bool, _Phase("cancelled_counts")] = Field(
        default=True, title="A cancelled submission counts"
    )


class BudgetSpec(Part):
    """Time of the participant's own code. Write it like 5h, 90 min, 30s."""

    run: Annotated[Duration, _Version("run_seconds"), _RETESTED] = Field(
        default=3600.0, gt=0, le=LONGEST, title="Time for a run"
    )
    meta_train: Annotated[Duration | None, _Version("meta_train_seconds")] = Field(
        default=None, gt=0, le=LONGEST, title="Meta-training limit"
    )
    task: Annotated[Duration | None, _Sent("task_seconds"), _RETESTED] = Field(
        default=None, gt=0, le=LONGEST, title="Limit per task", description="fit and predict together"
    )
    each_dataset: Annotated[bool, _Version("budget_each_dataset")] = Field(
        default=False,
        title="Dataset by dataset, each has these times",
        description="otherwise the datasets share them equally",
    )


class MachineSpec(Part):
    """What a run is given."""

    hardware: Annotated[
        Key, Field(max_length=32), _Version("hardware_class"), Offered("hardware"), _RESCORED
    ] = Field(default="cpu", title="Hardware class", description="class of worker, such as cpu or gpu")
    gpus: Annotated[int, _Sent("gpus")] = Field(default=0, ge=0, le=64, title="GPUs")
    packages: Annotated[str, _Version("packages"), Lines(4)] = Field(
        default="",
        max_length=4000,
        title="Packages",
        description="beside those of the sandbox image, one a line, such as “prettytable==3.11.0”; the operator builds "
        "an image with them, and runs wait for it",
    )
    image: Annotated[str | None, _Sent("image"), Offered("images")] = Field(
        default=None,
        validate_default=True,
        max_length=64,
        title="Sandbox image",
        description="one that the operator offers; with packages its name follows from their list",
    )
    image_digest: Annotated[Annotated[str, Field(pattern=IMAGE_DIGEST)] | None, _Sent("image_digest")] = (
        Field(
            default=None,
            title="Pinned to",
            description="digest of the one image, `sha256:` and 64 hex digits, that all runs use, whatever the name "
            "above means to a worker; empty (null): the image of that name. `pin-image` fills in what the workers have",
        )
    )
    memory: Annotated[Size, _Sent("memory_bytes")] = Field(
        default=4 << 30, gt=0, le=LARGEST, title="Memory", description="of the sandbox"
    )
    cpus: Annotated[float, _Sent("cpus")] = Field(default=1.0, gt=0, le=4096, title="CPU cores")
    processes: Annotated[int, _Sent("processes")] = Field(
        default=512, ge=1, le=MOST, title="Processes", description="threads included"
    )
    scratch: Annotated[Size, _Sent("scratch_bytes")] = Field(
        default=2 << 30, gt=0, le=LARGEST, title="Scratch space", description="that the code may write"
    )
    output: Annotated[Size, _Sent("output_bytes")] = Field(
        default=64 << 20, gt=0, le=LARGEST, title="Output and log"
    )

    @field_validator("packages")
    @classmethod
    def _are_packages(cls, value: str) -> str:
        return "\n".join(read_requirements(value))

    @field_validator("image")
    @classmethod
    def _is_of_its_packages(cls, value: str | None, others: ValidationInfo) -> str | None:
        packages: list[str] = others.data.get("packages", "").splitlines()
        named = None if value and PACKAGES_IMAGE.fullmatch(value) else value
        if packages and named:
            raise ValueError(f"packages are added to the release's image: leave {named} out, or the packages")
        return packages_image("gpu" if others.data.get("gpus") else "cpu", packages) if packages else named


class TasksSpec(Part):
    """Which hidden tasks a run is tested on, and what it may learn from."""

    meta_train: Annotated[Key | None, Offered("pools"), _VERSION] = Field(
        default=None, title="Meta-train pool", description="what a run may learn from"
    )
    meta_test: Annotated[Key | None, Offered("pools"), _VERSION, _RETESTED] = Field(
        default=None, title="Meta-test pool", description="hidden from participants"
    )
    protocol: Annotated[dict[str, Any], _Version("protocol"), _RETESTED] = Field(
        default={}, title="Task protocol", description="how tasks are drawn"
    )
    train_protocol: Annotated[dict[str, Any], _Version("train_protocol")] = Field(
        default={},
        title="Training tasks",
        description="the protocol of meta-training, which sees no image that it does not show; without one, as a "
        "submission's config.json asks, of all that the test protocol leaves",
    )
    validation_protocol: Annotated[dict[str, Any], _Version("validation_protocol")] = Field(
        default={},
        title="Validation tasks",
        description="the protocol of validation in meta-training; without one, datasets held out, as config.json asks",
    )
    count: Annotated[int, _Version("tasks"), _RETESTED] = Field(
        default=100, ge=1, le=10_000_000, title="Tasks a run"
    )
    train_seeds: Annotated[list[Seed], _VERSION, Elsewhere()] = Field(
        default=[], max_length=20, description="one a run, drawn where left out; its code sees it"
    )
    key: Annotated[Key256 | None, _VERSION, Elsewhere(), _RETESTED] = Field(
        default=None,
        description="secret, 64 hex digits, drawn where left out: tasks, query order and class split follow from it",
    )
    test_seeds: Annotated[list[Seed], _Version("test_seeds"), Elsewhere(), _RETESTED] = Field(
        default=[],
        max_length=20,
        description="secret, one a run, instead of the key: for comparison, not for prizes",
    )
    same_test_tasks: Annotated[bool, _Version("same_test_tasks"), _RETESTED] = Field(
        default=False,
        title="All runs get the same tasks",
        description="they differ in the training seed only",
    )
    isolated: Annotated[bool, _Sent("isolated_tasks"), _RETESTED] = Field(
        default=False,
        title="Each task in a fresh sandbox",
        description="learning across tasks becomes impossible; slower",
    )
    keep_learner: Annotated[bool, _Sent("keep_learner")] = Field(
        default=False,
        title="Keep the saved learner",
        description="lets a new version repeat the meta-test alone",
    )
    snapshots: Annotated[int, _Sent("snapshots")] = Field(
        default=0,
        ge=0,
        le=MOST_SNAPSHOTS,
        title="Snapshots of training",
        description="so many, two or more; each is tested on base, validation and novel classes (`snapshots.npz`)",
    )
    features: Annotated[bool, _Sent("features")] = Field(
        default=False,
        title="Export features",
        description="the layers of learners that offer them, on images that are tested on (`layers.npz`)",
    )
    estimates: Annotated[bool, _Sent("estimates")] = Field(
        default=False,
        title="Export estimates from support sets",
        description="what cross-validation on its support set says of each task (`estimates.npz`)",
    )
    probabilities: Annotated[bool, _Sent("probabilities")] = Field(
        default=False,
        title="Export probabilities",
        description="of all answers of submissions that return logits or probabilities (`probabilities.npz`)",
    )
    shards: Annotated[int, _Version("shards"), _RETESTED] = Field(
        default=1, ge=1, le=64, title="Workers that share a run's meta-test"
    )
    each_dataset: Annotated[bool, _Version("each_dataset")] = Field(
        default=False,
        title="Dataset by dataset",
        description="a fresh learner for each dataset, trained and tested on that dataset alone; for protocols "
        "that split its classes. Each dataset is a part of the run, for any worker",
    )

    evaluations: Annotated[str, _Phase("evaluations"), Lines(4)] = Field(
        default="",
        max_length=4000,
        title="Further evaluations",
        description="what kept learners are tested on besides, one a line, such as “base” or “mixtures "
        "steps=0,0.5,1 tasks=40”; they never change a ranking",
    )

    @field_validator("evaluations")
    @classmethod
    def _are_evaluations(cls, value: str, others: ValidationInfo) -> str:
        lines = [" ".join(line.split()) for line in value.splitlines() if line.strip()]
        try:
            read_evaluations("\n".join(lines))
        except ProtocolError as error:
            raise ValueError(str(error)) from error
        if lines and others.data.get("each_dataset"):
            raise ValueError(ONE_LEARNER_EACH)
        return "\n".join(lines)

    @model_validator(mode="after")
    def _can_be_exported(self) -> Self:
        asked = [
            name for name in ("snapshots", "features", "estimates", "probabilities") if getattr(self, name)
        ]
        if asked and (self.each_dataset or self.shards > 1):
            words = (
                f"{', '.join(asked)}: what is exported is of a run that one worker carries out "
                "whole, with one learner: leave `each_dataset` and `shards`"
            )
            raise ValueError(words)
        if self.snapshots == 1:
            words = "snapshots: one alone tells nothing of training; two or more, or 0 for none"
            raise ValueError(words)
        return self

    @field_validator("train_protocol", "validation_protocol")
    @classmethod
    def _has_no_split(cls, value: dict[str, Any]) -> dict[str, Any]:
        if found := [name for name in SEEDS if name in value]:
            words = f"leave {', '.join(found)} out: the split is that of `protocol`"
            raise ValueError(words)
        return value

    @field_validator("each_dataset")
    @classmethod
    def _can_be_split(cls, value: bool, others: ValidationInfo) -> bool:
        protocol = PROTOCOLS.get(str(others.data.get("protocol", {}).get("name", "")))
        if value and (protocol is None or not protocol.splits_datasets):
            able = ", ".join(name for name, kind in PROTOCOLS.items() if kind.splits_datasets)
            words = f"dataset by dataset needs a protocol that splits their classes: {able}"
            raise ValueError(words)
        if value and others.data.get("shards", 1) > 1:
            words = "dataset by dataset, each dataset is a part already: leave `shards` at 1"
            raise ValueError(words)
        return value


class ScoringSpec(Part):
    """Which runs count, what is shown, what is ranked by."""

    runs: Annotated[int, _VERSION] = Field(default=1, ge=1, le=20, title="Seeded runs of an entry")
    ranking: Annotated[str, _Version("ranking_rule"), Offered("rules"), _RESCORED] = Field(
        default="worst_run",
        title="Ranking",
        description="decides which runs count, the score and the order; the phase's page says how",
    )
    board_shows: Annotated[BoardShows, _Phase("board_shows"), Choices(BOARD_WORDS), _BOARD] = Field(
        default=BoardShows.LAST,
        title="What counts for a team in each league",
        description="on the board, and into a phase that takes its entries from here",
    )
    ladder_step: Annotated[float, _Phase("ladder_step"), _BOARD] = Field(
        default=0.01,
        gt=0,
        le=0.5,
        title="Step of the Ladder",
        description="what a submission must gain to move its team; about the half width of a score's interval",
    )
    team_chooses: Annotated[bool, _Phase("team_chooses"), _BOARD] = Field(
        default=False,
        title="A team may choose which of its submissions counts",
        description="on its page of leagues, while the phase is open",
    )

    @model_validator(mode="after")
    def _ladder_decides_alone(self) -> Self:
        if self.board_shows == BoardShows.LADDER and self.team_chooses:
            raise ValueError("a Ladder decides by its step alone: teams cannot choose what counts")
        if self.board_shows == BoardShows.LADDER and find_rule(self.ranking).relative:
            words = (
                f"a Ladder compares a team's scores with one another: under `{self.ranking}` "
                "they depend on the others"
            )
            raise ValueError(words)
        return self


class ShownSpec(Part):
    """Of scores, logs, names and of one another, while the phase runs."""

    logs: Annotated[LogPolicy, _Phase("log_policy"), Choices(LOG_WORDS)] = Field(
        default=LogPolicy.META_TRAIN, title="Logs of their runs"
    )
    scores: Annotated[bool, _Phase("scores_visible")] = Field(default=True, title="Their own scores")
    tasks: Annotated[bool, _Phase("tasks_visible")] = Field(
        default=False,
        title="Rows of single tasks while the phase is open",
        description="otherwise figures by dataset, ways and shots until it closes: rows tell which tasks were drawn",
    )
    dataset_names: Annotated[bool, _Phase("hide_dataset_names", negated=True)] = Field(
        default=False, title="Names of hidden datasets"
    )
    board: Annotated[Audience, _Phase("board_audience"), Choices(AUDIENCE_WORDS)] = Field(
        default=Audience.EVERYONE, title="Who sees the board"
    )
    late: Annotated[bool, _Phase("show_late")] = Field(
        default=False,
        title="Late submissions, below a line on the board",
        description="otherwise only their teams see them",
    )
    confusion: Annotated[bool, _Phase("show_confusion")] = Field(
        default=False,
        title="Confusion of classes",
        description="which classes of each dataset a submission mixes up, by number; to its own team",
    )
    evaluations: Annotated[bool, _Phase("evaluations_visible")] = Field(
        default=True,
        title="Further evaluations, where they see scores",
        description="otherwise they are the organizers'",
    )
    exports: Annotated[bool, _Phase("exports_visible")] = Field(
        default=False,
        title="Exported snapshots and estimates, where they see single tasks",
        description="and features and probabilities, where the pool that is tested on is public; otherwise they are "
        "the organizers'",
    )
    after_publishing: Annotated[bool, _Phase("needs_publishing")] = Field(
        default=False,
        title="Nothing before the organizers publish the results",
        description="they publish them on the page “Final phase”, whatever kind of phase it is",
    )


class SmokeSpec(Part):
    """The smoke test before an upload: a few tasks of a public pool, without quota. Without a pool there is none."""

    pool: Annotated[Key | None, Offered("pools")] = Field(
        default=None,
        title="Smoke test on",
        description="a public pool that shares no dataset with a pool that is tested on",
    )
    tasks: Annotated[int, _Phase("smoke_tasks")] = Field(
        default=5, ge=1, le=100, title="Tasks of a smoke test"
    )
    budget: Annotated[Duration, _Phase("smoke_seconds")] = Field(
        default=120.0, gt=0, le=LONGEST, title="Time for a smoke test"
    )
    per_day: Annotated[int | None, _Phase("smoke_quota_day")] = Field(
        default=10,
        ge=0,
        le=MOST,
        title="Smoke tests a day",
        description="a UTC day; empty (null) is unlimited",
    )


class PhaseSpec(Part):
    """A span of time with its own rules, quotas and boards."""

    key: Annotated[Key, _Phase("slug")] = Field(title="Short name in addresses")
    title: Annotated[Title, _Phase("name")] = Field(title="Name")
    description: Annotated[str, _Phase("description"), Lines(2)] = Field(default="", title="Description")
    kind: Annotated[PhaseKind, _Phase("kind"), Choices(KIND_WORDS)] = Field(
        default=PhaseKind.FEEDBACK, title="Kind"
    )
    start: Annotated[Moment, _Phase("starts_at")] = Field(title="Starts", description="first moment")
    end: Annotated[Moment | None, _Phase("ends_at")] = Field(
        default=None, title="Ends", description="empty (null): it stays open"
    )
    timezone: str | None = Field(
        default=None,
        title="Time zone",
        description="of the moments above, such as Europe/Paris, AoE or UTC-12; pages show the end in it. In a file, "
        "the competition's unless it is given",
    )
    accepts_uploads: Annotated[bool, _Phase("accepts_uploads")] = Field(
        default=True, title="Participants may upload"
    )
    grace: Annotated[Duration, _Phase("grace_seconds")] = Field(
        default=900.0,
        ge=0,
        le=86_400,
        title="Grace at the end",
        description="an upload that began before the end counts if it is complete within this time after it",
    )
    late_until: Annotated[Moment | None, _Phase("late_until")] = Field(
        default=None,
        title="Late submissions until",
        description="a moment after the end; late ones are scored and never ranked. Empty (null): none are taken",
    )
    priority: Annotated[int, _Phase("priority")] = Field(
        default=priorities.FEEDBACK,
        ge=0,
        le=priorities.ORGANIZERS_MOST,
        title="Priority in the queue",
        description="among the competition's phases: higher goes first; smoke tests and finals go before all",
    )
    tasks: TasksSpec = Field(default=TasksSpec(), title="Data and tasks")
    scoring: ScoringSpec = Field(default=ScoringSpec(), title="Scores and board")
    budget: BudgetSpec = Field(default=BudgetSpec(), title="Time")
    machine: MachineSpec = Field(default=MachineSpec(), title="Machine")
    quota: QuotaSpec = Field(default=QuotaSpec(), title="Quotas")
    shown: ShownSpec = Field(default=ShownSpec(), title="What participants see")
    smoke: SmokeSpec = Field(default=SmokeSpec(), title="Smoke test")
    entries: EntriesSpec | None = Field(default=None, title="Entries")


SETTINGS: tuple[Setting, ...] = settings_of(PhaseSpec)


def label_of(path: str) -> str:
    """What the form of a phase calls a setting, with its card: `Quotas > A day`; the path itself where it is none."""
    setting = next((one for one in SETTINGS if one.path == path), None)
    if setting is None:
        part = PhaseSpec.model_fields.get(path)
        return part.title if part and part.title else path
    card = PhaseSpec.model_fields[path.rpartition(".")[0]].title if "." in path else ""
    return f"{card} > {setting.title}" if card else setting.title


def labels_of(paths: Iterable[str]) -> str:
    """What the form calls several settings, in its order."""
    wanted = set(paths)
    known = [one.path for one in SETTINGS if one.path in wanted]
    return join_texts([label_of(path) for path in (*known, *sorted(wanted.difference(known)))], ", ")


def decides_scores(setting: Setting) -> bool:
    """Whether another value would make scores incomparable: the setting is kept with the version."""
    column = setting.mark(Column)
    return column.table == _VERSIONS if column else setting.mark(Triggers) == _VERSION


def hinders(path: str, way: RescoreMode) -> bool:
    """Whether another value of this setting makes earlier results useless for this way of scoring again."""
    mark = next(setting.mark(Reusable) for setting in SETTINGS if setting.path == path)
    return mark is None or way not in mark.ways
