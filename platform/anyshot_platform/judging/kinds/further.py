"""A further test of a learner that an earlier run has kept: other tasks, no score that ranks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import write_seed
from anyshot_core.wire.jobs import MetaTest, PackRef
from anyshot_core.wire.worker_api import Complete
from anyshot_platform.database import now
from anyshot_platform.evaluations.models import FurtherTest
from anyshot_platform.evaluations.points import PhasePoint
from anyshot_platform.judging.kinds.kind import Case
from anyshot_platform.judging.kinds.scored import Scored, kept_of_source, read_protocol
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.phases.models import PhaseVersion
from anyshot_platform.queue import priorities
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.planning import demands
from anyshot_platform.runs.secrets import RunSecrets, complete_protocol, secrets_of
from anyshot_platform.runs.states import RunKind
from anyshot_platform.scores.verification import WrongResult, verify
from anyshot_platform.submissions.models import Submission
from anyshot_scoring.summary import RunSummary


class FurtherRun(Scored):
    """Meta-test alone, on the tasks of one point; like a report it is of no submission until its score is kept."""

    name = RunKind.FURTHER
    title = "Further evaluation"
    counts = False
    opens_zip = False

    def plan_test(
        self, session: Session, submission: Submission, source: Run, point: PhasePoint
    ) -> FurtherTest:
        """The test of the learner of `source` at a point, with its run, not queued yet."""
        run = Run(
            kind=self.name,
            competition_id=submission.competition_id,
            phase_id=submission.phase_id,
            phase_version_id=source.phase_version_id,
            seed_index=source.seed_index,
            source_run_id=source.id,
            priority=priorities.BULK,
            bulk=True,
            tasks_total=point.tasks,
            **demands(source.phase_version),
        )
        return FurtherTest(
            submission_id=submission.id,
            phase_version_id=source.phase_version_id,
            run=run,
            evaluation=point.evaluation.short_name,
            seed_index=source.seed_index,
            digest=point.digest,
            protocol=point.protocol,
            pool_version_id=point.pool.id,
            domain=point.point.domain,
        )

    def submission_of(self, case: Case) -> Submission:
        """Whose learner it tests."""
        return _test_of(case.session, case.run).submission

    def tasks(self, run: Run) -> int:
        """As it was planned."""
        return run.tasks_total

    def all_tasks(self, case: Case) -> int:
        """As it was planned."""
        return case.run.tasks_total

    def by_dataset(self, run: Run) -> bool:
        """Never: there is one learner."""
        return False

    def secrets(self, version: PhaseVersion, run: Run) -> RunSecrets:
        """Unrelated tasks of its own, with the split of the phase."""
        raise NotImplementedError("which evaluation it is stands in its test: see `drawn_fields`")

    def drawn_fields(self, case: Case) -> dict[str, Any]:
        """Protocol, seeds and keys: those of the evaluation, which has one key for all of its points."""
        test, known, place = _test_of(case.session, case.run), secrets_of(case.version), case.run.seed_index
        own = known.evaluation(test.evaluation)
        return {
            "protocol": read_protocol(complete_protocol(test.protocol, known.class_split())),
            "test_seed": write_seed(own.tasks(place)),
            "query_key": own.query_order(place).hex(),
            "train_seed": case.version.train_seeds[place],
            "fingerprint": known.fingerprint(["further", test.digest]),
        }

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """None to train on; of its pool the datasets of its domain."""
        test = _test_of(case.session, case.run)
        packs = case.packs(test.pool_version_id)
        return [], [pack for pack in packs if test.domain is None or pack.domain == test.domain]

    def training_fields(self, case: Case) -> dict[str, Any]:
        """Nothing is trained."""
        return {}

    def keeps_learner(self, case: Case) -> bool:
        """It is kept already."""
        return False

    def job(self, case: Case) -> MetaTest:
        """To a worker it is a meta-test like any other."""
        return MetaTest(**self.tested_fields(case), learner=kept_of_source(case, "learner.bin"))

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Keep a score that was verified with its test: it is on no board, and settles nothing."""
        if not isinstance(result.summary, RunSummary):
            raise WrongResult("A score was asked for, and a report came.")
        files = {reference.name: reference.digest for reference in result.artifacts}
        verify(result.summary, self.tasks(run), files, storage)
        test = _test_of(session, run)
        test.summary, test.scored_at = result.summary, now()

    def called(self, run: Run, parts: str) -> str:
        """What a page calls it."""
        return self.title


def _test_of(session: Session, run: Run) -> FurtherTest:
    """The row that says what a run tests."""
    return session.scalars(select(FurtherTest).where(FurtherTest.run_id == run.id)).one()


FURTHER = FurtherRun()
