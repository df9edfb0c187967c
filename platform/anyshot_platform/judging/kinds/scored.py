"""What all runs of submissions have in common: tasks that are drawn in secret, a sandbox, and a score at the end."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.exports.files import FILES as EXPORTED
from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict
from anyshot_core.protocols.keys import write_seed
from anyshot_core.wire.jobs import BlobRef, Budget, Limits, LogPolicy, PackRef, Tested
from anyshot_core.wire.worker_api import Complete
from anyshot_platform.artifacts.models import Artifact
from anyshot_platform.artifacts.service import blob_ref
from anyshot_platform.judging.kinds.kind import Case, Kind, NotAssignable, common_fields
from anyshot_platform.judging.kinds.shown import count_shown
from anyshot_platform.judging.scores import record_score
from anyshot_platform.kernel.storage import Storage
from anyshot_platform.leagues.evidence import enters_from_scratch
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.rows import sent_settings
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.parts import count_tasks, shard_bounds
from anyshot_platform.runs.secrets import (
    RunSecrets,
    complete_protocol,
    roles_of,
    run_secrets,
    secrets_of,
    task_fingerprint,
)
from anyshot_platform.scores.verification import PREDICTIONS, RESULTS, WrongResult, verify
from anyshot_platform.sight.logs import shown_logs
from anyshot_platform.sight.names import hides_training_names
from anyshot_platform.submissions.models import Submission
from anyshot_scoring.summary import RunSummary


class ScoredKind(Kind):
    """A run of a submission. What differs between kinds, such as data, secrets and limits, is a method each."""

    artifacts = frozenset({RESULTS, PREDICTIONS, "log.txt", "logger.zip", "learner.bin", *EXPORTED})
    counts = True
    opens_zip = True

    def tasks(self, run: Run) -> int:
        """The tasks of a part, or all of the phase: as it was planned, whatever a worker told meanwhile."""
        version = run.phase_version
        if run.shard_index is None:
            return version.tasks
        return count_tasks(version, self.secrets(version, run).tasks, run.shard_count, run.shard_index)

    def by_dataset(self, run: Run) -> bool:
        """As the phase says."""
        return run.phase_version.each_dataset

    def seconds(self, run: Run) -> float:
        """The phase's budget; what goes by dataset may have to share it."""
        return run.phase_version.run_seconds * self.share_of_dataset(run)

    def share_of_dataset(self, run: Run) -> float:
        """Which share of a seeded run's time this part has: all of it, unless datasets share it equally."""
        shared = self.by_dataset(run) and not run.phase_version.budget_each_dataset
        return 1 / run.shard_count if shared else 1.0

    def secrets(self, version: PhaseVersion, run: Run) -> RunSecrets:
        """What the run is drawn from: what the phase has for its place among the seeded runs."""
        place = run.seed_index
        return run_secrets(secrets_of(version), place, version.train_seeds[place])

    def pools(self, case: Case) -> tuple[str | None, str]:
        """The pool versions to train and to test on; raises `NotAssignable`."""
        if case.version.meta_test_pool_version_id is None:
            raise NotAssignable("The phase has no pool to test on.")
        return case.version.meta_train_pool_version_id, case.version.meta_test_pool_version_id

    def packs(self, case: Case) -> tuple[list[PackRef], list[PackRef]]:
        """The packs to train and to test on."""
        train, test = self.pools(case)
        return case.packs(train), case.packs(test)

    def budget(self, case: Case) -> Budget:
        """The limits on the participant's time."""
        return Budget(
            run_seconds=self.seconds(case.run),
            meta_train_seconds=self.training_seconds(case.run),
            **sent_settings(case.version, Budget),
        )

    def training_seconds(self, run: Run) -> float | None:
        """The phase's limit; datasets share it as they share the budget."""
        limit = run.phase_version.meta_train_seconds
        return limit * self.share_of_dataset(run) if limit else None

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
        return kept or (case.run.shard_count > 1 and not self.by_dataset(case.run))

    def drawn_fields(self, case: Case) -> dict[str, Any]:
        """Protocol, seeds and keys of a job that runs a submission."""
        version, found = case.version, self.secrets(case.version, case.run)
        return {
            "protocol": read_protocol(complete_protocol(version.protocol, found.class_split)),
            "test_seed": write_seed(found.tasks),
            "query_key": found.query_order.hex(),
            "tasks_mark": found.mark,
            "train_seed": found.train_seed,
            "same_test_tasks": found.same_tasks,
            "fingerprint": task_fingerprint(version),
        }

    def training_fields(self, case: Case) -> dict[str, Any]:
        """What may be trained and validated on, where the phase says it: with the split of the tasks."""
        version, split = case.version, self.secrets(case.version, case.run).class_split
        return {
            name: read_protocol(complete_protocol(protocol, split))
            for name, protocol in self.training_protocols(version).items()
        }

    def training_protocols(self, version: PhaseVersion) -> dict[str, dict[str, Any]]:
        """As the phase says."""
        named = {"train_protocol": version.train_protocol, "validation_protocol": version.validation_protocol}
        return {name: protocol for name, protocol in named.items() if protocol}

    def datasets_to_hold_out_of(self, session: Session, phase: Phase, version: PhaseVersion) -> int | None:
        """The datasets that a run trains on, of which `config.json` may hold some out for validation.

        None where the phase says what is validated on, so that the runner asks `config.json` for none, or has no data.
        """
        if "validation_protocol" in self.training_protocols(version):
            return None
        if version.each_dataset:
            return 1
        return count_shown(session, roles_of(version), version.meta_train, version.meta_test) or None

    def submission_of(self, case: Case) -> Submission:
        """Whose code is run."""
        return case.session.get_one(Submission, case.run.submission_id)

    def all_tasks(self, case: Case) -> int:
        """The number of tasks of the whole that a run is a part of."""
        return case.version.tasks

    def scored_fields(self, case: Case) -> dict[str, Any]:
        """What a job whose end is a score says of its submission and its tasks."""
        run = case.run
        submission = self.submission_of(case)
        train, test = self.packs(case)
        by_dataset, tasks = self.by_dataset(run), self.all_tasks(case)
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
            **self.drawn_fields(case),
        }

    def tested_fields(self, case: Case) -> dict[str, Any]:
        """What a job that runs a submission says of its sandbox, on top."""
        version = case.version
        return self.scored_fields(case) | {
            **sent_settings(version, Tested),
            "budget": self.budget(case),
            "limits": Limits(**sent_settings(version, Limits)),
            "weights": not enters_from_scratch(case.session, self.submission_of(case).id),
            "log_policy": self.logs(case),
            "hide_dataset_names": self.hides_names(case),
            "keep_learner": self.keeps_learner(case),
            **self.training_fields(case),
        }

    def accept(self, session: Session, storage: Storage, run: Run, result: Complete) -> None:
        """Keep a score that was verified; parts have theirs when they are put together."""
        if not isinstance(result.summary, RunSummary):
            raise WrongResult("A score was asked for, and a report came.")
        _require_pinned_image(run, result, boxed=self.opens_zip)
        files = {reference.name: reference.digest for reference in result.artifacts}
        verify(result.summary, self.tasks(run), files, storage)
        if run.shard_index is None:
            record_score(session, run, result.summary)
        elif RESULTS not in files:  # judging.shards puts parts together
            raise WrongResult("A part of a run came without its table of results.")

    def called(self, run: Run, parts: str) -> str:
        """Which of the seeded runs it is."""
        seeds = run.phase_version.seeded_runs
        return joined(f"Run {run.seed_index + 1} of {seeds}, own seeds" if seeds > 1 else "", parts)


def _require_pinned_image(run: Run, result: Complete, boxed: bool) -> None:
    """Raise `WrongResult` for a result of a pinned phase that was made with another image, or does not say which."""
    found = result.provenance.image_digest
    if boxed and run.image_digest is not None and found != run.image_digest:
        raise WrongResult(
            f"The run is pinned to {run.image_digest}, and its image was {found or 'not told'}."
        )


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
