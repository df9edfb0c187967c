"""Tells a team what became of its submission: the score with its rank, or the reason of a failure.

How it compares with the team's best other submission takes a model of the board: a mail says it when it goes out, the
page when it is looked at.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.messages import tell_team
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.service import live_version
from anyshot_platform.foundation.filters import capitalized, count, interval, join_texts, score
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.domain_events import SubmissionEnded
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.submissions.arrivals import words_on_counting
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.faults import fault_of
from anyshot_platform.judging.visibility.phases import PhaseSight, look_at_phase
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.standings.entries.selection import COMPETES
from anyshot_platform.standings.entries.service import list_entries
from anyshot_platform.standings.entries.states import EntryState
from anyshot_platform.standings.leaderboards.comparison import find_best_other
from anyshot_platform.standings.leaderboards.reading import find_place_of
from anyshot_platform.standings.leaderboards.trust import read_beside

_ENDED = {
    SubmissionStatus.FINISHED: "Submission {name} is scored",
    SubmissionStatus.FAILED: "Submission {name} failed",
    SubmissionStatus.CANCELLED: "Submission {name} was cancelled",
}
_FINAL_ENDED = {
    SubmissionStatus.FINISHED: "Final entry {name} is scored",
    SubmissionStatus.FAILED: "Final entry {name} failed",
    SubmissionStatus.CANCELLED: "Final entry {name} was cancelled",
}
_SMOKE_ENDED = {
    SubmissionStatus.FINISHED: "Smoke test {name} has finished",
    SubmissionStatus.FAILED: "Smoke test {name} failed",
    SubmissionStatus.CANCELLED: "Smoke test {name} was cancelled",
}


def tell_result(session: Session, ended: SubmissionEnded) -> None:
    """Leave the members of the team a message with the answer, as far as the phase shows it to participants."""
    submission = ended.submission
    if standing_of(submission).deleted:
        return
    finished = submission.status == SubmissionStatus.FINISHED
    found = _result(session, submission) if finished else ""
    places = _places(session, submission) if finished else []
    reason = fault_of(ended.failure, details=False).message if ended.failure else ""
    head = _head(submission)
    told = join_texts((found, *places[:1]), by=", ")
    where = f"{submission.competition.title}, {submission.phase.name}"
    tell_team(
        session,
        submission.team_id,
        kind=f"submission.{submission.status}",
        title=join_texts((head, told), by=": "),
        # The title has the first place.
        body=join_texts((where, *places[1:], reason, words_on_counting(submission)), by="\n"),
        url=f"/submissions/{submission.id}",
        submission_id=submission.id if found else None,
    )


def _head(submission: Submission) -> str:
    filename = submission.filename[-60:]
    if submission.kind == SubmissionKind.FINAL:  # its number counts in the final phase alone: nobody knows it
        return _FINAL_ENDED[submission.status].format(name=filename)
    known = _SMOKE_ENDED if submission.kind == SubmissionKind.SMOKE else _ENDED
    return known[submission.status].format(name=f"{submission.number} ({filename})")


def _sight(submission: Submission) -> PhaseSight:
    return look_at_phase(submission.phase, Role.PARTICIPANT)


def _result(session: Session, submission: Submission) -> str:
    """The score with its interval; that of a smoke test is on public tasks, and no secret."""
    if submission.kind == SubmissionKind.SMOKE:
        query = select(RunScore).join(Run, Run.id == RunScore.run_id).order_by(Run.generation.desc())
        found = session.scalars(query.where(RunScore.submission_id == submission.id).limit(1)).first()
        if found is None:
            return ""
        return f"{score(found.value)} on {count(found.tasks, 'public task')}"
    if submission.score is None or not _sight(submission).scores:
        return ""
    return f"{score(submission.score)} {interval(submission.half_width)}".strip()


def say_change(session: Session, storage: Storage, submission_id: str) -> str:
    """What is to be said of it beside the team's best other submission, in the words of its page."""
    submission = session.get(Submission, submission_id)
    if submission is None or standing_of(submission).deleted or not _sight(submission).scores:
        return ""
    if submission.kind not in COMPETES or submission.score is None:
        return ""
    version = live_version(session, submission.phase)
    best = find_best_other(session, version, submission)
    if best is None or best.score is None:
        return ""
    difference = submission.score - best.score
    sees_board = not _sight(submission).board_hidden
    (said,) = read_beside(session, storage, version, [(submission.id, best.id)], sees_board=sees_board)
    if said is not None:
        other = f"your best other (#{best.number})"
        return capitalized(said.words("this submission", other))
    if version.rule.relative:  # two scores alone do not tell which is ahead
        return ""
    words = (
        "{difference} above your best other submission, #{number}"
        if difference >= 0
        else "{difference} below your best other submission, #{number}"
    )
    return words.format(difference=score(abs(difference)), number=best.number)


def _places(session: Session, submission: Submission) -> list[str]:
    """Where it stands on the boards that participants see, a line a league."""
    if submission.kind == SubmissionKind.SMOKE or _sight(submission).board_hidden:
        return []
    version = live_version(session, submission.phase)
    places = []
    for row in list_entries(session, submission.phase, team_id=submission.team_id):
        if row.submission.id == submission.id and row.entry.state == EntryState.STANDING:
            place = find_place_of(session, version, row.league, submission)
            if place is not None:
                places.append(f"rank {place[0]:,} of {place[1]:,} in {row.league.name}")
    return places
