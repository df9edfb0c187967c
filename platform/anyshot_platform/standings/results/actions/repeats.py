"""The entries of a final phase that failed, and which of their runs the rule repeats."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.leagues.models import LeagueEntry
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.execution.repeating import is_repeatable, newest_runs, unfinished_seeds
from anyshot_platform.judging.execution.settlement import decisive_failure
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.standing import counting

_ENDED_BADLY = (SubmissionStatus.FAILED, SubmissionStatus.CANCELLED)


@dataclass(frozen=True)
class FailedEntry:
    """An entry of a final phase that has no score: which of its seeded runs lack, and whether they are repeated."""

    submission: Submission
    seeds: list[int]  # places of the seeds, from 0
    of: int  # how many seeds an entry has
    repeated: bool
    why: str

    @property
    def words(self) -> str:
        """One sentence for organizers."""
        runs = join_texts((place + 1 for place in self.seeds), by=" and ")
        which = f"run {runs} of {self.of}" if len(self.seeds) == 1 else f"runs {runs} of {self.of}"
        begun = f"{self.submission.team.name}: {which} {self.why}"
        if not self.repeated:
            return f"{begun}; not repeated."
        kept = self.of - len(self.seeds)
        if not kept:
            return f"{begun}; repeated with the same seeds."
        others = "other one is" if kept == 1 else f"other {kept} are"
        return f"{begun}; repeated with the same seeds; the {others} kept."


def find_failed(session: Session, phase: Phase) -> list[FailedEntry]:
    """The entries of a final phase that ended without a score, and what the rule says about each.

    What failed through no fault of its team is repeated. What its own code failed on, and what somebody cancelled, is
    not. Entries that were replaced, withdrawn, disqualified or deleted are left out.
    """
    admitted = select(LeagueEntry.submission_id).where(LeagueEntry.status == EntryStatus.ADMITTED)
    query = select(Submission).where(
        Submission.phase_id == phase.id,
        Submission.kind == SubmissionKind.FINAL,
        Submission.status.in_(_ENDED_BADLY),
        Submission.id.in_(admitted),
        counting(),
    )
    return [_judge(session, phase, row) for row in session.scalars(query.order_by(Submission.created_at))]


def _judge(session: Session, phase: Phase, submission: Submission) -> FailedEntry:
    version = live_version(session, phase)
    runs = newest_runs(session, submission, version)
    failure = decisive_failure(runs)
    repeated = failure is not None and is_repeatable(submission, failure)
    ended = failure.verdict.words if failure is not None and failure.verdict else "no verdict"
    why = "failed through no fault of the team" if repeated else f"ended with “{ended}”"
    return FailedEntry(submission, unfinished_seeds(runs), version.seeded_runs, repeated, why)


def repeatable(session: Session, phase: Phase) -> list[FailedEntry]:
    """Those whose runs are repeated."""
    return [row for row in find_failed(session, phase) if row.repeated]
