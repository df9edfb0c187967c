"""What a run was made of, and how to repeat it at home."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import object_session

from anyshot_core.demo_data import GENERATED_TEST_DATASETS
from anyshot_core.dry_run_words import reproduce_command
from anyshot_core.protocols import (
    AnyWayAnyShot,
    AttributePairs,
    Protocol,
    ProtocolError,
    Roles,
    Writers,
    protocol_from_dict,
)
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import EarlierAttempt, Provenance
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.actions.checks import open_protocol
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.filters import count, duration, join_texts, short_digest, size
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.secrets import data_fingerprint, task_fingerprint
from anyshot_platform.judging.runs.states import ENDED
from anyshot_platform.judging.visibility.data import suggested_split
from anyshot_platform.judging.visibility.faults import ran_out_of_gpu_memory


def train_seed_of(run: Run) -> int | None:
    """The training seed of a run that has ended; the test seed stays secret."""
    seeds = run.phase_version.train_seeds
    if run.state not in ENDED:
        return None
    if run.own_seeds is not None:
        return run.own_seeds.train_seed
    return seeds[run.seed_index] if run.seed_index < len(seeds) else None


def repeat_command(run: Run) -> str | None:
    """The command that repeats an ended run, with the same training seed: on the phase's training data where they are
    public, else on generated pictures. What differs, `words_on_repeat` says.

    The hidden tasks' seed stays hidden; of a task that failed, ways and shots are repeated.
    """
    submission, version = run.submission, run.phase_version
    if submission is None or run.state not in ENDED:
        return None
    public = is_public(version.meta_train)
    of_box = run.verdict == Verdict.MEMORY_LIMIT and not ran_out_of_gpu_memory(run)
    command = reproduce_command(
        submission.filename,
        data=f"data/{submission.competition.slug}" if public else None,
        train_seed=train_seed_of(run),
        roles=_repeated_roles(run),
        ways=run.task_ways,
        shots=run.task_shots,
        learner_seconds=kind_of(run).seconds(run),
        task_seconds=version.task_seconds,
        isolated_tasks=version.isolated_tasks,
        datasets=_datasets_at_home(submission.competition, public=public)
        if kind_of(run).by_dataset(run)
        else None,
        memory_bytes=version.memory_bytes if of_box else None,
    )
    return f"anyshot data get {submission.competition.slug} && {command}" if public else command


def words_on_repeat(run: Run) -> str:
    """What that command trains and tests on, and what it cannot repeat."""
    return join_texts([*_what_differs(run), _data_at_home(run)])


def _data_at_home(run: Run) -> str:
    if is_public(run.phase_version.meta_train):
        return "Repeat it on your machine, with the competition's public data:"
    return (
        "Repeat it on your machine, with generated pictures: the phase's training data are "
        "hidden. Add --data FOLDER for data of your own."
    )


def _what_differs(run: Run) -> Iterator[str]:
    kind, named, repeated = kind_of(run), _named_protocols(run), _repeated_roles(run)
    found = (repeated.test, repeated.train, repeated.validation)
    if any(
        one and one.get("name") != (other and other.name) for one, other in zip(named, found, strict=True)
    ):
        yield ("The command below cannot repeat the phase's protocol: its tasks are any-way any-shot.")
    if repeated.test.splits_datasets:
        yield "The command below splits the classes in another way: the phase's split is secret."
    if kind.by_dataset(run):
        time = duration(kind.seconds(run))
        yield f"In the command below each dataset has the time of this part of the run: {time}."
    if limit := kind.training_seconds(run):
        yield (f"The command below has no limit on meta-training alone; this run had {duration(limit)}.")


def _named_protocols(run: Run) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Of test, training and validation; empty where the phase names none."""
    named = kind_of(run).training_protocols(run.phase_version)
    return (
        run.phase_version.protocol,
        named.get("train_protocol", {}),
        named.get("validation_protocol", {}),
    )


def _repeated_roles(run: Run) -> Roles:
    """The protocols as a dry run can follow them, with nothing of them that is secret."""
    public = is_public(run.phase_version.meta_train)
    test, train, validation = (_repeated(named, public=public) for named in _named_protocols(run))
    return Roles(test or AnyWayAnyShot(), train, validation)


def _repeated(named: dict[str, Any], *, public: bool) -> Protocol | None:
    """None where these data have no such tasks. Of held-out domains, which stay hidden, the tasks' shape is left."""
    try:
        protocol = protocol_from_dict(open_protocol(named)) if named else None
    except ProtocolError:
        return None
    if isinstance(protocol, AttributePairs | Writers) and not public:
        return None  # generated pictures have no annotations
    return protocol.on_shown() if protocol is not None and protocol.holds_out else protocol


def _datasets_at_home(competition: Competition, *, public: bool) -> int:
    """How many datasets a dry run tests on: those that `anyshot data get` splits off, or the generated ones."""
    if not public:
        return GENERATED_TEST_DATASETS
    session = object_session(competition)
    assert session is not None  # it was read from the database
    return max(1, len(suggested_split(session, competition)["meta-test"]))


@dataclass(frozen=True)
class Fact:
    """A term and its value; of a digest a page shows the first `digits`."""

    term: str
    value: Any
    digits: int = 0


def provenance_rows(run: Run) -> list[tuple[str, Any]]:
    """Terms and values for pages: what tells whether two runs are comparable."""
    return [
        (fact.term, short_digest(fact.value, fact.digits) if fact.digits else fact.value)
        for fact in provenance_facts(run)
    ]


def provenance_facts(run: Run) -> list[Fact]:
    """The same as plain values."""
    known, version = shown_provenance(run) or Provenance(), run.phase_version
    facts = [
        Fact("Code digest", run.submission.digest if run.submission else None, digits=19),
        Fact("Training seed", train_seed_of(run)),
        Fact("Test seed", "kept secret, the same for everybody" if run.state in ENDED else None),
        Fact("Image", known.image),
        Fact("Image digest", known.image_digest, digits=19),
        Fact("Sandbox", known.sandbox),
        Fact("Hardware", known.hardware),
        Fact("Granted", _granted(version)),
        Fact("Starting kit", known.kit_version),
        Fact("Phase version", version.number),
        Fact("Protocol digest", known.protocol_digest, digits=12),
        Fact("Meta-train data", _data(version, version.meta_train), digits=12),
        Fact("Meta-test data", _data(version, version.meta_test), digits=12),
        Fact("Attempts", run.attempt if run.attempt > 1 else None),
        Fact("Earlier attempts", join_texts(_earlier(one) for one in known.earlier)),
    ]
    return [fact for fact in facts if fact.value is not None and fact.value != ""]


def _earlier(attempt: EarlierAttempt) -> str:
    """What an attempt did from whose checkpoints the run went on."""
    did = f"answered {count(attempt.tasks, 'task')}" if attempt.tasks else "trained"
    return f"One on {attempt.hardware} {did}."


def shown_provenance(run: Run) -> Provenance | None:
    """A run's provenance as participants may know it: of the tasks a fingerprint that no guess can be tried on."""
    known = run.provenance
    if known is None or not known.protocol_digest:
        return known
    return known.model_copy(update={"protocol_digest": task_fingerprint(run.phase_version)})


def _data(version: PhaseVersion, pool: PoolVersion | None) -> str | None:
    """The digest alone, or what stands for it: a pool's name may say what is in it."""
    return data_fingerprint(version, pool) if pool is not None else None


def _granted(version: PhaseVersion) -> str:
    parts: list[str] = [
        count(version.cpus, "core"),
        f"{size(version.memory_bytes)} memory",
    ]
    if version.gpus:
        parts.append(count(version.gpus, "GPU"))
    return join_texts(parts, by=", ")
