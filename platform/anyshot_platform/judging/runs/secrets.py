"""The secrets of phases: what of them is published, and what they are too weak for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anyshot_core.protocols import PROTOCOLS, Legacy, Roles, protocol_from_dict
from anyshot_core.protocols.keys import PhaseSecrets, Seed, read_seed, write_seed
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.phases.states import PhaseStatus
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.contest.pools.rights import is_public


@dataclass(frozen=True)
class RunSecrets:
    """What one run is drawn from. The training seed is no secret: the participant's code sees it."""

    train_seed: int
    tasks: Seed
    query_order: bytes
    class_split: Seed
    mark: str
    same_tasks: bool  # whether the other runs beside it are tested on its tasks

    def __repr__(self) -> str:
        return "RunSecrets(...)"


def run_secrets(known: PhaseSecrets, run: int, train_seed: int) -> RunSecrets:
    """What a run, counted from 0, is drawn from, of all that is secret."""
    tasks = known.tasks(run)
    return RunSecrets(
        train_seed=train_seed,
        tasks=tasks,
        query_order=known.query_order(run),
        class_split=known.class_split(),
        mark=known.mark(tasks),
        same_tasks=known.same_tasks,
    )


def secrets_of(version: PhaseVersion) -> PhaseSecrets:
    """All secrets of a version."""
    split = version.protocol.get("split_seed")
    return PhaseSecrets(
        root=bytes.fromhex(version.root),
        test_seeds=tuple(version.test_seeds),
        split_seed=None if split is None else read_seed(split),
        same_tasks=version.same_test_tasks,
    )


def complete_protocol(protocol: dict[str, Any], split: Seed) -> dict[str, Any]:
    """A protocol as a worker needs it: with the secret split, where the protocol splits datasets."""
    kind = PROTOCOLS.get(str(protocol.get("name", "")))
    if kind is None or "split_seed" not in kind.__dataclass_fields__:
        return protocol
    return {**protocol, "split_seed": write_seed(split)}


def roles_of(version: PhaseVersion) -> Roles | None:
    """The protocols of a version with its split; None for one that has none yet. Raises `ProtocolError`."""
    split = secrets_of(version).class_split()
    named = (version.protocol, version.train_protocol, version.validation_protocol)
    test, train, validation = (
        protocol_from_dict(complete_protocol(one, split)) if one else None for one in named
    )
    return Roles(test, train, validation) if test is not None else None


def task_fingerprint(version: PhaseVersion) -> str:
    """Equal for runs on the same tasks; nobody without the root can try protocols, splits or pools on it."""
    known = secrets_of(version)
    protocol = complete_protocol(version.protocol, known.class_split())
    return known.fingerprint([protocol, version.meta_test.digest if version.meta_test else ""])


def data_fingerprint(version: PhaseVersion, pool: PoolVersion) -> str:
    """What a pool is known by to participants: its digest if it is public, else one that no guess can be tried on."""
    return pool.digest if is_public(pool) else secrets_of(version).fingerprint(["data", pool.digest])


def commitment_of(version: PhaseVersion) -> str:
    """What is published of the secrets while they are secret."""
    return secrets_of(version).commitment()


@dataclass(frozen=True)
class Committed:
    """What everybody may know of a phase's secrets: a commitment since it opened, the key once it is published.

    With the key come the seeds that were chosen, the tasks' protocol with its split, which draw them, and what else
    decides a run.
    """

    commitment: str
    key: str | None = None
    test_seeds: tuple[int, ...] = ()
    split_seed: int | str | None = None
    protocol: dict[str, Any] | None = None
    run_settings: dict[str, Any] | None = None


# What of a version decides a run, beside its pools and the protocol of its tasks.
_RUN_SETTINGS = (
    "each_dataset",
    "budget_each_dataset",
    "isolated_tasks",
    "meta_train_seconds",
    "cpus",
    "memory_bytes",
)


def committed(phase: Phase, version: PhaseVersion, status: PhaseStatus) -> Committed | None:
    """What everybody may know now."""
    if status == PhaseStatus.UPCOMING:
        return None
    commitment = commitment_of(version)
    if phase.key_published_at is None:
        return Committed(commitment)
    chosen, split = version.protocol.get("split_seed"), secrets_of(version).class_split()
    named = ("train_protocol", "validation_protocol")
    settings = {name: complete_protocol(getattr(version, name), split) or None for name in named}
    return Committed(
        commitment,
        version.root,
        tuple(version.test_seeds),
        chosen,
        complete_protocol(version.protocol, split),
        settings | {name: getattr(version, name) for name in _RUN_SETTINGS},
    )


def weaknesses(tasks: Any) -> Iterator[tuple[str, str]]:
    """By field of a description's tasks, what participants can find out by trying: for comparison, not for prizes."""
    if tasks.protocol.get("name") == Legacy.name:
        yield (
            "tasks.protocol",
            (
                "The tasks of 2022 start from 32 bits: who sees ways and shots of a few tasks finds "
                "classes and images of all of them by trying. Only the order of the query stays "
                "secret. For comparison, not for prizes."
            ),
        )
    if tasks.test_seeds:
        yield (
            "tasks.test_seeds",
            (
                "Seeds that are small numbers are found by trying, and with them all tasks. For "
                "comparison, not for prizes: leave them out, and a key of 256 bits is drawn."
            ),
        )
    if isinstance(tasks.protocol.get("split_seed"), int):
        yield (
            "tasks.protocol",
            (
                "A split_seed that is a small number can be found by trying where the datasets are "
                "public. Leave it out, and a key decides which classes are hidden."
            ),
        )
