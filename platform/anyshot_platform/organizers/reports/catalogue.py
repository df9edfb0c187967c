"""The reports that organizers can ask for. A test holds the names and settings against `anyshot_analysis.jobs`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from anyshot_platform.errors import Invalid, NotFound
from anyshot_platform.kernel.filters import decimal


class Subject(StrEnum):
    """What a report is about."""

    BOARD = "board"  # the results of those who stand on a league's board
    POOL = "pool"  # the data of a phase, before anybody is tested on it
    SUBMISSIONS = "submissions"  # what chosen submissions exported, or were tested on besides


@dataclass(frozen=True)
class ReportSetting:
    """A number that the one who asks may choose."""

    name: str
    label: str
    default: float
    least: float
    most: float
    hint: str = ""

    @property
    def whole(self) -> bool:
        """Whether only whole numbers make sense."""
        return isinstance(self.default, int)

    def read(self, value: float | None) -> float:
        """The value or the default; raises `Invalid` outside the bounds."""
        if value is None:
            return self.default
        if not self.least <= value <= self.most or (self.whole and value != int(value)):
            kind = "a whole number" if self.whole else "a number"
            bounds = f"from {decimal(self.least)} to {decimal(self.most)}"
            raise Invalid(f"{self.label}: this must be {kind} {bounds}.", field=self.name)
        return int(value) if self.whole else value


@dataclass(frozen=True)
class ReportKind:
    """A report: its name in `anyshot_analysis.jobs`, its words, what may be set, and of how many submissions it is."""

    name: str
    title: str
    about: str
    subject: Subject
    settings: tuple[ReportSetting, ...] = ()
    least: int = 0
    most: int = 0


_SEED = ReportSetting(
    "seed", "Seed", 0, 0, 2**31 - 1, "Of the report's own draws: the same seed, the same report."
)
_RUN = ReportSetting("run", "Seeded run", 1, 1, 50, "Which of a submission's runs, counted from 1.")
KINDS: dict[str, ReportKind] = {
    kind.name: kind
    for kind in (
        ReportKind(
            "flips",
            "Reliability of the ranking",
            "How likely each entry is truly the best, intervals of ranks, paired differences, flips, how many tasks, "
            "classes and datasets would settle the top, agreement with the feedback phase, worst run against mean.",
            Subject.BOARD,
            (
                ReportSetting("replicates", "Replicates", 10_000, 1_000, 100_000, "Draws of the bootstrap."),
                ReportSetting("entries", "Entries from the top", 30, 2, 200),
                _SEED,
            ),
        ),
        ReportKind(
            "difficulty",
            "Difficulty of the datasets",
            "Intrinsic and modelling difficulty of each dataset, from the baselines on the board, or from all "
            "entries where there are no two baselines.",
            Subject.BOARD,
        ),
        ReportKind(
            "plan",
            "What a lead needs",
            "How many tasks, classes and datasets make a lead flip rarely, with the spread of the first two entries.",
            Subject.BOARD,
            (
                ReportSetting("lead", "Lead", 0.01, 0.0001, 1.0, "In normalized accuracy."),
                ReportSetting("flip", "Flips allowed", 0.05, 0.001, 0.5),
            ),
        ),
        ReportKind(
            "diversity",
            "Diversity of the pool",
            "How far apart the tasks of the meta-test pool are (Task2Vec), against the distance of one task drawn "
            "twice, and whether the meta-train pool holds images of it.",
            Subject.POOL,
            (
                ReportSetting("tasks", "Tasks", 60, 4, 1_000),
                ReportSetting("floor_tasks", "Tasks drawn twice", 12, 2, 500),
                _SEED,
            ),
        ),
        ReportKind(
            "audit",
            "Classes that the tasks see",
            "Which share of each dataset's classes the phase's tasks are expected to see.",
            Subject.POOL,
        ),
        ReportKind(
            "submission-shift",
            "In and out of distribution",
            "Scores on base and on novel classes, what is lost between them, and the curve along lambda, from the "
            "further evaluations base, novel and mixtures.",
            Subject.SUBMISSIONS,
            least=1,
            most=5,
        ),
        ReportKind(
            "predictor-trust",
            "What support sets tell about a predictor",
            "Whether a task's accuracy is known from its support set alone: safe, unsafe or cannot tell, with the band "
            "and how often it holds. From the exported estimates of all runs.",
            Subject.SUBMISSIONS,
            (
                ReportSetting("wanted", "Accuracy to be safe of", 0.6, 0.01, 0.99),
                ReportSetting("coverage", "Share of tasks that the band holds", 0.8, 0.5, 0.99),
            ),
            least=1,
            most=1,
        ),
        ReportKind(
            "calibration",
            "Whether probabilities hold",
            "Negative log-likelihood and calibration error of a submission's probabilities, beside what chance alone "
            "would show. From the exported probabilities of all runs.",
            Subject.SUBMISSIONS,
            (ReportSetting("bins", "Bins of confidence", 15, 2, 100), _SEED),
            least=1,
            most=1,
        ),
        ReportKind(
            "snapshots",
            "Which snapshot to take",
            "Which moment of a training is the best one by four rules, and what each loses on novel classes. From "
            "exported snapshots.",
            Subject.SUBMISSIONS,
            (
                ReportSetting(
                    "margin", "Margin", 0.01, 0.0001, 0.5, "Difference that is too small to matter."
                ),
                _RUN,
            ),
            least=1,
            most=1,
        ),
        ReportKind(
            "representations",
            "Layers compared",
            "How alike the layers of two submissions are (CKA, Procrustes, CCA), beside chance; of one submission, "
            "those of its first two runs. From exported features.",
            Subject.SUBMISSIONS,
            (ReportSetting("permutations", "Random pairings", 40, 20, 400), _RUN),
            least=1,
            most=2,
        ),
        ReportKind(
            "feature-diversity",
            "Diversity to a learner",
            "How different the datasets of the meta-test pool look to a submission, beside chance. From "
            "exported features.",
            Subject.SUBMISSIONS,
            (ReportSetting("permutations", "Random deals", 400, 100, 5_000), _RUN, _SEED),
            least=1,
            most=1,
        ),
        ReportKind(
            "n-way-flips",
            "Flips over sets of classes",
            "How often two submissions change their order, judged by the tasks whose classes are all in a random set, "
            "beside as many tasks of any classes. From the predictions of all runs.",
            Subject.SUBMISSIONS,
            (
                ReportSetting("share", "Share of classes in a set", 0.75, 0.05, 0.95),
                ReportSetting("draws", "Sets", 2_000, 1_000, 20_000),
                _SEED,
            ),
            least=2,
            most=2,
        ),
    )
}


def find_kind(name: str) -> ReportKind:
    """The report of that name; raises `NotFound`."""
    if name not in KINDS:
        raise NotFound(f"There is no report {name[:40]!r}; there are {', '.join(KINDS)}.")
    return KINDS[name]
