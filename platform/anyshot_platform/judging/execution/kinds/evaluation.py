"""The ordinary run: meta-training, meta-test and score, whole, in shards, or dataset by dataset."""

from anyshot_core.wire.jobs import Evaluate
from anyshot_platform.judging.execution.kinds.kind import Case, Planning
from anyshot_platform.judging.execution.kinds.meta_test import META_TEST
from anyshot_platform.judging.execution.kinds.scored import ScoredKind
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.parts import count_parts, count_tasks
from anyshot_platform.judging.runs.secrets import secrets_of
from anyshot_platform.judging.runs.states import RunKind, RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind


class EvaluationKind(ScoredKind):
    """A submission under a phase's version with one pair of its seeds, or a part of that."""

    name = RunKind.EVALUATE
    title = "Evaluation"

    def starts(self, submission: Submission) -> bool:
        """All that stands on boards, baselines too."""
        return submission.kind != SubmissionKind.SMOKE and submission.gate_of is None

    def plan(self, planning: Planning) -> list[Run]:
        """The runs of all seeds of the phase."""
        return [
            run
            for place in range(planning.seeds or planning.version.seeded_runs)
            for run in self.plan_seed(planning, place)
        ]

    def plan_seed(self, planning: Planning, seed_index: int) -> list[Run]:
        """The runs of one seed: one, or one for each part.

        Where the phase splits meta-testing into shards, the first shard meta-trains, and the others wait for its
        learner. Where it goes dataset by dataset, each dataset's part begins by itself.
        """
        version = planning.version
        parts, test_seed = count_parts(planning.session, version), secrets_of(version).tasks(seed_index)

        def make(part: int) -> Run:
            first = part == 0 or version.each_dataset
            return planning.run(
                self if first else META_TEST,
                seed_index=seed_index,
                shard_index=None if parts == 1 else part,
                shard_count=parts,
                state=RunState.QUEUED if first else RunState.WAITING,
                tasks_total=count_tasks(version, test_seed, parts, part),
            )

        return [make(part) for part in range(parts)]

    def job(self, case: Case) -> Evaluate:
        """Meta-train, meta-test and score."""
        return Evaluate(**self.tested_fields(case))


EVALUATION = EvaluationKind()
