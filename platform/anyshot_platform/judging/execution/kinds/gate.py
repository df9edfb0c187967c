"""Seeded runs of a baseline that propose a gate: with seeds of their own, for no board."""

import secrets
from dataclasses import replace

from anyshot_core.wire.jobs import Evaluate
from anyshot_platform.judging.execution.kinds.kind import Case, Planning
from anyshot_platform.judging.execution.kinds.scored import RunDraws, ScoredKind, joined
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.parts import count_parts, count_tasks
from anyshot_platform.judging.runs.records import OwnSeeds
from anyshot_platform.judging.runs.secrets import RunSecrets, run_secrets, secrets_of
from anyshot_platform.judging.runs.states import RunKind
from anyshot_platform.judging.submissions.models import Submission

GATE_SEEDS = 10


def gate_secrets(case: Case) -> RunSecrets:
    """The split of the phase, whose tasks they have to be like; all else is their own."""
    known, run, own = secrets_of(case.version), case.run, case.run.own_seeds
    assert own is not None  # written when the run was planned
    gate = known.gate(run.submission_id or "")
    return replace(run_secrets(gate, run.seed_index, own.train_seed), class_split=known.class_split())


class GateRun(ScoredKind):
    """An evaluation with fresh seeds; never in shards, since nobody waits for it."""

    name = RunKind.GATE
    title = "Run for a gate"
    counts = False
    draws = RunDraws(gate_secrets)

    def starts(self, submission: Submission) -> bool:
        """A baseline that was entered to measure a gate."""
        return submission.gate_of is not None

    def plan(self, planning: Planning) -> list[Run]:
        """`GATE_SEEDS` runs, or as many as asked for; dataset by dataset, a part for each."""
        version = planning.version
        parts = count_parts(planning.session, version) if version.each_dataset else 1
        gate = secrets_of(version).gate(planning.submission.id)
        return [
            planning.run(
                self,
                own_seeds=own,
                seed_index=place,
                shard_index=None if parts == 1 else part,
                shard_count=parts,
                tasks_total=count_tasks(version, gate.tasks(place), parts, part),
            )
            for place in range(planning.seeds or GATE_SEEDS)
            for own in [OwnSeeds(train_seed=secrets.randbelow(2**31))]
            for part in range(parts)
        ]

    def job(self, case: Case) -> Evaluate:
        """To a worker it is an evaluation like any other."""
        return Evaluate(**self.tested_fields(case))

    def called(self, run: Run, parts: str) -> str:
        """Which of the seeds it has."""
        return joined(f"{self.title}, seed {run.seed_index + 1}", parts)


GATE = GateRun()
