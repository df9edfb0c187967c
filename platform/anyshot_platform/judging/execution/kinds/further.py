"""A further test of a learner that an earlier run has kept: other tasks, no score that ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols import Protocol
from anyshot_core.protocols.keys import Seed
from anyshot_core.wire.jobs import MetaTest, MetaTestPart, PackRef
from anyshot_core.wire.worker_api import Complete, PartFailure
from anyshot_platform.contest.phases import priorities
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.evaluations.models import FurtherTest
from anyshot_platform.judging.evaluations.points import PhasePoint
from anyshot_platform.judging.execution.kinds.kind import Case
from anyshot_platform.judging.execution.kinds.scored import (
    RunAllowance,
    RunData,
    RunDraws,
    RunOutcome,
    ScoredKind,
    kept_of_source,
    read_protocol,
)
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.planning import demands
from anyshot_platform.judging.runs.records import KEPT_OF_DETAIL, KEPT_OF_MESSAGE
from anyshot_platform.judging.runs.secrets import RunSecrets, complete_protocol, run_secrets, secrets_of
from anyshot_platform.judging.runs.states import RunKind
from anyshot_platform.judging.scores.verification import RESULTS, WrongResult, read_table, verify
from anyshot_platform.judging.submissions.models import Submission
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.summary import RunSummary, summarize
from anyshot_scoring.table import TaskTable


class FurtherData(RunData):
    """The datasets that its tests are on; nothing is trained, as the learner is kept from the evaluation."""

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """None to train on; of its pool the datasets of its domain, all where it has several points."""
        tests = _tests_of(case.session, case.run)
        packs = case.packs(tests[0].pool_version_id)
        return [], packs if len(tests) > 1 else [packs[place] for place in _places(tests[0], packs)]


def further_secrets(case: Case) -> RunSecrets:
    """Those of the evaluation, which has one key for all of its points, with the split of the phase."""
    known, place = secrets_of(case.version), case.run.seed_index
    own = known.evaluation(_tests_of(case.session, case.run)[0].evaluation)
    found = run_secrets(own, place, case.version.train_seeds[place])
    return replace(found, class_split=known.class_split())


@dataclass(frozen=True)
class FurtherDraws(RunDraws):
    """From the secrets of the evaluation, by its points."""

    def protocol(self, case: Case, split: Seed) -> Protocol:
        """That of the first point."""
        return read_protocol(complete_protocol(_tests_of(case.session, case.run)[0].protocol, split))

    def fingerprint(self, case: Case) -> str:
        """By all points."""
        tests = _tests_of(case.session, case.run)
        return secrets_of(case.version).fingerprint(["further", *(test.digest for test in tests)])


@dataclass(frozen=True)
class FurtherAllowance(RunAllowance):
    """That of the phase, without a learner."""

    def keeps_learner(self, case: Case) -> bool:
        """It is kept already."""
        return False


@dataclass(frozen=True)
class FurtherOutcome(RunOutcome):
    """A score with each test: it is on no board, and settles nothing."""

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Keep each score that was verified with its test; raises `WrongResult` for what cannot be true."""
        if not isinstance(result.summary, RunSummary):
            raise WrongResult("A score was asked for, and a report came.")
        files = {reference.name: reference.digest for reference in result.artifacts}
        tests, moment = _tests_of(session, run), now()
        several = len(tests) > 1
        verify(result.summary, result.summary.tasks if several else run.tasks_total, files, storage)
        summaries = _summaries(run, tests, files, storage) if several else [result.summary]
        why = {failure.part: _kept(failure) for failure in result.failures}
        for test, summary in zip(tests, summaries, strict=True):
            test.summary, test.scored_at = summary, None if summary is None else moment
            test.failure = why.get(test.place) if summary is None else None


class FurtherRun(ScoredKind):
    """Meta-test alone, on the tasks of the points of an evaluation; like a report it is of no submission until its
    scores are kept."""

    name = RunKind.FURTHER
    title = "Further evaluation"
    counts = False
    opens_zip = False
    data = FurtherData()
    draws = FurtherDraws(further_secrets)
    allowance = FurtherAllowance(data)
    outcome = FurtherOutcome()

    def plan_tests(
        self,
        session: Session,
        submission: Submission,
        source: Run,
        points: Sequence[PhasePoint],
        version: PhaseVersion | None = None,
    ) -> list[FurtherTest]:
        """Tests of the learner of `source` at points of one evaluation, with the one run of all, not queued yet.

        They are of `version`, which may have taken its results over from the version of `source`; of that without one.
        """
        version = version or source.phase_version
        run = Run(
            kind=self.name,
            competition_id=submission.competition_id,
            phase_id=submission.phase_id,
            phase_version_id=version.id,
            seed_index=source.seed_index,
            source_run_id=source.id,
            priority=priorities.BULK,
            bulk=True,
            tasks_total=sum(point.tasks for point in points),
            **demands(version),
        )
        return [
            FurtherTest(
                submission_id=submission.id,
                phase_version_id=version.id,
                run=run,
                evaluation=point.evaluation.short_name,
                place=place,
                seed_index=source.seed_index,
                digest=point.digest,
                protocol=point.protocol,
                pool_version_id=point.pool.id,
                domain=point.point.domain,
            )
            for place, point in enumerate(points)
        ]

    def submission_of(self, case: Case) -> Submission:
        """Whose learner it tests."""
        return _tests_of(case.session, case.run)[0].submission

    def job(self, case: Case) -> MetaTest:
        """To a worker it is a meta-test like any other, of several parts where it has several points."""
        tests, fields = _tests_of(case.session, case.run), self.tested_fields(case)
        split, each = secrets_of(case.version).class_split(), _tasks_each(case.run, tests)
        parts = [
            MetaTestPart(
                protocol=read_protocol(complete_protocol(test.protocol, split)),
                tasks=each,
                packs=_places(test, fields["meta_test"]),
            )
            for test in tests
        ]
        learner = kept_of_source(case, "learner.bin")
        return MetaTest(**fields, learner=learner, parts=parts if len(parts) > 1 else [])

    def called(self, run: Run, parts: str) -> str:
        """What a page calls it."""
        return self.title


def _tests_of(session: Session, run: Run) -> Sequence[FurtherTest]:
    """The rows that say what a run tests, in their order."""
    query = select(FurtherTest).where(FurtherTest.run_id == run.id).order_by(FurtherTest.place)
    return session.scalars(query).all()


def _tasks_each(run: Run, tests: Sequence[FurtherTest]) -> int:
    """The tasks of a point: all points of an evaluation have as many."""
    return run.tasks_total // len(tests)


def _kept(told: PartFailure) -> PartFailure:
    words = {"message": told.message[:KEPT_OF_MESSAGE], "detail": told.detail[:KEPT_OF_DETAIL]}
    return told.model_copy(update=words)


def _places(test: FurtherTest, packs: Sequence[PackRef]) -> list[int]:
    """Which of a pool's packs are of the test's domain."""
    return [place for place, pack in enumerate(packs) if test.domain is None or pack.domain == test.domain]


def _summaries(
    run: Run, tests: Sequence[FurtherTest], files: dict[str, str], storage: Storage
) -> list[RunSummary | None]:
    """Of each test what the run's table says of its tasks, numbered through; None where it has none: it failed."""
    if RESULTS not in files:
        raise WrongResult("A run of several tests came without its table of results.")
    table, each = read_table(files, storage), _tasks_each(run, tests)
    if len(table) and not 0 <= table.task.min() <= table.task.max() < run.tasks_total:
        raise WrongResult(f"{RESULTS} has tasks beyond the {run.tasks_total} that were asked for.")
    return [_summary(table, place * each, each) for place in range(len(tests))]


def _summary(table: TaskTable, first: int, count: int) -> RunSummary | None:
    own = table.select((table.task >= first) & (table.task < first + count))
    if not len(own):
        return None
    try:
        return summarize(replace(own, task=own.task - first), range(count))
    except ScoringError as error:
        raise WrongResult(f"{RESULTS} has a test without all of its tasks: {error}") from error


FURTHER = FurtherRun()
