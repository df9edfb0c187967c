"""Everything that the page of one submission shows, read in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.exports.files import ESTIMATES, LAYERS, PROBABILITIES, SNAPSHOTS
from anyshot_platform.actions.concurrency import tag_of
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.execution.service import list_runs, newest_runs
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.actions.notes import note_fields
from anyshot_platform.judging.submissions.actions.withdrawing import (
    can_cancel,
    can_reinstate,
    withdrawing_means,
)
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import HANDED_IN, SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.judging.visibility.submissions import Sight
from anyshot_platform.judging.workers.places import find_place
from anyshot_platform.site.submissions.downloads import kept_files
from anyshot_platform.site.submissions.failures import FailureView, find_failed, show_failure
from anyshot_platform.site.submissions.progress import (
    RunProgress,
    is_live,
    run_title,
    show_run,
)
from anyshot_platform.site.submissions.rows import (
    ShownSubmission,
    for_page,
    show_submissions,
    submission_state,
)
from anyshot_platform.site.submissions.training import LOGGER

# The files that a run keeps, by what pages call them, and what they are good for.
_ANALYSED = "for `anyshot analyse`"
KEPT_FILES = {
    LOGGER: ("Tables of the logger", "CSV, zipped"),
    SNAPSHOTS: ("Snapshots of training", _ANALYSED),
    LAYERS: ("Features", _ANALYSED),
    ESTIMATES: ("Estimates from support sets", _ANALYSED),
    PROBABILITIES: ("Probabilities of the answers", _ANALYSED),
}


@dataclass(frozen=True)
class LeagueBadge:
    """A league that the submission stands in."""

    name: str
    tone: str
    words: str


@dataclass(frozen=True)
class Download:
    """A file that the viewer may have."""

    label: str
    href: str
    size: int | None
    icon: str
    note: str = ""


class SubmissionView(ShownSubmission):
    """The submission and what the viewer may do with it."""

    username: str
    live: bool
    leagues: list[LeagueBadge]
    runs: list[RunProgress]
    why_disqualified: str
    can_cancel: bool
    can_withdraw: bool
    withdrawing_means: str
    can_reinstate: bool  # it was withdrawn, and its team can still undo that
    cancel_words: str
    board_href: str | None
    downloads: list[Download]
    files_of_runs: list[tuple[str, list[Download]]]  # of a single run they are among the downloads
    log_words: str
    note_seen: str
    can_annotate: bool


def find_version(session: Session, submission: Submission) -> PhaseVersion | None:
    """The live version of the submission's phase."""
    try:
        return live_version(session, submission.phase)
    except NotFound:
        return None


def read_runs(session: Session, submission: Submission, version: PhaseVersion | None) -> list[Run]:
    """The runs that count now."""
    return newest_runs(list_runs(session, submission), version.id if version else None)


def show_runs(session: Session, sight: Sight, runs: list[Run]) -> list[RunProgress]:
    """The runs' progress, with their places in the queue."""
    return [show_run(sight, run, find_place(session, run)) for run in runs]


def shown_state(submission: Submission, runs: list[Run]) -> str:
    """The state for the badge: that of a running run, else the submission's."""
    for run in runs:
        if run.state not in (RunState.QUEUED, RunState.WAITING) and is_live([run]):
            return run.state.value
    return submission_state(submission)


def read_failure(sight: Sight, runs: list[Run]) -> FailureView | None:
    """The failure, once nothing runs any more."""
    failed = find_failed(runs)
    return None if failed is None or is_live(runs) else show_failure(sight, failed)


def _goes_on(runs: list[Run]) -> bool:
    """Whether something runs or waits that nobody has cancelled yet."""
    return any(is_live([run]) and run.cancel_requested_at is None for run in runs)


def read_submission(session: Session, found: SubmissionAccess, runs: list[Run]) -> SubmissionView:
    """The head of the page."""
    submission, sight = found.submission, found.sight
    live = is_live(runs)
    on_board = submission.kind in (*HANDED_IN, SubmissionKind.FINAL)
    finished = submission.status == SubmissionStatus.FINISHED
    [shown] = show_submissions(session, [sight])
    kept = _files_of_runs(session, sight, runs)
    return SubmissionView(
        **for_page(shown, submission, shown_state(submission, runs)),
        username=submission.user.username,
        live=live,
        leagues=_league_badges(session, submission) if submission.kind != SubmissionKind.LATE else [],
        runs=show_runs(session, sight, runs),
        why_disqualified=sight.standing.disqualified or "",
        can_cancel=found.of_team and _goes_on(runs) and can_cancel(submission),
        can_withdraw=found.of_team and on_board and finished and not shown.withdrawn,
        withdrawing_means=withdrawing_means(session, submission, sight.phase),
        can_reinstate=found.of_team and can_reinstate(submission),
        cancel_words=cancel_words(submission),
        board_href=f"/competitions/{shown.competition}/leaderboard?phase={shown.phase}"
        if sight.scored and on_board
        else None,
        downloads=_downloads(sight, runs, kept),
        files_of_runs=kept if len(runs) > 1 else [],
        log_words=_log_words(submission) if live else "",
        note_seen=tag_of(note_fields(submission, shown.tags)),
        can_annotate=found.of_team,
    )


def cancel_words(submission: Submission) -> str:
    """What cancelling does to the quota."""
    if submission.kind == SubmissionKind.SMOKE:
        return "A smoke test costs no quota anyway."
    if submission.kind not in HANDED_IN:
        return "Cancelling it does not change your quota."
    if submission.phase.cancelled_counts:
        return "In this phase a cancelled submission counts towards your quota."
    return "In this phase a cancelled submission does not count towards your quota."


def _log_words(submission: Submission) -> str:
    goes_on = "You can close this page: the run goes on, and nothing is lost."
    closed = "The phase has closed: this upload counts, and cannot be cancelled."
    return join_texts((goes_on, "" if can_cancel(submission) else closed))


def _league_badges(session: Session, submission: Submission) -> list[LeagueBadge]:
    rows = session.execute(
        select(League.name, LeagueEntry.status, LeagueEntry.reason)
        .join(LeagueEntry, LeagueEntry.league_id == League.id)
        .where(LeagueEntry.submission_id == submission.id)
        .order_by(League.position)
    )
    tones = {EntryStatus.ADMITTED: "accent", EntryStatus.DECLARED: "warn", EntryStatus.REFUSED: "bad"}
    words = {
        EntryStatus.ADMITTED: "stands in this league",
        EntryStatus.DECLARED: "waits for admission",
    }
    return [
        LeagueBadge(
            name if status != EntryStatus.REFUSED else f"{name}: refused",
            tones[status],
            words.get(status, f"Refused: {reason}"),
        )
        for name, status, reason in rows
    ]


def _downloads(sight: Sight, runs: list[Run], kept: list[tuple[str, list[Download]]]) -> list[Download]:
    submission = sight.submission
    base = f"/submissions/{submission.id}"
    files = [
        Download("Submission", f"/api/v1{base}/archive", submission.size, "file-archive", submission.filename)
    ]
    if sight.scored:
        files.append(
            Download("Figures", f"{base}/figures.csv", None, "table", "CSV: by dataset, ways, shots")
        )
        if sight.phase.tasks:
            files.append(Download("Results of each task", f"{base}/tasks.csv", None, "table", "CSV"))
        files.append(Download("Report", f"{base}/report.html", None, "file-text", "one HTML file"))
        files.append(
            Download("Receipts", f"{base}/receipts.json", None, "file-text", "JSON, signed by the site")
        )
    if len(runs) == 1:
        files += [file for _, of_run in kept for file in of_run]
    if runs:
        files.append(Download("Log", f"{base}/log.txt", None, "terminal", "plain text"))
    files.append(Download("Everything", f"{base}/everything.zip", None, "download", "one zip"))
    return files


def _files_of_runs(session: Session, sight: Sight, runs: Sequence[Run]) -> list[tuple[str, list[Download]]]:
    """What each run is called, and the files that it has kept and the viewer may have; runs without are left out."""
    kept = kept_files(session, sight, runs)
    sizes = {(one.run_id, one.name): one.size for files in kept.values() for one in files}
    base = f"/api/v1/submissions/{sight.submission.id}/runs"
    found = (
        (
            run_title(run),
            [
                Download(title, f"{base}/{run.id}/artifacts/{name}", sizes[run.id, name], "chart-line", use)
                for name, (title, use) in KEPT_FILES.items()
                if (run.id, name) in sizes
            ],
        )
        for run in runs
    )
    return [(title, files) for title, files in found if files]


def stream_state(session: Session, sight: Sight, runs: list[Run]) -> dict[str, Any]:
    """What the live stream sends when something has changed."""
    return {
        "state": shown_state(sight.submission, runs),
        "ended": not is_live(runs),
        "runs": [run.to_dict() for run in show_runs(session, sight, runs)],
    }
