"""What one viewer sees of one submission. The object comes with the access policy, and is the only way to a score."""

from dataclasses import dataclass, replace

from anyshot_core.exits import in_steps, large_groups
from anyshot_core.exports.files import FILES as EXPORTED
from anyshot_core.exports.files import ON_PUBLIC_IMAGES
from anyshot_core.wire.worker_api import LogPolicy, PartFailure, Usage
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.errors import Forbidden, NotFound
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.faults import (
    EvaluationFault,
    Fault,
    fault_of,
    fault_of_test,
    progress_of,
)
from anyshot_platform.judging.visibility.logs import shown_logs, smoke_logs
from anyshot_platform.judging.visibility.names import DatasetNames, hide_summary
from anyshot_platform.judging.visibility.phases import PhaseSight, look_at_phase
from anyshot_platform.judging.visibility.standing import Standing, standing_of
from anyshot_scoring.summary import RunSummary

# What a team may download of its runs; predictions and results of hidden tasks are the organizers'.
_OF_THE_TEAM = frozenset({"log.txt", "logger.zip"})
_GROUPS = ("by_dataset", "by_domain", "by_ways", "by_shots")


class TasksNotShown(Forbidden):
    """The phase shows figures by dataset, ways and shots, and not yet the rows of single tasks."""

    code = "tasks_not_shown"


@dataclass(frozen=True)
class Sight:
    """One viewer's sight of one submission."""

    submission: Submission
    phase: PhaseSight

    @property
    def everything(self) -> bool:
        """Whether the viewer is a reviewer or above."""
        return self.phase.everything

    @property
    def score(self) -> float | None:
        """The score under the live version; None where there is none or the viewer may not see it."""
        return self.submission.score if self.phase.scores else None

    @property
    def half_width(self) -> float | None:
        """Half the width of the score's interval, shown and hidden with the score."""
        return self.submission.half_width if self.phase.scores else None

    @property
    def scored(self) -> bool:
        """Whether there is a score that the viewer may see."""
        return self.score is not None

    @property
    def confusion(self) -> bool:
        """Whether the viewer may see which classes are mixed up."""
        return self.scored and self.phase.confusion

    @property
    def evaluations(self) -> bool:
        """Whether the viewer may see its further evaluations."""
        return self.scored and self.phase.evaluations

    @property
    def logs(self) -> LogPolicy:
        """How much of the output."""
        if self.everything:
            return LogPolicy.EVERYTHING
        smoke = self.submission.kind == SubmissionKind.SMOKE
        return (smoke_logs if smoke else shown_logs)(self.submission.phase)

    @property
    def standing(self) -> Standing:
        """Whether the submission is disqualified, withdrawn, deleted."""
        return standing_of(self.submission)

    @property
    def exact(self) -> bool:
        """Whether the viewer may know exactly what runs used, and the means of few tasks: not of hidden tasks."""
        return self.phase.tasks or self.logs == LogPolicy.EVERYTHING

    def used(self, run: Run) -> Usage | None:
        """What a run used, None while that is not known. Code that sees hidden images can choose it: shown in steps."""
        used, version = run.usage, run.phase_version
        if used is None or self.exact:
            return used
        cpu_seconds = in_steps(used.cpu_seconds, version.cpus * version.run_seconds)
        peak = int(in_steps(used.memory_peak_bytes, version.memory_bytes))
        return used.model_copy(
            update={"cpu_seconds": cpu_seconds, "memory_peak_bytes": peak, "odd_seconds": {}}
        )

    def summary(self, summary: RunSummary, names: DatasetNames) -> RunSummary:
        """A run's summary with the groups, and the names of datasets, that the viewer may know."""
        shown = hide_summary(summary, names)
        if self.exact:
            return shown
        groups = {by: large_groups(getattr(shown, by)) for by in _GROUPS}
        return replace(shown, **groups)

    def may_have(self, artifact: str) -> bool:
        """Whether the viewer may have a file of that name of the submission's runs."""
        if self.everything:
            return True
        if artifact in EXPORTED:
            shown = artifact not in ON_PUBLIC_IMAGES or is_public(self.submission.phase.live.meta_test)
            return self.scored and self.phase.exports and shown
        return artifact in _OF_THE_TEAM and self.logs != LogPolicy.NOTHING

    def fault(self, run: Run) -> Fault:
        """What the viewer is told of the failure of one of the submission's runs."""
        return fault_of(run, details=self.everything)

    def fault_of_test(self, run: Run, alone: PartFailure | None) -> EvaluationFault | None:
        """What the viewer is told of a further test that failed, `alone` or with its run; None if nobody said why."""
        return fault_of_test(run, alone, details=self.everything)

    def progress(self, run: Run) -> str:
        """What the viewer is told of where a run stands."""
        return progress_of(run, details=self.everything)

    def require_scored(self) -> None:
        """Raise `NotFound` unless there are results that the viewer may see."""
        if not self.scored:
            raise NotFound("There are no results to see.")

    def require_tasks(self) -> None:
        """Raise `NotFound` or `TasksNotShown` unless the viewer may see the rows of single tasks."""
        self.require_scored()
        if not self.phase.tasks:
            raise TasksNotShown(
                "While this phase is open, results are shown by dataset, ways and shots "
                "(figures.csv), not task by task."
            )


def look(submission: Submission, role: Role | None, *, own: bool) -> Sight | None:
    """What somebody with this role sees of it; `own`: their team's. None: they may not know that it exists."""
    sight = Sight(submission, look_at_phase(submission.phase, role))
    gone = submission.deleted_at is not None or submission.competition.deleted_at is not None
    return sight if sight.everything or (own and not gone) else None
