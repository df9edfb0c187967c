"""The smoke test: a few tasks on public data, to see that a submission works. It stands on no board."""

from dataclasses import dataclass

from anyshot_core.wire.jobs import Budget, LogPolicy, PackRef, Smoke
from anyshot_platform.judging.execution.kinds.kind import Case, NotAssignable, Planning
from anyshot_platform.judging.execution.kinds.scored import RunAllowance, RunData, RunDraws, ScoredKind
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.secrets import RunSecrets, run_secrets, secrets_of
from anyshot_platform.judging.runs.states import RunKind
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.logs import smoke_logs
from anyshot_platform.judging.visibility.smoke import smoke_pool


class SmokeData(RunData):
    """The phase's public pool, to train and to test on, which has nothing to hide."""

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """All packs, or the first where the phase goes dataset by dataset; raises `NotAssignable`."""
        public = smoke_pool(case.session, case.phase)
        if public is None:
            raise NotAssignable(
                "The phase's smoke test has no public data: see the smoke test in its settings."
            )
        packs = case.packs(public.id)[: 1 if case.version.each_dataset else None]
        return packs, packs


@dataclass(frozen=True)
class SmokeAllowance(RunAllowance):
    """A budget and a log policy of its own."""

    def seconds(self, run: Run) -> float:
        """The phase's budget of smoke tests."""
        assert run.submission is not None  # smoke tests are of submissions
        return run.submission.phase.smoke_seconds

    def training_seconds(self, run: Run) -> float | None:
        """Meta-training has no limit of its own."""
        return None

    def budget(self, case: Case) -> Budget:
        """The phase's budget of smoke tests, and its usual limit on a task."""
        return Budget(run_seconds=case.phase.smoke_seconds, task_seconds=case.version.task_seconds)

    def logs(self, case: Case) -> LogPolicy:
        """What smoke tests show."""
        return smoke_logs(case.phase)

    def hides_names(self, case: Case) -> bool:
        """The data are public."""
        return False

    def keeps_learner(self, case: Case) -> bool:
        """Nothing is tested with it again."""
        return False


def smoke_secrets(case: Case) -> RunSecrets:
    """Unrelated ones: nothing of the phase's tasks can be learned here."""
    train_seed = case.version.train_seeds[case.run.seed_index]
    return run_secrets(secrets_of(case.version).smoke(), 0, train_seed)


class SmokeTest(ScoredKind):
    """One run, with its own tasks, budget, pool and secrets; where a phase goes dataset by dataset, of one dataset."""

    name = RunKind.SMOKE
    title = "Smoke test"
    counts = False
    resumes = False
    data = SmokeData()
    draws = RunDraws(smoke_secrets)
    allowance = SmokeAllowance(data)

    def starts(self, submission: Submission) -> bool:
        """What was handed in as a smoke test."""
        return submission.kind == SubmissionKind.SMOKE

    def plan(self, planning: Planning) -> list[Run]:
        """One run, whatever the phase's number of seeds."""
        return [planning.run(self, tasks_total=planning.submission.phase.smoke_tasks)]

    def job(self, case: Case) -> Smoke:
        """The same as an evaluation, on a few public tasks."""
        return Smoke(**self.tested_fields(case))

    def called(self, run: Run, parts: str) -> str:
        """No words: a submission has one smoke test, so its run needs no number."""
        return ""


SMOKE = SmokeTest()
