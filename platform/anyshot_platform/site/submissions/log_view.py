"""The log of a submission in its parts: one for each attempt of each run, and what of it is not kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.wire.worker_api import LogPolicy
from anyshot_platform.foundation.filters import capitalized, count, decimal, join_texts
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent
from anyshot_platform.judging.run_logs.service import count_missing_lines, read_events
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions.downloads import kept_files
from anyshot_platform.site.submissions.failures import place_in_code
from anyshot_platform.site.submissions.progress import is_live, run_title
from anyshot_platform.site.submissions.words import STAGE_WORDS

SHOWN_LINES = 1000
_POLICY_WORDS = {
    LogPolicy.META_TRAIN: (
        "This phase shows the output of meta-training. Of meta-testing only the "
        "exception type, file and line of a failure are shown, because output "
        "could carry hidden images out."
    ),
    LogPolicy.NOTHING: "This phase shows no output of submissions.",
}
_LOST = {"lease_lost": "the worker was lost", "released": "the worker was stopped"}
_ENDED = "it ended without a result"


@dataclass(frozen=True)
class LogPart:
    """An attempt of a run; one that another attempt follows is folded."""

    key: str
    run_id: str
    title: str
    folded: bool
    lines: list[
        tuple[RunEvent, str, str]
    ]  # where each leads, and the heading of a stage that stands above it
    stages: list[str]  # that lines are shown of: each has a heading above its first line


class LogFile(NamedTuple):
    """The log that a run's worker uploaded; `title` is the run's, empty where there is one alone."""

    title: str
    href: str


@dataclass(frozen=True)
class LogView:
    """The lines shown at first; the stream goes on after `last`. `total` lines are kept in all."""

    parts: list[LogPart]
    last: int
    total: int
    live: bool
    cut_words: str  # that the page shows the last lines alone
    missing: str  # how many lines are not kept, in words
    whole: list[LogFile]  # of runs with such lines: what their workers kept
    policy_words: str
    empty_words: str
    href: str
    whole_href: str  # of the page with all lines, where this one has not


def read_log(session: Session, found: SubmissionAccess, runs: list[Run]) -> LogView:
    """The last lines by attempt, and what to say about the rest."""
    policy = found.sight.logs
    ids = [run.id for run in runs]
    lines = read_events(session, ids, policy=policy, limit=SHOWN_LINES, tail=True)
    kept = session.scalar(select(func.sum(EventCount.lines)).where(EventCount.run_id.in_(ids)))
    missing = count_missing_lines(session, ids)
    waiting = is_live(runs)
    code = f"/submissions/{found.submission.id}/code"
    total = max(kept or 0, len(lines)) if len(lines) == SHOWN_LINES else len(lines)
    return LogView(
        parts=parts_of(session, lines, runs, lambda line: place_in_code(line.text, code)),
        last=lines[-1].id if lines else 0,
        total=total,
        live=waiting,
        cut_words=(
            f"The last {decimal(SHOWN_LINES)} lines are shown. Press Enter in the search "
            "to look through all that are kept."
        )
        if total > len(lines)
        else "",
        missing=missing_words(sum(missing.values())),
        whole=_whole_logs(session, found, [run for run in runs if run.id in missing]),
        policy_words=_POLICY_WORDS.get(policy, ""),
        empty_words="Lines appear here as soon as the code prints them."
        if waiting
        else "Nothing was printed.",
        href=f"/submissions/{found.submission.id}/log.txt" if lines else "",
        whole_href=all_lines_href(found.submission) if total > len(lines) else "",
    )


def all_lines_href(submission: Submission) -> str:
    """The page on which all lines are read and searched."""
    return f"/submissions/{submission.id}/log"


def missing_words(dropped: int) -> str:
    """What is said of lines that the platform did not keep."""
    return (
        (f"Left out: {count(dropped, 'line')}. The platform keeps the beginning and the end of a long log.")
        if dropped
        else ""
    )


def _whole_logs(session: Session, found: SubmissionAccess, runs: Sequence[Run]) -> list[LogFile]:
    kept = kept_files(session, found.sight, runs)
    base = f"/api/v1/submissions/{found.submission.id}/runs"
    return [
        LogFile(run_title(run), f"{base}/{run.id}/artifacts/log.txt")
        for run in runs
        if any(one.name == "log.txt" for one in kept[run.id])
    ]


def part_key(line: RunEvent) -> str:
    """Which part a line belongs to."""
    return f"{line.run_id}.{line.epoch}"


def part_titles(session: Session, runs: Sequence[Run]) -> dict[str, str]:
    """The title of each part by its key, in the order of runs and attempts."""
    by_id = {run.id: run for run in runs}
    attempts = session.scalars(
        select(Attempt).where(Attempt.run_id.in_(by_id)).order_by(Attempt.run_id, Attempt.epoch)
    ).all()
    return {f"{one.run_id}.{one.epoch}": _title(by_id[one.run_id], one) for one in attempts}


def _title(run: Run, attempt: Attempt) -> str:
    title = f"attempt {attempt.number}"
    if attempt.ended_at is not None and attempt.epoch < run.epoch:
        title = join_texts((title, _LOST.get(attempt.outcome, _ENDED)), by=": ")
    return capitalized(join_texts((run_title(run), title), by=", "))


def parts_of(
    session: Session,
    lines: Sequence[RunEvent],
    runs: Sequence[Run],
    href: Callable[[RunEvent], str] = lambda _: "",
) -> list[LogPart]:
    """Lines by attempt, each with where it leads."""
    titles = part_titles(session, runs)
    newest = {run.id: run.epoch for run in runs}
    found: dict[str, LogPart] = {}
    for line in lines:
        key = part_key(line)
        if key not in found:
            folded = line.epoch < newest.get(line.run_id, 0)
            title = titles.get(key) or capitalized(f"attempt {line.epoch}")
            found[key] = LogPart(key, line.run_id, title, folded, [], [])
        part, heading = found[key], ""
        if line.stage.value not in part.stages:  # the two streams come mixed where one stage follows another
            part.stages.append(line.stage.value)
            heading = _stage_words(line)
        part.lines.append((line, href(line), heading))
    return list(found.values())


def stream_lines(session: Session, lines: Sequence[RunEvent], runs: Sequence[Run]) -> dict[str, Any]:
    """New lines for the page, with the titles of their parts and the headings of their stages."""
    titles = part_titles(session, runs) if lines else {}
    parts = {part_key(line) for line in lines}
    return {
        "lines": [
            (line.stream, line.text, part_key(line), line.stage.value, int(line.at.timestamp()))
            for line in lines
        ],
        "titles": {key: title for key, title in titles.items() if key in parts},
        "stages": {line.stage.value: _stage_words(line) for line in lines},
    }


def _stage_words(line: RunEvent) -> str:
    return STAGE_WORDS[RunState(line.stage.value)]
