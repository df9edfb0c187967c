"""What runs have in common that start from what an earlier run has kept."""

from typing import ClassVar

from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.states import RescoreMode
from anyshot_platform.judging.execution.kinds.kind import Planning
from anyshot_platform.judging.execution.kinds.scored import ScoredKind
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.parts import count_tasks
from anyshot_platform.judging.runs.planning import Urgency
from anyshot_platform.judging.runs.secrets import secrets_of
from anyshot_platform.judging.runs.states import RunKind


class DerivedRun(ScoredKind):
    """A run that starts from a file of an earlier one."""

    mode: ClassVar[RescoreMode]  # the way of scoring a version again that makes such runs
    source_file: ClassVar[str]
    borrowers: ClassVar[
        frozenset[RunKind]
    ]  # kinds that do not keep that file, but have that of their own source

    def can_start_from(self, run: Run) -> bool:
        """Whether a finished run holds what such a run starts from."""
        return True

    def part_of(self, source: Run, version: PhaseVersion) -> int | None:
        """Which part it is, of the parts of its source; None where it is the whole."""
        return source.shard_index

    def origin(self, session: Session, run: Run) -> Run:
        """The run that keeps what a repetition of `run` starts from."""
        while run.kind in self.borrowers and run.source_run_id is not None:
            run = session.get_one(Run, run.source_run_id)
        return run

    def plan_from(self, session: Session, source: Run, version: PhaseVersion, urgency: Urgency) -> Run:
        """A run that starts from a finished one, not queued yet. Raises ValueError where that is of no submission."""
        if source.submission is None:
            raise ValueError(f"run {source.id} is of no submission")
        part = self.part_of(source, version)
        parts = 1 if part is None else source.shard_count
        return Planning(session, source.submission, version, urgency).run(
            self,
            requested_by=None,
            seed_index=source.seed_index,
            shard_index=part,
            shard_count=parts,
            source_run_id=self.origin(session, source).id,
            tasks_total=count_tasks(version, secrets_of(version).tasks(source.seed_index), parts, part or 0),
        )
