"""Runs of submissions: a kind is put together from its data, its draws, what its code is allowed, and its outcome."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.exports.files import FILES as EXPORTED
from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict
from anyshot_core.protocols.keys import Seed, write_seed
from anyshot_core.wire.checkpoints import LEARNER, TRAINING
from anyshot_core.wire.jobs import BlobRef, Budget, Checkpoints, Limits, LogPolicy, PackRef, Tested
from anyshot_core.wire.worker_api import Complete
from anyshot_platform.contest.leagues.evidence import enters_from_scratch
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.phases.rows import sent_settings
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.artifacts.service import blob_ref
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.kinds.kind import Case, Kind, NotAssignable, common_fields
from anyshot_platform.judging.execution.scores import record_score
from anyshot_platform.judging.runs.checkpoints import list_checkpoints
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.parts import shard_bounds
from anyshot_platform.judging.runs.secrets import (
    RunSecrets,
    complete_protocol,
    run_secrets,
    secrets_of,
    task_fingerprint,
)
from anyshot_platform.judging.scores.verification import PREDICTIONS, RESULTS, WrongResult, verify
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.logs import shown_logs
from anyshot_platform.judging.visibility.names import hides_training_names
from anyshot_scoring.summary import RunSummary


class RunData(ABC):
    """What a run trains and tests on: unless a kind says more, in one part, and trained as `config.json` says."""

    @abstractmethod
    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """The packs to train and to test on; raises `NotAssignable`."""

    def tasks(self, case: Case) -> int:
        """The number of tasks of the whole that a run is a part of."""
        return case.run.tasks_total

    def by_dataset(self, run: Run) -> bool:
        """Whether a run is the part of one dataset, with a learner of its own."""
        return False

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """What is trained and validated on, by the names of a job's fields, where the phase says it."""
        return {}


class PhaseData(RunData):
    """What the phase's version says, in parts where it says so."""

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """Those of its two pools; raises `NotAssignable`."""
        version = case.version
        if version.meta_test_pool_version_id is None:
            raise NotAssignable("The phase has no pool to test on.")
        return case.packs(version.meta_train_pool_version_id), case.packs(version.meta_test_pool_version_id)

    def tasks(self, case: Case) -> int:
        """Those of a whole run."""
        return case.version.tasks

    def by_dataset(self, run: Run) -> bool:
        """As the phase says."""
        return run.phase_version.each_dataset

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """As the phase says."""
        named = {"train_protocol": version.train_protocol, "validation_protocol": version.validation_protocol}
        return {name: protocol for name, protocol in named.items() if protocol}


def phase_secrets(case: Case) -> RunSecrets:
    """What the phase has for the place of a run among the seeded runs."""
    place = case.run.seed_index
    return run_secrets(secrets_of(case.version), place, case.version.train_seeds[place])


@dataclass(frozen=True)
class RunDraws:
    """What the tasks of a run are drawn from: from these secrets, by the protocol of the phase."""

    secrets: Callable[[Case], RunSecrets] = phase_secrets

    def fields(self, case: Case) -> dict[str, Any]:
        """Protocol, seeds and keys of a job."""
        found = self.secrets(case)
        return {
            "protocol": self.protocol(case, found.class_split),
            "test_seed": write_seed(found.tasks),
            "query_key": found.query_order.hex(),
            "tasks_mark": found.mark,
            "train_seed": found.train_seed,
            "same_test_tasks": found.same_tasks,
            "fingerprint": self.fingerprint(case),
        }

    def protocol(self, case: Case, split: Seed) -> Protocol:
        """The protocol of the tasks, with the split of the datasets; raises `NotAssignable`."""
        return read_protocol(complete_protocol(case.version.protocol, split))

    def fingerprint(self, case: Case) -> str:
        """What the tasks are known by."""
        return task_fingerprint(case.version)


@dataclass(frozen=True)
class RunAllowance:
    """What the code of a run may use and see, and whether its learner is kept: here what its phase's version says."""

    data: RunData

    def seconds(self, run: Run) -> float:
        """Seconds of the participant's own time; shards have theirs in common, datasets may have to share them."""
        return run.phase_version.run_seconds * self._share(run)

    def training_seconds(self, run: Run) -> float | None:
        """The limit on meta-training within these seconds, which datasets share as they share the budget."""
        limit = run.phase_version.meta_train_seconds
        return limit * self._share(run) if limit else None

    def _share(self, run: Run) -> float:
        shared = self.data.by_dataset(run) and not run.phase_version.budget_each_dataset
        return 1 / run.shard_count if shared else 1.0

    def budget(self, case: Case) -> Budget:
        """The limits on the participant's time."""
        return Budget(
            run_seconds=self.seconds(case.run),
            meta_train_seconds=self.training_seconds(case.run),
            **sent_settings(case.version, Budget),
        )

    def logs(self, case: Case) -> LogPolicy:
        """How much of the output of their code participants see."""
        return shown_logs(case.phase, case.version)

    def hides_names(self, case: Case) -> bool:
        """Whether the code is told other names of the datasets it trains on."""
        return hides_training_names(case.phase, case.version)

    def keeps_learner(self, case: Case) -> bool:
        """Whether the learner is kept: where the phase says so, or other shards need it."""
        version = case.version
        exports = version.snapshots or version.features or version.estimates or version.probabilities
        kept = version.keep_learner or bool(case.phase.evaluations or exports)
        return kept or (case.run.shard_count > 1 and not self.data.by_dataset(case.run))


@dataclass(frozen=True)
class RunOutcome:
    """What becomes of a result: here a score of the run; parts have theirs when they are put together."""

    boxed: bool = True  # whether the code ran, in an image

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Keep what was verified; raises `WrongResult` for what cannot be true."""
        if not isinstance(result.summary, RunSummary):
            raise WrongResult("A score was asked for, and a report came.")
        found = result.provenance.image_digest
        if self.boxed and run.image_digest is not None and found != run.image_digest:
            raise WrongResult(
                f"The run is pinned to {run.image_digest}, and its image was {found or 'not told'}."
            )
        files = {reference.name: reference.digest for reference in result.artifacts}
        verify(result.summary, run.tasks_total, files, storage)
        if run.shard_index is None:
            record_score(session, run, result.summary)
        elif RESULTS not in files:  # judging.shards puts parts together
            raise WrongResult("A part of a run came without its table of results.")


class ScoredKind(Kind):
    """A run of a submission. What differs between kinds is asked of four objects."""

    artifacts = frozenset({RESULTS, PREDICTIONS, "log.txt", "logger.zip", "learner.bin", *EXPORTED})
    counts = True
    opens_zip = True
    resumes = True

    data: ClassVar[RunData] = PhaseData()
    draws: ClassVar[RunDraws] = RunDraws()
    allowance: ClassVar[RunAllowance] = RunAllowance(data)
    outcome: ClassVar[RunOutcome] = RunOutcome()

    def by_dataset(self, run: Run) -> bool:
        """As its data say."""
        return self.data.by_dataset(run)

    def seconds(self, run: Run) -> float:
        """As its allowance says."""
        return self.allowance.seconds(run)

    def training_seconds(self, run: Run) -> float | None:
        """As its allowance says."""
        return self.allowance.training_seconds(run)

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """As its data say."""
        return self.data.training_protocols(version)

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """As its outcome says."""
        self.outcome.accept(session, storage, run, result)

    def submission_of(self, case: Case) -> Submission:
        """Whose code is run."""
        return case.session.get_one(Submission, case.run.submission_id)

    def scored_fields(self, case: Case) -> dict[str, Any]:
        """What a job whose end is a score says of its submission and its tasks."""
        run = case.run
        submission = self.submission_of(case)
        train, test = self.data.packs(case)
        by_dataset, tasks = self.data.by_dataset(run), self.data.tasks(case)
        whole = run.shard_index is None or by_dataset
        return common_fields(case, tasks) | {
            "submission_id": submission.id,
            "submission_name": f"{submission.team.name} #{submission.number}",
            "run": run.seed_index,
            "submission": blob_ref(case.services, submission.digest, submission.size),
            "meta_train": train,
            "meta_test": test,
            "shard": None if whole else shard_bounds(tasks, run.shard_count, run.shard_index or 0),
            "dataset": (run.shard_index or 0) if by_dataset else None,
            **self.draws.fields(case),
        }

    def tested_fields(self, case: Case) -> dict[str, Any]:
        """What a job that runs a submission says of its sandbox, on top."""
        version, split = case.version, secrets_of(case.version).class_split()
        return self.scored_fields(case) | {
            **sent_settings(version, Tested),
            "budget": self.allowance.budget(case),
            "limits": Limits(**sent_settings(version, Limits)),
            "weights": not enters_from_scratch(case.session, self.submission_of(case).id),
            "log_policy": self.allowance.logs(case),
            "hide_dataset_names": self.allowance.hides_names(case),
            "keep_learner": self.allowance.keeps_learner(case),
            "checkpoints": checkpoints_of(case),
            **{
                name: read_protocol(complete_protocol(protocol, split))
                for name, protocol in self.data.training_protocols(version).items()
            },
        }

    def called(self, run: Run, parts: str) -> str:
        """Which of the seeded runs it is."""
        seeds = run.phase_version.seeded_runs
        return joined(f"Run {run.seed_index + 1} of {seeds}, own seeds" if seeds > 1 else "", parts)


def checkpoints_of(case: Case) -> Checkpoints:
    """What earlier attempts of the run stored."""
    stored = list_checkpoints(case.session, case.run.id)
    files = {one.name: blob_ref(case.services, one.digest, one.size) for one in stored}
    training, learner = files.pop(TRAINING, None), files.pop(LEARNER, None)
    return Checkpoints(training=training, learner=learner, answers=list(files.values()))


def joined(whole: str, parts: str) -> str:
    """Which seeded run, and which part of it."""
    return f"{whole}; {parts}" if whole and parts else whole or parts.capitalize()


def read_protocol(settings: dict[str, Any]) -> Protocol:
    """The task protocol of a phase; raises `NotAssignable`."""
    try:
        return protocol_from_dict(settings)
    except ProtocolError as error:
        raise NotAssignable(f"The phase's task protocol cannot be used: {error}") from error


def kept_of_source(case: Case, name: str) -> BlobRef:
    """A file that the run which this one starts from has kept; raises `NotAssignable` where it has expired."""
    artifact = case.session.scalars(
        select(Artifact).where(
            Artifact.run_id == (case.run.source_run_id or ""),
            Artifact.name == name,
            Artifact.final,
            Artifact.expired_at.is_(None),
        )
    ).first()
    if artifact is None:
        raise NotAssignable(f"The earlier run's {name} is no longer kept: choose another way of re-scoring.")
    return blob_ref(case.services, artifact.digest, artifact.size)
