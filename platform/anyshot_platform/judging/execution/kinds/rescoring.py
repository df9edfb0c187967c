"""Scoring the predictions of an earlier run again: nothing of the submission runs."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from anyshot_core.protocols.keys import write_seed
from anyshot_core.wire.jobs import Rescore
from anyshot_core.wire.worker_api import Usage
from anyshot_platform.contest.phases.states import RescoreMode
from anyshot_platform.judging.execution.kinds.derived import DerivedRun
from anyshot_platform.judging.execution.kinds.kind import Case
from anyshot_platform.judging.execution.kinds.scored import (
    RunDraws,
    RunOutcome,
    kept_of_source,
    read_protocol,
)
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.secrets import task_fingerprint
from anyshot_platform.judging.runs.states import RunKind


@dataclass(frozen=True)
class PredictedDraws(RunDraws):
    """The predictions say which tasks they are of; only which of those are of a dataset follows from the key."""

    def fields(self, case: Case) -> dict[str, Any]:
        """The protocol as the phase says it, and no key that the worker has no use for."""
        version, found = case.version, self.secrets(case)
        return {
            "protocol": read_protocol(version.protocol),
            "test_seed": write_seed(found.tasks) if version.each_dataset else 0,
            "train_seed": found.train_seed,
            "same_test_tasks": found.same_tasks,
            "fingerprint": task_fingerprint(version),
        }


class Rescoring(DerivedRun):
    """A part is scored again as that part."""

    name = RunKind.SCORE
    title = "Scored again"
    opens_zip = False
    draws = PredictedDraws()
    outcome = RunOutcome(boxed=False)
    mode = RescoreMode.SCORE
    source_file = "predictions.parquet"
    borrowers = frozenset({RunKind.SCORE})

    def usage(self, session: Session, run: Run, told: Usage) -> Usage:
        """Predictions that are scored again took what they took when they were made."""
        source = session.get(Run, run.source_run_id) if run.source_run_id else None
        if source is None or source.usage is None:
            return told
        return source.usage.model_copy(update={"platform_seconds": told.platform_seconds})

    def job(self, case: Case) -> Rescore:
        """Score the predictions of an earlier run."""
        return Rescore(**self.scored_fields(case), predictions=kept_of_source(case, self.source_file))


RESCORING = Rescoring()
