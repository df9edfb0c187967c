"""The reports that organizers ask for, each described once, and what they answer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, JsonValue

from anyshot_core.evaluations.scores import PointScore
from anyshot_core.evaluations.seeded import SeededScore
from anyshot_core.wire.message import Message
from anyshot_core.wire.protocols import ProtocolField
from anyshot_scoring.rules import RULES

# Raise when an analysis computes something else from the same inputs: no site and no worker gives an older one then.
ANALYSIS_VERSION = 12


class Subject(StrEnum):
    """What a report is about."""

    BOARD = "board"  # the results of those who stand on a league's board
    POOL = "pool"  # the data of a phase, before anybody is tested on it
    SUBMISSIONS = "submissions"  # what chosen submissions exported, or were tested on besides


@dataclass(frozen=True)
class Choices:
    """The values that a setting takes, where they are a few names."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class AskedNumber:
    """That organizers choose a setting, a number within bounds; `default` where the form has another."""

    label: str
    least: float
    most: float
    hint: str = ""
    default: float | None = None


@dataclass(frozen=True)
class AskedSetting:
    """A number of a report's form."""

    name: str
    asked: AskedNumber
    default: float

    @property
    def whole(self) -> bool:
        """Whether only whole numbers make sense."""
        return isinstance(self.default, int)


class ReportDescription(Message):
    """Base of the reports that organizers ask for: of one description follow wire model, form, command and job.

    A field is a setting: its default, its words for the command (`description`), its form (`AskedNumber`). What is
    excluded chooses the inputs and does not travel. `question` is the line of the command and of the
    card, `about` the form's.
    """

    name: ClassVar[str]  # of its command and in addresses: what `analysis` says on the wire
    title: ClassVar[str]
    question: ClassVar[str]
    about: ClassVar[str]
    subject: ClassVar[Subject]
    least: ClassVar[int] = 0  # submissions that it is about
    most: ClassVar[int] = 0

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: object) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if "analysis" in cls.model_fields:
            cls.name = cls.model_fields["analysis"].default

    @classmethod
    def asked(cls) -> tuple[AskedSetting, ...]:
        """What organizers choose, in the form's order."""
        return tuple(
            AskedSetting(name, one, field.default if one.default is None else one.default)
            for name, field in cls.model_fields.items()
            for one in field.metadata
            if isinstance(one, AskedNumber)
        )


Seed = Annotated[
    int,
    Field(description="Where all random numbers start: the same seed gives the same report."),
    AskedNumber("Seed", 0, 2**31 - 1, "Of the report's own draws: the same seed, the same report."),
]
SeededRun = Annotated[
    int,
    Field(exclude=True),
    AskedNumber("Seeded run", 1, 50, "Which of a submission's runs, counted from 1."),
]
Names = Annotated[dict[str, str], Field(description="Names to show by submission, as JSON.")]
RuleName = Annotated[str, Field(description="Ranking rule of the phase."), Choices(tuple(RULES))]
PROTOCOL_HELP = "Protocol of the phase, as JSON with its name and settings."


class Flips(ReportDescription):
    """Reliability of a ranking; `names`, `feedback` and `submissions` (of its team, scored) are by submission."""

    title = "Reliability of the ranking"
    question = "How likely the order of a board would reverse."
    about = (
        "How likely each entry is truly the best, intervals of ranks, paired differences, flips, how many tasks, "
        "classes and datasets would settle the top, agreement with the feedback phase, worst run against mean."
    )
    subject = Subject.BOARD
    analysis: Literal["flips"] = "flips"
    replicates: Annotated[
        int,
        Field(gt=0, description="Redraws of the bootstrap."),
        AskedNumber("Replicates", 1_000, 100_000, "Draws of the bootstrap.", default=10_000),
    ] = 2000
    entries: Annotated[int, Field(exclude=True), AskedNumber("Entries from the top", 2, 200)] = 30
    seed: Seed = 0
    rule: RuleName = "worst_run"
    names: Names = Field(default={})
    feedback: Annotated[
        dict[str, float], Field(description="Scores of the feedback phase by submission, as JSON.")
    ] = Field(default={})
    submissions: Annotated[
        dict[str, int], Field(description="How many submissions each team had scored, as JSON by submission.")
    ] = Field(default={})


class Difficulty(ReportDescription):
    """Difficulty of the datasets of a board."""

    title = "Difficulty of the datasets"
    question = "How difficult each dataset of a board is."
    about = (
        "Intrinsic and modelling difficulty of each dataset, from the baselines on the board, or from all "
        "entries where there are no two baselines."
    )
    subject = Subject.BOARD
    analysis: Literal["difficulty"] = "difficulty"
    names: Names = Field(default={})
    baselines: Annotated[bool, Field(description="The results are those of baselines alone.")] = False


class Plan(ReportDescription):
    """What settles a lead of the first two by `rule`; `names` are by submission."""

    title = "What a lead needs"
    question = "How many tasks, classes and datasets settle a lead."
    about = "How many tasks, classes and datasets make a lead flip rarely, with the spread of the first two entries."
    subject = Subject.BOARD
    analysis: Literal["plan"] = "plan"
    lead: Annotated[
        float,
        Field(description="Difference of two submissions that is to be settled, in normalized accuracy."),
        AskedNumber("Lead", 0.0001, 1.0, "In normalized accuracy."),
    ] = 0.01
    flip: Annotated[
        float,
        Field(description="Probability of the opposite order that is small enough."),
        AskedNumber("Flips allowed", 0.001, 0.5),
    ] = 0.05
    rule: RuleName = "worst_run"
    names: Names = Field(default={})


class OnPools(ReportDescription):
    """A report that is computed from the packs of a phase's pools."""

    subject = Subject.POOL


class Diversity(OnPools):
    """How far apart the tasks of a pool are."""

    title = "Diversity of the pool"
    question = "How different the tasks of a pool are."
    about = (
        "How far apart the tasks of the meta-test pool are (Task2Vec), against the distance of one task drawn "
        "twice, and whether the meta-train pool holds images of it."
    )
    analysis: Literal["diversity"] = "diversity"
    tasks: Annotated[int, Field(description="Tasks that are drawn."), AskedNumber("Tasks", 4, 1_000)] = 60
    floor_tasks: Annotated[
        int,
        Field(description="Tasks that are drawn twice, for the distance of a task to itself."),
        AskedNumber("Tasks drawn twice", 2, 500),
    ] = 12
    seed: Seed = 0
    protocol: Annotated[ProtocolField, Field(description=PROTOCOL_HELP)]


class Audit(OnPools):
    """How many classes of a pool its tasks see."""

    title = "Classes that the tasks see"
    question = "How many classes the tasks of a phase see, and share."
    about = "Which share of each dataset's classes the phase's tasks are expected to see."
    analysis: Literal["audit"] = "audit"
    tasks: Annotated[int, Field(description="Tasks of the whole phase, which its datasets share.")] = 100
    protocol: Annotated[ProtocolField, Field(description=PROTOCOL_HELP)]


class OnSubmissions(ReportDescription):
    """A report on what submissions exported, or were tested on besides."""

    subject = Subject.SUBMISSIONS
    least = most = 1


class SubmissionShift(OnSubmissions):
    """What submissions lose on novel classes; `evaluations` are their scores in further evaluations, by shown name.

    Of several seeded runs they are means over the runs, and `runs` are of each of these scores those of each run.
    """

    title = "In and out of distribution"
    question = "What a submission loses on novel classes."
    about = (
        "Scores on base and on novel classes, what is lost between them, and the curve along lambda, from the "
        "further evaluations base, novel and mixtures."
    )
    most = 5
    analysis: Literal["submission-shift"] = "submission-shift"
    evaluations: dict[str, list[PointScore]]
    runs: dict[str, list[tuple[SeededScore, ...]]] = Field(default={})


class PredictorTrust(OnSubmissions):
    """What support sets tell about a submission's accuracy."""

    title = "What support sets tell about a predictor"
    question = "What support sets tell about a predictor."
    about = (
        "Whether a task's accuracy is known from its support set alone: safe, unsafe or cannot tell, with the band "
        "and how often it holds. From the exported estimates of all runs."
    )
    analysis: Literal["predictor-trust"] = "predictor-trust"
    wanted: Annotated[
        float, Field(description="Accuracy to be safe of."), AskedNumber("Accuracy to be safe of", 0.01, 0.99)
    ] = 0.6
    coverage: Annotated[
        float,
        Field(description="Share of tasks whose accuracy the band is to hold."),
        AskedNumber("Share of tasks that the band holds", 0.5, 0.99),
    ] = 0.8


class Calibration(OnSubmissions):
    """Whether the probabilities that a submission states hold."""

    title = "Whether probabilities hold"
    question = "Whether a predictor's probabilities hold."
    about = (
        "Negative log-likelihood and calibration error of a submission's probabilities, beside what chance alone "
        "would show. From the exported probabilities of all runs."
    )
    analysis: Literal["calibration"] = "calibration"
    bins: Annotated[
        int,
        Field(description="Bins of equal width that confidences are put into."),
        AskedNumber("Bins of confidence", 2, 100),
    ] = 15
    seed: Seed = 0


class SnapshotAdvice(OnSubmissions):
    """Which snapshot of a training to take."""

    title = "Which snapshot to take"
    question = "Which snapshot of a training run to take, by four rules."
    about = (
        "Which moment of a training is the best one by four rules, and what each loses on novel classes. From "
        "exported snapshots."
    )
    analysis: Literal["snapshots"] = "snapshots"
    margin: Annotated[
        float,
        Field(description="Difference that is too small to matter, in accuracy."),
        AskedNumber("Margin", 0.0001, 0.5, "Difference that is too small to matter."),
    ] = 0.01
    run: SeededRun = 1


class Representations(OnSubmissions):
    """How alike the layers of two learners are."""

    title = "Layers compared"
    question = "How alike the layers of two networks are."
    about = (
        "How alike the layers of two submissions are (CKA, Procrustes, CCA), beside chance; of one submission, "
        "those of its first two runs. From exported features."
    )
    most = 2
    analysis: Literal["representations"] = "representations"
    permutations: Annotated[
        int,
        Field(description="Random pairings of whole images, for chance levels without a formula."),
        AskedNumber("Random pairings", 20, 400),
    ] = 40
    run: SeededRun = 1


class FeatureDiversity(OnSubmissions):
    """How different the datasets look to a learner."""

    title = "Diversity to a learner"
    question = "How different the datasets of a pool look to a learner."
    about = (
        "How different the datasets of the meta-test pool look to a submission, beside chance. From "
        "exported features."
    )
    analysis: Literal["feature-diversity"] = "feature-diversity"
    permutations: Annotated[
        int,
        Field(description="Times that the images are dealt to the datasets at random."),
        AskedNumber("Random deals", 100, 5_000),
    ] = 400
    run: SeededRun = 1
    seed: Seed = 0


class NWayFlips(OnSubmissions):
    """How often the order of two submissions turns over sets of classes; `names` by submission."""

    title = "Flips over sets of classes"
    question = "Flips of two submissions over sets of classes, by the tasks within them."
    about = (
        "How often two submissions change their order, judged by the tasks whose classes are all in a random set, "
        "beside as many tasks of any classes. From the predictions of all runs."
    )
    least = most = 2
    analysis: Literal["n-way-flips"] = "n-way-flips"
    share: Annotated[
        float,
        Field(description="Part of the classes of each dataset that makes a set, between 0 and 1."),
        AskedNumber("Share of classes in a set", 0.05, 0.95),
    ] = 0.75
    draws: Annotated[
        int, Field(description="Sets of classes that are drawn."), AskedNumber("Sets", 1_000, 20_000)
    ] = 2000
    names: Names = Field(default={})
    seed: Seed = 0


ReportParameters = Annotated[
    Flips
    | Difficulty
    | Plan
    | Diversity
    | Audit
    | SubmissionShift
    | PredictorTrust
    | Calibration
    | SnapshotAdvice
    | Representations
    | FeatureDiversity
    | NWayFlips,
    Field(discriminator="analysis"),
]
REPORTS: dict[str, type[ReportDescription]] = {
    one.name: one for one in get_args(get_args(ReportParameters)[0])
}


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
