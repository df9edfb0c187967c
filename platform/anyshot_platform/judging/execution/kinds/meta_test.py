"""Testing a learner that is there already: the later shards of a run, or all of it under another version."""

from dataclasses import dataclass

from anyshot_core.wire.jobs import Budget, MetaTest
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.states import RescoreMode
from anyshot_platform.judging.execution.kinds.derived import DerivedRun
from anyshot_platform.judging.execution.kinds.kind import Case
from anyshot_platform.judging.execution.kinds.scored import RunAllowance, kept_of_source
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.parts import shard_bounds
from anyshot_platform.judging.runs.states import RunKind


@dataclass(frozen=True)
class SharedAllowance(RunAllowance):
    """That of the phase, of which shards have what the first one left."""

    def budget(self, case: Case) -> Budget:
        """The budget is one for all shards: what the first left is shared by tasks, so the sum cannot exceed it."""
        found, run, version = super().budget(case), case.run, case.version
        if not run.shard_index or not run.source_run_id or self.data.by_dataset(run):
            return found
        source = case.session.get_one(Run, run.source_run_id)
        left = version.run_seconds - source.used.participant_seconds
        start, stop = shard_bounds(version.tasks, run.shard_count, run.shard_index)
        first_stop = shard_bounds(version.tasks, run.shard_count, 0)[1]
        share = left * (stop - start) / (version.tasks - first_stop)
        return found.model_copy(update={"run_seconds": max(share, 0.001)})


class MetaTesting(DerivedRun):
    """Only the first shard has a learner, from which the whole is tested; dataset by dataset, each part has one."""

    name = RunKind.META_TEST
    title = "Meta-test"
    allowance = SharedAllowance(DerivedRun.data)
    mode = RescoreMode.META_TEST
    source_file = "learner.bin"
    borrowers = frozenset({RunKind.SCORE, RunKind.META_TEST})

    def can_start_from(self, run: Run) -> bool:
        """Whether the run trained a learner."""
        return not run.shard_index or self.by_dataset(run)

    def part_of(self, source: Run, version: PhaseVersion) -> int | None:
        """A dataset's part is tested again as that part; of shards the whole is."""
        return source.shard_index if version.each_dataset else None

    def job(self, case: Case) -> MetaTest:
        """Meta-test with the learner of an earlier run, and score."""
        return MetaTest(**self.tested_fields(case), learner=kept_of_source(case, self.source_file))


META_TEST = MetaTesting()
