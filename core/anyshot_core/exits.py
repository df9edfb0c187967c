"""What of hidden tasks reaches participants, and how much each way out can carry.

The code of a submission sees the images of hidden tasks. Whatever it can choose and its team then sees is a way out for
them. Each stands in `EXITS` with the bits that it can carry in a run; what has none is what organizers decide to show,
or the clock. Workers, pages and JSON make what they show of hidden tasks with the functions here.
"""

import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass

from anyshot_scoring.summary import Group

BUDGET = 64  # bits of a run, beside what organizers show and the clock; an image has 393,216
STEPS = 16  # of what a run is granted, in which participants see what it used
LEAST_TASKS = 5  # of a group whose mean is shown while single tasks are not
SOURCE_BYTES = 1 << 18  # of a file whose lines are named
OWN_EXCEPTION = "An exception of your own"

# Exceptions that code of the field meets, by the module that has them; those of Python itself are known as well.
PACKAGES = {
    "PIL": ("UnidentifiedImageError",),
    "anyshot_starting_kit.runner.learnerblob": ("BadLearner",),
    "anyshot_starting_kit.runner.offline": ("NoNetwork",),
    "concurrent.futures.process": ("BrokenProcessPool",),
    "huggingface_hub.errors": ("LocalEntryNotFoundError", "OfflineModeIsEnabled"),
    "json": ("JSONDecodeError",),
    "numpy.exceptions": ("AxisError",),
    "numpy.linalg": ("LinAlgError",),
    "pandas.errors": ("EmptyDataError", "ParserError"),
    "pickle": ("PicklingError", "UnpicklingError"),
    "queue": ("Empty", "Full"),
    "requests.exceptions": ("RequestException",),
    "scipy.sparse.linalg": ("ArpackError", "ArpackNoConvergence"),
    "sklearn.exceptions": ("NotFittedError",),
    "subprocess": ("CalledProcessError", "TimeoutExpired"),
    "torch": ("AcceleratorError", "OutOfMemoryError"),
    "torch._dynamo.exc": (
        "BackendCompilerFailed",
        "InternalTorchDynamoError",
        "TorchRuntimeError",
        "Unsupported",
    ),
    "torch._inductor.exc": ("InductorError",),
    "zipfile": ("BadZipFile",),
}
_OF_PYTHON = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException) and not issubclass(value, Warning)
}
EXCEPTIONS = frozenset(_OF_PYTHON.union(*PACKAGES.values()))


@dataclass(frozen=True, slots=True)
class WayOut:
    """A way out: what is shown, the fields of a worker's messages that carry it, and bits a run at most.

    `bits` None: organizers decide whether it is shown, or it is the clock.
    """

    name: str
    fields: tuple[str, ...]
    bits: int | None


EXITS = (
    WayOut(
        "the verdict, at which step, with or without which advice", ("Fail.verdict", "PartFailure.verdict"), 7
    ),
    WayOut("the task that failed, of 1,000", ("Fail.task_index", "Fail.ways", "Fail.shots"), 10),
    WayOut(
        "a known exception and its innermost line in the zip; or the shape, type or label of a prediction; or a signal",
        ("Fail.message", "Fail.detail", "PartFailure.message", "PartFailure.detail"),
        38,
    ),
    WayOut("peak memory, in sixteenths of what is granted", ("Usage.memory_peak_bytes",), 4),
    WayOut("processor time, in sixteenths of what is granted", ("Usage.cpu_seconds",), 4),
    WayOut("whether hidden tasks printed anything", ("Event.text", "Event.left_out"), 1),
    WayOut(
        "the score and its interval", ("RunSummary.mean", "RunSummary.half_width", "RunSummary.metrics"), None
    ),
    WayOut(
        "means by dataset, domain, ways and shots, of five tasks or more while the phase is open",
        ("RunSummary.by_dataset", "RunSummary.by_domain", "RunSummary.by_ways", "RunSummary.by_shots"),
        None,
    ),
    WayOut("single tasks, confusion, further evaluations, exported files", ("Complete.artifacts",), None),
    WayOut(
        "the clock: when a task is done, the time that was used",
        (
            "Progress.tasks_done",
            "Progress.seconds_used",
            "Usage.participant_seconds",
            "Usage.meta_test_seconds",
            "Usage.platform_seconds",
            "RunSummary.fit_seconds",
            "RunSummary.predict_seconds",
        ),
        None,
    ),
)


def exception_name(said: str) -> str:
    """The name of an exception as it may be shown: code can call its own whatever it likes."""
    return said if said in EXCEPTIONS else OWN_EXCEPTION


def in_steps(used: float, granted: float) -> float:
    """What was used, rounded up to a sixteenth of what was granted; 0 where nothing is known."""
    if granted <= 0 or used <= 0:
        return 0
    return min(math.ceil(used * STEPS / granted), STEPS) * granted / STEPS


def large_groups(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Those that may be shown where single tasks may not.

    Withheld are those of few tasks. The mean of all that is withheld follows from the whole: where it would be of few
    tasks too, the smallest of the others are withheld as well.
    """
    withheld: list[Group] = []
    for group in sorted(groups, key=lambda group: group.tasks):
        if group.tasks >= LEAST_TASKS and not 0 < sum(one.tasks for one in withheld) < LEAST_TASKS:
            break
        withheld.append(group)
    return tuple(group for group in groups if group not in withheld)
