"""The smoke test: a few tasks on public data, to see that a submission works. It stands on no board."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from anyshot_core.protocols import Roles
from anyshot_core.wire.jobs import Budget, LogPolicy, PackRef, Smoke
from anyshot_platform.judging.kinds.kind import Case, NotAssignable, Planning
from anyshot_platform.judging.kinds.scored import ScoredKind
from anyshot_platform.judging.kinds.shown import count_shown
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.secrets import RunSecrets, roles_of, run_secrets, secrets_of
from anyshot_platform.runs.states import RunKind
from anyshot_platform.sight.logs import smoke_logs
from anyshot_platform.sight.smoke import smoke_pool
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind


class SmokeTest(ScoredKind):
    """One run, with its own tasks, budget, pool and secrets; where a phase goes dataset by dataset, of one dataset."""

    name = RunKind.SMOKE
    title = "Smoke test"
    counts = False

    def starts(self, submission: Submission) -> bool:
        """What was handed in as a smoke test."""
        return submission.kind == SubmissionKind.SMOKE

    def plan(self, planning: Planning) -> list[Run]:
        """One run, whatever the phase's number of seeds."""
        return [planning.run(self, tasks_total=planning.submission.phase.smoke_tasks)]

    def tasks(self, run: Run) -> int:
        """The few that the phase has for smoke tests."""
        assert run.submission is not None  # smoke tests are of submissions
        return run.submission.phase.smoke_tasks

    def all_tasks(self, case: Case) -> int:
        """The few that the phase has for smoke tests."""
        return case.phase.smoke_tasks

    def by_dataset(self, run: Run) -> bool:
        """Never: it is of one dataset anyway."""
        return False

    def seconds(self, run: Run) -> float:
        """The phase's budget of smoke tests."""
        assert run.submission is not None  # smoke tests are of submissions
        return run.submission.phase.smoke_seconds

    def budget(self, case: Case) -> Budget:
        """The phase's budget of smoke tests, and its usual limit on a task."""
        return Budget(run_seconds=case.phase.smoke_seconds, task_seconds=case.version.task_seconds)

    def secrets(self, version: PhaseVersion, run: Run) -> RunSecrets:
        """Unrelated ones: nothing of the phase's tasks can be learned here."""
        return run_secrets(secrets_of(version).smoke(), 0, version.train_seeds[run.seed_index])

    def pools(self, case: Case) -> tuple[str | None, str]:
        """The phase's public pool, to train and to test on; raises `NotAssignable`."""
        public = smoke_pool(case.session, case.phase)
        if public is None:
            raise NotAssignable(
                "The phase's smoke test has no public data: see the smoke test in its settings."
            )
        return public.id, public.id

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """All packs, or the first where the phase goes dataset by dataset."""
        most = 1 if case.version.each_dataset else None
        train, test = super().packs(case)
        return train[:most], test[:most]

    def datasets_to_hold_out_of(self, session: Session, phase: Phase, version: PhaseVersion) -> int | None:
        """Of the packs above: what the phase says of validation does not hold here (`training_protocols`)."""
        if version.each_dataset:
            return 1
        roles, public = roles_of(version), smoke_pool(session, phase)
        return count_shown(session, Roles(roles.test) if roles else None, public, public) or None

    def training_seconds(self, run: Run) -> float | None:
        """Meta-training has no limit of its own."""
        return None

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """None: training and test share the public pool, which has nothing to hide."""
        return {}

    def logs(self, case: Case) -> LogPolicy:
        """What smoke tests show."""
        return smoke_logs(case.phase)

    def hides_names(self, case: Case) -> bool:
        """The data are public."""
        return False

    def keeps_learner(self, case: Case) -> bool:
        """Nothing is tested with it again."""
        return False

    def job(self, case: Case) -> Smoke:
        """The same as an evaluation, on a few public tasks."""
        return Smoke(**self.tested_fields(case))

    def called(self, run: Run, parts: str) -> str:
        """No words: a submission has one smoke test, so its run needs no number."""
        return ""


SMOKE = SmokeTest()
