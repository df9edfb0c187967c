"""What the page says about a run that failed: whose fault, where, what it cost, how to see it again."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from anyshot_core.wire.verdicts import Cause
from anyshot_platform.foundation.filters import duration, size
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.faults import (
    EvaluationFault,
    is_of_gpu_memory,
    ran_out_of_gpu_memory,
)
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.site.submissions.progress import last_stage
from anyshot_platform.site.submissions.provenance import repeat_command, words_on_repeat
from anyshot_platform.site.submissions.words import STAGE_WORDS, Blame, blame, blame_of_evaluation, peak_words

_FRAME = re.compile(r'^\s*(?:File "(?P<path>[^"]+)"|(?P<bare>[\w./-]+\.py)), line (?P<line>\d{1,7})')
_OWN_FOLDERS = ("program/", "submission/", "bundle/")


@dataclass(frozen=True)
class TraceLine:
    """A line of a traceback; `own` lies in the participant's files, which `href` shows; `error` is the last one."""

    text: str
    own: bool
    error: bool
    href: str = ""


@dataclass(frozen=True)
class FailureView:
    """What the page says of a run that failed."""

    cause: Cause
    blame: Blame
    facts: list[tuple[str, Any]]
    message: str
    frames: list[TraceLine]
    reproduce: str
    reproduce_words: str

    @property
    def blocks(self) -> list[tuple[bool, list[TraceLine]]]:
        """The traceback in blocks: frames that are not of one's own code are folded, where others are."""
        some_own = any(line.own for line in self.frames)
        found: list[tuple[bool, list[TraceLine]]] = []
        for line in self.frames:
            folded = some_own and not line.own and line.text.startswith(" ")
            if not found or found[-1][0] != folded:
                found.append((folded, []))
            found[-1][1].append(line)
        return found


def find_failed(runs: list[Run]) -> Run | None:
    """The first run that ended without a score."""
    return next((run for run in runs if run.state in ENDED and run.state != RunState.FINISHED), None)


def show_failure(sight: Sight, run: Run) -> FailureView:
    """The failure of a run of the submission, as the viewer is told of it."""
    fault = sight.fault(run)
    return FailureView(
        cause=run.cause or Cause.UNCLEAR,
        blame=blame(run.verdict, run.cause, of_gpu=ran_out_of_gpu_memory(run)),
        facts=_facts(sight, run),
        message=fault.message,
        frames=mark_traceback(fault.detail, f"/submissions/{sight.submission.id}/code"),
        reproduce=(repeat_command(run) or "") if run.cause == Cause.PARTICIPANT else "",
        reproduce_words=words_on_repeat(run),
    )


def show_failed_evaluation(submission: Submission, fault: EvaluationFault, gpus: int) -> FailureView:
    """The failure of a further evaluation of the submission, which had so many GPUs, as the viewer was told of it."""
    of_gpu = is_of_gpu_memory(fault.verdict, gpus, fault.message)
    task = [] if fault.task_index is None else [_task(fault.task_index, fault.task_ways, fault.task_shots)]
    return FailureView(
        cause=fault.verdict.cause or Cause.UNCLEAR,
        blame=blame_of_evaluation(fault.verdict, of_gpu=of_gpu),
        facts=[*task, ("Quota", "It cost no quota.")],
        message=fault.message,
        frames=mark_traceback(fault.detail, f"/submissions/{submission.id}/code"),
        reproduce="",
        reproduce_words="",
    )


def mark_traceback(detail: str, code: str = "") -> list[TraceLine]:
    """The lines of a traceback; a frame of the participant's own files and its source line are marked.

    `code` is the address of the page that shows the submission's files.
    """
    lines = detail.rstrip().splitlines()[:400]
    marked: list[TraceLine] = []
    own = False
    for place, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame is not None:
            own = is_own_file(frame["path"] or frame["bare"])
        elif not line.startswith(" "):
            own = False
        error = place == len(lines) - 1 and not line.startswith(" ")
        marked.append(TraceLine(line[:2000], own, error, place_in_code(line, code) if code else ""))
    return marked


def place_in_code(line: str, code: str) -> str:
    """Where the page `code` shows the place that a line of a traceback names; empty where that is not one's own."""
    frame = _FRAME.match(line)
    if frame is None or not is_own_file(path := frame["path"] or frame["bare"]):
        return ""
    for folder in _OWN_FOLDERS:
        path = path.rpartition(f"/{folder}")[2] if path.startswith("/") else path.removeprefix(folder)
    return f"{code}?{urlencode({'file': path})}#L{frame['line']}"


def is_own_file(path: str) -> bool:
    """Whether a file belongs to the submission: it lies in its folder, or is named without one."""
    return not path.startswith(("/usr", "/opt", "<frozen")) and (
        not path.startswith("/") or any(f"/{folder}" in path for folder in _OWN_FOLDERS)
    )


def _facts(sight: Sight, run: Run) -> list[tuple[str, Any]]:
    facts: list[tuple[str, Any]] = []
    stage = last_stage(run)
    if stage is not None:
        facts.append(("Stage", STAGE_WORDS[stage]))
    if run.task_index is not None:
        facts.append(_task(run.task_index, run.task_ways, run.task_shots))
    budget = kind_of(run).seconds(run)
    facts.append(("Time used", f"{duration(run.seconds_used)} of {duration(budget)}"))
    if (known := sight.used(run)) and (memory := known.memory_peak_bytes):
        granted = size(run.phase_version.memory_bytes)
        facts.append(("Peak memory", f"{peak_words(memory, exact=sight.exact)} of {granted}"))
    if run.attempt > 1:
        facts.append(("Attempts", run.attempt))
    facts.append(("Quota", quota_words(sight.submission)))
    return facts


def _task(index: int, ways: int | None, shots: int | None) -> tuple[str, str]:
    number = index + 1
    if ways is None or shots is None:
        return "Task", f"number {number}"
    return "Task", f"number {number}, {ways} ways, {shots} shots"


def quota_words(submission: Submission) -> str:
    """What the submission cost of the quota, and why."""
    if submission.quota_reason:
        return submission.quota_reason
    if submission.kind == "smoke":
        return "A smoke test costs no quota."
    if not submission.counts_quota:
        return "It cost no quota."
    if submission.cause == Cause.USER:
        return "It counts towards your quota, as cancelled submissions do in this phase."
    if submission.cause == Cause.INFRASTRUCTURE:
        return "It cost no quota: failures of the platform never count."
    return "It counts towards your quota, because the error was in your code."
