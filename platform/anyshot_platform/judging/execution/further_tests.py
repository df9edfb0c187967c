"""Plans the further tests that a phase's submissions lack, once their own score is there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.judging.domain_events import ScoresChanged
from anyshot_platform.judging.evaluations.models import FurtherTest
from anyshot_platform.judging.evaluations.points import PhasePoint, list_points
from anyshot_platform.judging.execution.joining import finished_runs
from anyshot_platform.judging.execution.kinds import FURTHER, META_TEST, starting_kind
from anyshot_platform.judging.execution.queueing import enqueue
from anyshot_platform.judging.execution.service import cancel_run
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.standing import kept


def follow_scores(session: Session, changed: ScoresChanged) -> None:
    """Test what a team's submissions lack under the live version."""
    version = changed.version
    if changed.leaving is None and version.number == version.phase.live_version and version.phase.evaluations:
        queue_missing(session, version, team_id=changed.team_id)


def queue_missing(
    session: Session, version: PhaseVersion, *, team_id: str | None = None, failed_too: bool = False
) -> tuple[int, int]:
    """Queue each test that a scored submission lacks: how many, and how many submissions have no learner any more.

    What failed is tried again where `failed_too` says so.
    """
    queued, without = 0, 0
    for missing in _find_missing(session, version, team_id, failed_too=failed_too):
        tests = [
            test
            for run, points in _together(missing.tests)
            for test in FURTHER.plan_tests(session, missing.submission, run, points, version)
        ]
        enqueue(session, [test.run for test in tests if test.place == 0])
        session.add_all(tests)
        queued, without = queued + len(tests), without + missing.lacks_learner
    session.flush()
    return queued, without


def count_missing(session: Session, version: PhaseVersion, *, failed_too: bool = False) -> tuple[int, int]:
    """What `queue_missing` would do."""
    found = list(_find_missing(session, version, None, failed_too=failed_too))
    return sum(len(one.tests) for one in found), sum(one.lacks_learner for one in found)


@dataclass(frozen=True)
class _Missing:
    """The tests that a submission lacks and can have, each with the run whose learner it takes."""

    submission: Submission
    tests: Sequence[tuple[PhasePoint, Run]]
    lacks_learner: bool


def _find_missing(
    session: Session, version: PhaseVersion, team_id: str | None, *, failed_too: bool
) -> Iterator[_Missing]:
    points = list_points(session, version)
    for submission in _scored(session, version, team_id) if points else ():
        known = _known(session, version, submission, failed_too=failed_too)
        sources = _learners(session, submission, version)
        missing = [
            (point, place)
            for point in points
            for place in range(version.seeded_runs)
            if (point.digest, place) not in known
        ]
        tests = [(point, sources[place]) for point, place in missing if place in sources]
        yield _Missing(submission, tests, len(tests) < len(missing))


def _together(tests: Sequence[tuple[PhasePoint, Run]]) -> Iterator[tuple[Run, list[PhasePoint]]]:
    """What one run tests: the points of an evaluation with one learner."""
    found: dict[tuple[str, str], tuple[Run, list[PhasePoint]]] = {}
    for point, run in tests:
        found.setdefault((point.evaluation.short_name, run.id), (run, []))[1].append(point)
    yield from found.values()


def cancel_dropped(session: Session, version: PhaseVersion, *, by: str) -> int:
    """Cancel the runs that have not ended and test nothing of the phase's evaluations any more; how many tests."""
    wanted = {point.digest for point in list_points(session, version)}
    rows = session.scalars(
        select(FurtherTest)
        .join(Run, Run.id == FurtherTest.run_id)
        .where(FurtherTest.phase_version_id == version.id, Run.state.not_in(ENDED))
    ).all()
    needed = {row.run_id for row in rows if row.digest in wanted}
    dropped = [row for row in rows if row.run_id not in needed]
    for run in {row.run_id: row.run for row in dropped}.values():
        cancel_run(session, run, by=by)
    return len(dropped)


def _scored(session: Session, version: PhaseVersion, team_id: str | None) -> list[Submission]:
    query = (
        select(Submission)
        .join(SubmissionScore, SubmissionScore.submission_id == Submission.id)
        .where(SubmissionScore.phase_version_id == version.id, kept())
        .order_by(Submission.created_at, Submission.id)
    )
    if team_id is not None:
        query = query.where(Submission.team_id == team_id)
    return [row for row in session.scalars(query) if starting_kind(row).counts]


def _known(
    session: Session, version: PhaseVersion, submission: Submission, *, failed_too: bool
) -> set[tuple[str, int]]:
    """What is tested, or on its way: by what it is and seed; of failed ones only where they are not tried again."""
    rows = session.scalars(
        select(FurtherTest)
        .options(joinedload(FurtherTest.run))
        .where(FurtherTest.phase_version_id == version.id, FurtherTest.submission_id == submission.id)
    )
    return {(row.digest, row.seed_index) for row in rows if not (failed_too and row.failed)}


def _learners(session: Session, submission: Submission, version: PhaseVersion) -> dict[int, Run]:
    """The runs whose learner is kept, by seed: that of a re-scored run is the one that it came from."""
    found = {
        run.seed_index: META_TEST.origin(session, run)
        for run in finished_runs(session, submission, version)
        if META_TEST.can_start_from(run)
    }
    there = set(
        session.scalars(
            select(Artifact.run_id).where(
                Artifact.run_id.in_([run.id for run in found.values()]),
                Artifact.name == META_TEST.source_file,
                Artifact.final,
                Artifact.expired_at.is_(None),
            )
        )
    )
    return {place: run for place, run in found.items() if run.id in there}
