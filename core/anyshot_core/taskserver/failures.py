"""From what happened to a verdict and the words for it.

What a runner says is shown only as far as the log policy allows.
"""

import re
import signal
from dataclasses import dataclass

from anyshot_core.exits import exception_name
from anyshot_core.taskserver.channel import Death
from anyshot_core.taskserver.job import DrawnTask, Failure
from anyshot_core.taskserver.ledger import Limit
from anyshot_core.taskserver.loglines import clean, shows
from anyshot_core.taskserver.sources import Sources
from anyshot_core.wire.advice import advice_in
from anyshot_core.wire.messages import ErrorKind, ErrorReport
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import LogPolicy, Stage

_KINDS = {
    ErrorKind.EXCEPTION: Verdict.RUNTIME_ERROR,
    ErrorKind.BAD_PREDICTION: Verdict.BAD_PREDICTION,
    ErrorKind.BAD_ARCHIVE: Verdict.BAD_ARCHIVE,
    ErrorKind.OUT_OF_MEMORY: Verdict.MEMORY_LIMIT,
    ErrorKind.OUT_OF_SPACE: Verdict.OUTPUT_LIMIT,
}
_DOING = {
    "import": "while model.py was imported",
    "meta_fit": "in meta-training",
    "load": "while the learner was created and loaded",
    "fit": "in fit",
    "predict": "in predict",
    "features": "in features",
    "unpack": "while the bundle was unpacked",
    "learner": "while the saved learner was copied",
    "restore": "while the saved learner was copied",
    "start": "before it was ready",
    "finish": "at the end",
}
_SIZE, _LABEL = r"\d{1,3}", r"-?(?:\d{1,3}|inf)|nan"
_FOUND_IN_PREDICTIONS = {  # what a runner says of a prediction, and as much of it as may be shown of a hidden task
    rf"predict returned an array of shape (?P<shape>\[{_SIZE}(?:, {_SIZE}){{0,2}}\]);.*": "an array of shape {shape}",
    r"predict returned an array of shape .*": "an array of a wrong shape",
    r"predict returned \d+ NaN, .*": "NaN",
    rf"predict returned the label (?P<label>{_LABEL}) at position (?P<place>{_SIZE})\b.*": (
        "the label {label} at position {place}"
    ),
    r"predict returned the label .*": "a label outside the task's classes",
    r"predict returned values of type (?P<type>[<>|=]?[A-Za-z]\d{0,2}|object|bool|complex\d{2,3}); .*": (
        "values of type {type}"
    ),
    r"predict returned None; .*": "None",
}


class Ended(Exception):
    """The run ends here, with this failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class FailureMoment:
    """When something happened: the step the runner was at, the task if any, and what may be shown."""

    step: str
    stage: Stage
    policy: LogPolicy
    task: DrawnTask | None = None
    sources: Sources | None = None  # of the bundle: other places in a traceback are not believed
    before_training: bool = False

    @property
    def doing(self) -> str:
        return _DOING.get(self.step, f"in {self.step}")

    @property
    def hidden(self) -> bool:
        return not shows(self.policy, self.stage)

    def fail(self, verdict: Verdict, message: str, detail: str = "", private: str = "") -> Ended:
        task = self.task
        return Ended(
            Failure(
                verdict=verdict,
                message=message,
                detail=detail,
                private=private,
                task_index=None if task is None else task.index,
                ways=None if task is None else task.ways,
                shots=None if task is None else task.shots,
                before_training=self.before_training,
            )
        )


def of_limit(moment: FailureMoment, limit: Limit) -> Ended:
    used = f"{_LIMITED[limit.name]} used up its {limit.total:g} seconds {moment.doing}."
    return moment.fail(Verdict.TIME_LIMIT, used)


_LIMITED = {"run": "The run", "meta-training": "Meta-training", "task": "The task"}


def of_lost_gpu(moment: FailureMoment) -> Ended:
    """The runner found no GPU before any code of the submission ran, which would have gone on without a word."""
    return moment.fail(
        Verdict.GPU_UNHEALTHY, ("The sandbox was given a GPU and found none; this is not your fault.")
    )


def of_death(moment: FailureMoment, death: Death, detail: str) -> Ended:
    private = f"exit code {death.exit_code}, signal {death.signal}, {death.detail} {detail}".strip()
    if moment.step in ("start", "unpack"):
        ended = f"The sandbox ended {moment.doing}."
        return moment.fail(Verdict.SANDBOX_START, ended, private=private)
    if death.lost or death.killed_by_us:  # a box that its own worker ended says nothing of the code inside
        lost = f"The sandbox was lost {moment.doing}; this is not your fault."
        return moment.fail(Verdict.DOCKER_ERROR, lost, private=private)
    if death.out_of_memory:
        reached = f"The memory limit was reached {moment.doing}."
        return moment.fail(Verdict.MEMORY_LIMIT, reached, private=private)
    number = _signal(death)
    if number == signal.SIGKILL:
        killed = f"The process was killed {moment.doing}; nobody knows why."
        return moment.fail(Verdict.KILLED, killed, private=private)
    return moment.fail(Verdict.RUNTIME_ERROR, _how_it_ended(moment, death, number), private=private)


def _how_it_ended(moment: FailureMoment, death: Death, number: int | None) -> str:
    if number:
        return f"The process died of {_signal_name(number)} {moment.doing}."
    return f"The process ended by itself (exit code {death.exit_code}) {moment.doing}."


def _signal(death: Death) -> int | None:
    if death.signal is not None:
        return death.signal
    code = death.exit_code
    return code - 128 if code is not None and 128 < code < 160 else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def of_protocol(moment: FailureMoment, what: str) -> Ended:
    said = "" if moment.hidden else f": {what}"
    words = (
        f"The process broke the protocol {moment.doing}{said}. Do not touch the runner or its descriptors."
    )
    return moment.fail(Verdict.PROTOCOL_ERROR, words, private=what)


def of_output(moment: FailureMoment, what: str) -> Ended:
    return moment.fail(Verdict.OUTPUT_LIMIT, f"The submission produced {what}; print or log less.")


def of_report(moment: FailureMoment, report: ErrorReport) -> Ended:
    """A failure that the runner reported: always the participant's once their code has run."""
    if moment.step == "unpack" and report.kind is ErrorKind.OUT_OF_SPACE:
        return moment.fail(
            Verdict.OUTPUT_LIMIT,
            "The bundle does not fit into the scratch space of this phase; make it smaller.",
        )
    if moment.step == "unpack" and report.kind is not ErrorKind.BAD_ARCHIVE:
        text = f"{report.exception}: {report.message}\n{report.traceback}"
        return moment.fail(
            Verdict.TASK_SERVER_BUG, "The platform could not prepare the submission.", private=text
        )
    verdict = _KINDS[report.kind]
    if moment.hidden:
        return _guarded(moment, verdict, report)
    said = clean(report.message)
    if report.kind in (ErrorKind.BAD_PREDICTION, ErrorKind.BAD_ARCHIVE):
        return moment.fail(verdict, said, _marked_traceback(report))
    first = said.splitlines()[0][:300] if said.strip() else ""
    text = f"{_exception_name(report)} {moment.doing}"
    if advice := advice_in(said):
        return moment.fail(verdict, f"{text}. {advice}", _marked_traceback(report))
    return moment.fail(verdict, f"{text}: {first}" if first else f"{text}.", _marked_traceback(report))


def _exception_name(report: ErrorReport) -> str:
    return report.exception if re.fullmatch(r"[A-Za-z_]\w{0,59}", report.exception, re.ASCII) else "Exception"


def _guarded(moment: FailureMoment, verdict: Verdict, report: ErrorReport) -> Ended:
    """What may be said of a failure in hidden tasks: texts could carry the images out, but for our own sentences."""
    if report.kind is ErrorKind.BAD_PREDICTION:
        return moment.fail(verdict, _guarded_prediction(moment, report.message))
    place = _place(moment, report)
    where, advice = f" ({place})" if place else "", advice_in(report.message)
    return moment.fail(
        verdict, f"{exception_name(report.exception)} {moment.doing}{where}. {advice}".rstrip(), place
    )


def _guarded_prediction(moment: FailureMoment, said: str) -> str:
    """What was found, in few letters, and what is wanted by the task itself."""
    for pattern, found in _FOUND_IN_PREDICTIONS.items():
        if match := re.fullmatch(pattern, said, re.ASCII | re.DOTALL):
            return f"predict returned {found.format(**match.groupdict())}{_wanted(moment.task)}"
    return "predict returned something that cannot be scored."


def _wanted(task: DrawnTask | None) -> str:
    if task is None:
        return "."
    number, ways = len(task.query), task.ways
    return f"; expected [{number}, {ways}] (logits or probabilities) or [{number}] (labels from 0 to {ways - 1})."


def _place(moment: FailureMoment, report: ErrorReport) -> str:
    """The innermost line of the submission's own, if the zip has such a line."""
    line = next((line for line in reversed(report.lines) if line.own), None)
    if line is None or moment.sources is None or not moment.sources.has_line(line.file, line.line):
        return ""
    return f"{line.file}, line {line.line}"


def _marked_traceback(report: ErrorReport) -> str:
    return "\n".join(clean(line) for line in report.traceback.splitlines())
