"""The stage from an assignment to its materials: packs, pools, submission, all verified by digest, and the tasks."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.part import write_part
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import DataError
from anyshot_core.evaluations.needs import require_drawn, require_scorable, require_sides
from anyshot_core.protocols import Protocol, Roles
from anyshot_core.protocols.cutting import Shown, cut_packs
from anyshot_core.protocols.keys import read_seed
from anyshot_core.taskserver.tasks import PoolTasks
from anyshot_core.wire.jobs import MetaTest, MetaTestPart, PackRef, Scored, Tested
from anyshot_core.wire.verdicts import Verdict
from anyshot_worker.attempt import BadAssignment
from anyshot_worker.workspace import HeldFiles

PACK_SUFFIX = ".anyshot-pack"


@dataclass(frozen=True)
class Materials:
    """Everything an attempt works on, on this machine."""

    submission: Path
    train_packs: tuple[Path, ...]
    validation_packs: tuple[Path, ...]
    test_pool: Pool
    learner: Path | None  # to start from, in place of meta-training
    query_secret: bytes


@dataclass(frozen=True)
class TestedPart:
    """One test of the learner: its tasks, and the packs of their pool."""

    tasks: PoolTasks
    packs: Sequence[PackRef]


def gather_materials(assignment: Tested, files: HeldFiles) -> Materials:
    """Fetch and open everything; raises `BadAssignment` for what only the organizer can mend."""
    test_packs = _fetch_packs(assignment.meta_test, files)
    test_pool = _open_pool(assignment.meta_test, test_packs)
    _check_protocol(assignment, test_pool)
    shown = _shown(assignment, test_pool, files)
    return Materials(
        submission=files.get(assignment.submission, ".zip"),
        train_packs=shown.train,
        validation_packs=shown.validation,
        test_pool=test_pool,
        learner=files.get(assignment.learner) if isinstance(assignment, MetaTest) else None,
        query_secret=_query_secret(assignment),
    )


def list_parts(assignment: Tested, materials: Materials) -> list[TestedPart]:
    """The tests of the learner: one, or as many as the job says.

    Raises `BadAssignment` where the tasks of one cannot be drawn.
    """
    pool, seed = materials.test_pool, read_seed(assignment.test_seed)
    if isinstance(assignment, MetaTest) and assignment.parts:
        return [
            TestedPart(
                PoolTasks(_pool_of(pool, part), part.protocol, seed, 0, part.tasks),
                [assignment.meta_test[place] for place in part.packs],
            )
            for part in assignment.parts
        ]
    start, stop = assignment.shard or (0, assignment.tasks)
    tasks = PoolTasks(pool, assignment.protocol, seed, start, stop, assignment.dataset)
    if not tasks.indices:
        words = "There are no tasks" if assignment.dataset is None else "There are fewer tasks than datasets"
        raise BadAssignment(Verdict.BAD_SETTINGS, f"{words}: set their number.")
    return [TestedPart(tasks, assignment.meta_test)]


def _pool_of(pool: Pool, part: MetaTestPart) -> Pool:
    """The datasets that a part is on; raises `BadAssignment` where its tasks cannot be drawn of them."""
    packs = list(pool)
    try:
        require_scorable(part.protocol)
        own = Pool([packs[place] for place in part.packs])
        part.protocol.check(own)
        return own
    except (DataError, IndexError) as error:
        raise BadAssignment(
            Verdict.BAD_SETTINGS, f"The phase's further evaluation cannot be used: {error}"
        ) from error


def _fetch_packs(packs: list[PackRef], files: HeldFiles) -> list[Path]:
    return [files.get(pack.blob, PACK_SUFFIX) for pack in packs]


def _shown(assignment: Scored, test_pool: Pool, files: HeldFiles) -> Shown:
    """The packs to train and validate on, cut to what the phase's protocols show of them."""
    if not assignment.meta_train and assignment.dataset is None:
        return Shown(())
    roles = Roles(assignment.protocol, assignment.train_protocol, assignment.validation_protocol)
    refs = _refs_to_train_on(assignment, assignment.protocol)
    tested = {ref.blob.digest for ref in assignment.meta_test}
    paths = {files.get(ref.blob, PACK_SUFFIX): ref for ref in refs}

    def store(pack: Pack, rows: np.ndarray, annotations: frozenset[str] | None) -> Path:
        names = "" if annotations is None else ",".join(sorted(annotations))
        text = f"{paths[pack.path].blob.digest} {names}" if names else f"{paths[pack.path].blob.digest} "
        key = hashlib.sha256(text.encode() + rows.tobytes()).hexdigest()
        return files.derive(key, PACK_SUFFIX, lambda target: write_part(pack, rows, target, annotations))

    try:
        seen = Pool.open(list(paths), verify=False)
        require_sides(roles, seen, test_pool)
        if roles.train is not None or roles.validation is not None:
            roles.require_no_leak(seen, test_pool)
        return cut_packs(roles, list(paths), lambda pack: paths[pack.path].blob.digest in tested, store)
    except DataError as error:
        raise BadAssignment(
            Verdict.BAD_SETTINGS, f"The pools cannot be split for meta-training: {error}"
        ) from error


def _refs_to_train_on(assignment: Scored, protocol: Protocol) -> list[PackRef]:
    """All of the meta-training pool, or the one dataset that this part of a run learns and is tested on."""
    if assignment.dataset is None:
        return assignment.meta_train
    tested = assignment.meta_test[assignment.dataset]
    if not protocol.splits_datasets:
        raise BadAssignment(
            Verdict.BAD_SETTINGS,
            f"{protocol.name} splits no dataset: there is nothing of {tested.name} to learn from.",
        )
    found = [ref for ref in assignment.meta_train if ref.blob.digest == tested.blob.digest]
    if not found:
        raise BadAssignment(
            Verdict.BAD_SETTINGS,
            f"{tested.name} is tested dataset by dataset, but not in the pool to train on.",
        )
    return found


def _open_pool(refs: list[PackRef], paths: list[Path]) -> Pool:
    if not paths:
        raise BadAssignment(Verdict.BAD_POOL, "The phase has no meta-test pool: assign one to the phase.")
    try:
        # The workspace has verified every byte against the digest of the blob. What the disk does later is ours.
        return Pool([Pack.open(path, verify=False) for path in paths])
    except DataError as error:
        names = ", ".join(ref.name for ref in refs)
        raise BadAssignment(
            Verdict.BAD_POOL, f"The meta-test pool ({names}) cannot be read: {error}"
        ) from error


def _check_protocol(assignment: Scored, pool: Pool) -> None:
    if isinstance(assignment, MetaTest) and assignment.parts:
        return  # each part has its own: see `list_parts`
    try:
        require_scorable(assignment.protocol)  # else it ends as our failure, after hours of training
        require_drawn(assignment.protocol, len(pool), assignment.tasks)
        assignment.protocol.check(pool)
    except DataError as error:
        raise BadAssignment(
            Verdict.BAD_SETTINGS, f"The phase's task protocol cannot be used: {error}"
        ) from error


def _query_secret(assignment: Tested) -> bytes:
    """Keys the order of each query set; the same for every entrant of a phase, so that runs stay comparable."""
    if assignment.query_key is not None:
        return bytes.fromhex(assignment.query_key)
    raise BadAssignment(Verdict.BAD_SETTINGS, "The assignment has no key for the order of the query.")
