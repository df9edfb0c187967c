"""What organizers' reports are asked for with, and what they answer: one model for each report.

`analysis` names the report in `anyshot_analysis.jobs`; the other fields are that analysis's parameters.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from anyshot_core.evaluations.scores import PointScore
from anyshot_core.evaluations.seeded import SeededScore
from anyshot_core.wire.message import Message
from anyshot_core.wire.protocols import ProtocolField

# Raise when an analysis computes something else from the same inputs: no site and no worker gives an older one then.
ANALYSIS_VERSION = 12


class FlipsParameters(Message):
    """Reliability of a ranking; `names`, `feedback` and `submissions` (of its team, scored) are by submission."""

    analysis: Literal["flips"] = "flips"
    replicates: int = Field(gt=0)
    seed: int
    rule: str
    names: dict[str, str]
    feedback: dict[str, float]
    submissions: dict[str, int] = Field(default={})


class DifficultyParameters(Message):
    """Difficulty of the datasets of a board."""

    analysis: Literal["difficulty"] = "difficulty"
    names: dict[str, str]
    baselines: bool


class PlanParameters(Message):
    """What settles a lead of the first two by `rule`; `names` are by submission."""

    analysis: Literal["plan"] = "plan"
    lead: float
    flip: float
    rule: str = "worst_run"
    names: dict[str, str] = Field(default={})


class OnPools(Message):
    """A report that is computed from the packs of a phase's pools."""


class Diversity(OnPools):
    """How far apart the tasks of a pool are."""

    analysis: Literal["diversity"] = "diversity"
    tasks: int
    floor_tasks: int
    seed: int
    protocol: ProtocolField


class Audit(OnPools):
    """How many classes of a pool its tasks see."""

    analysis: Literal["audit"] = "audit"
    tasks: int
    protocol: ProtocolField


class Shift(OnPools):
    """Accuracy in and out of distribution."""

    analysis: Literal["shift"] = "shift"
    tasks: int
    ways: int
    shots: int
    seed: int


class SubmissionShift(Message):
    """What submissions lose on novel classes; `evaluations` are their scores in further evaluations, by shown name.

    Of several seeded runs they are means over the runs, and `runs` are of each of these scores those of each run.
    """

    analysis: Literal["submission-shift"] = "submission-shift"
    evaluations: dict[str, list[PointScore]]
    runs: dict[str, list[tuple[SeededScore, ...]]] = Field(default={})


class PredictorTrust(Message):
    """What support sets tell about a submission's accuracy."""

    analysis: Literal["predictor-trust"] = "predictor-trust"
    wanted: float
    coverage: float


class Calibration(Message):
    """Whether the probabilities that a submission states hold."""

    analysis: Literal["calibration"] = "calibration"
    bins: int
    seed: int


class SnapshotAdvice(Message):
    """Which snapshot of a training to take."""

    analysis: Literal["snapshots"] = "snapshots"
    margin: float


class Representations(Message):
    """How alike the layers of two learners are."""

    analysis: Literal["representations"] = "representations"
    permutations: int


class FeatureDiversity(Message):
    """How different the datasets look to a learner."""

    analysis: Literal["feature-diversity"] = "feature-diversity"
    permutations: int
    seed: int


class NWayFlips(Message):
    """How often the order of two submissions turns over sets of classes; `names` by submission."""

    analysis: Literal["n-way-flips"] = "n-way-flips"
    share: float
    draws: int
    names: dict[str, str]
    seed: int


OnSubmissions = (
    SubmissionShift
    | PredictorTrust
    | Calibration
    | SnapshotAdvice
    | Representations
    | FeatureDiversity
    | NWayFlips
)
ReportParameters = Annotated[
    FlipsParameters | DifficultyParameters | PlanParameters | Diversity | Audit | Shift | OnSubmissions,
    Field(discriminator="analysis"),
]


class ReportSummary(Message):
    """What a report found; `result` holds its numbers, as each report's page explains them."""

    format: int | str
    analysis: str
    title: str
    finding: str
    population: str
    notes: list[str]
    result: dict[str, JsonValue]
    manifest: dict[str, JsonValue] = Field(
        default={}, description="how it was made: parameters, inputs by digest, versions"
    )
