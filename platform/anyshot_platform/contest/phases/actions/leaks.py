"""Data that would be trained and tested on at once, or that are public already: errors of a phase's settings."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from anyshot_core.data import pool as packs
from anyshot_core.data.fingerprints import Overlap, find_overlap
from anyshot_core.data.problems import DataError
from anyshot_core.exports import Asked, check_asked
from anyshot_core.protocols import PROTOCOLS, ProtocolError
from anyshot_platform.contest.phases.actions.drawing import opening, problems_of_count, problems_of_sides
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.actions.overlaps import describe, find_shared, packs_of, public_packs
from anyshot_platform.contest.pools.images import fingerprints_of, opened, overlap_of, words_without_place
from anyshot_platform.contest.pools.models import Pack, PoolVersion
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.storage import STORAGE_KEY
from anyshot_platform.judging.evaluations.points import list_evaluations, pool_of
from anyshot_platform.judging.runs.secrets import roles_of


def evaluates(phase: Phase) -> bool:
    """Whether anything is scored in a phase: by uploads, or by entries of another."""
    return phase.accepts_uploads or phase.gate_phase_id is not None


def leaks(session: Session, version: PhaseVersion) -> Iterator[tuple[str, str]]:
    """What of the hidden data of a version would be known, and what there is none of to draw tasks from; by field."""
    trained = packs_of(session, version.meta_train_pool_version_id)
    tested = packs_of(session, version.meta_test_pool_version_id)
    for words in problems_of_count(version, tested):
        yield "tasks.count", words
    if empty := list(problems_of_sides(session, version, trained, tested)):
        yield from (("tasks.protocol", words) for words in empty)
        return  # nobody can say which images such a split shows
    shared = [pack for pack in tested if pack.id in {other.id for other in trained}]
    if shared and version.train_protocol | version.validation_protocol:
        yield from _leaks_of_roles(session, version, [pack.digest for pack in shared])
    elif shared and not _splits_classes(version):
        yield (
            "tasks.meta_train",
            (
                "The meta-train and the meta-test pool share "
                f"{', '.join(pack.name for pack in shared)}: what is trained on would be tested on. "
                "Name another pool, or a protocol that splits the classes of each dataset."
            ),
        )
    for words in _images_of_both(session, version, trained, tested):
        yield "tasks.meta_train", words
    if _is_hidden(session, version):
        yield from _public_copies(session, tested)
    for words in problems_of_evaluations(session, version):
        yield "tasks.evaluations", words
    for words in _problems_of_snapshots(session, version, trained, tested):
        yield "tasks.snapshots", words


def _problems_of_snapshots(
    session: Session, version: PhaseVersion, trained: Sequence[Pack], tested: Sequence[Pack]
) -> Iterator[str]:
    """Why snapshots of training cannot be compared on base, validation and novel classes of these very images."""
    if not version.snapshots or not trained or not tested:
        return  # without data: said elsewhere
    with opening(session) as opened_pool:
        try:
            if (roles := roles_of(version)) is not None:
                check_asked(Asked(version.snapshots), roles, opened_pool(trained), opened_pool(tested))
        except DataError as problem:
            yield words_without_place(problem)


def problems_of_evaluations(session: Session, version: PhaseVersion) -> Iterator[str]:
    """Why a further evaluation cannot be made, or would test what was trained on: by their very images."""
    trained = packs_of(session, version.meta_train_pool_version_id)
    tested = packs_of(session, version.meta_test_pool_version_id)
    slug, evaluations = _slug(session, version.meta_train_pool_version_id), list_evaluations(version)
    if not evaluations or not trained:
        return  # without data: said elsewhere
    with opening(session) as opened_pool:
        for evaluation in evaluations:
            try:
                pool, roles = pool_of(session, version, evaluation), roles_of(version)
                if pool is None or roles is None:
                    continue  # said elsewhere: the phase lacks data
                others = packs_of(session, pool.id)
                evaluation.check(roles, opened_pool(trained), opened_pool(tested), opened_pool(others))
            except DataError as problem:
                yield _of_evaluation(evaluation.short_name, words_without_place(problem))
                continue
            if evaluation.pool:
                yield from (
                    _of_evaluation(evaluation.short_name, shared.words)
                    for shared in find_shared(session, others, [(pack, slug) for pack in trained])
                    if shared.equal
                )


def _of_evaluation(name: str, words: str) -> str:
    return f"Evaluation {name}: {words}"


def public_evaluations(session: Session, version: PhaseVersion) -> Iterator[str]:
    """Further evaluations on pools whose labels everybody has, for people to decide about: such a score proves less.

    That a pool is gone is a problem: see `problems_of_evaluations`.
    """
    for evaluation in list_evaluations(version):
        try:
            pool = pool_of(session, version, evaluation) if evaluation.pool else None
        except DataError:
            continue
        if pool is not None and is_public(pool):
            words = f"the pool {evaluation.pool} is public, so that its labels may have been trained on."
            yield _of_evaluation(evaluation.short_name, words)


def looks_alike(session: Session, version: PhaseVersion) -> Iterator[str]:
    """What looks like an image that is tested on, and is trained on or public: for people to decide about."""
    tested = packs_of(session, version.meta_test_pool_version_id)
    trained = packs_of(session, version.meta_train_pool_version_id)
    pool = _slug(session, version.meta_train_pool_version_id)
    others = {pack.id: (pack, pool) for pack in trained}
    if _is_hidden(session, version):
        others = {pack.id: (pack, slug) for pack, slug in public_packs(session)} | others
    for shared in find_shared(session, tested, list(others.values())):
        if shared.near:
            yield join_texts(["The meta-test pool may be known in part.", shared.words])


def require_no_leak(session: Session, phase: Phase, version: PhaseVersion) -> None:
    """Raise `Invalid` with the first leak of a version."""
    session.flush()
    if not evaluates(phase):
        return
    for field, problem in leaks(session, version):
        raise Invalid(problem, field=field)


def _is_hidden(session: Session, version: PhaseVersion) -> bool:
    pool = session.get(PoolVersion, version.meta_test_pool_version_id or "")
    return pool is not None and pool.pool.published_at is None


def _slug(session: Session, version_id: str | None) -> str:
    """The short name of a pool; the version's own row may not know yet that it has another one."""
    found = session.get(PoolVersion, version_id or "")
    return found.pool.slug if found else ""


def _splits_classes(version: PhaseVersion) -> bool:
    kind = PROTOCOLS.get(str(version.protocol.get("name", "")))
    return kind is not None and kind.splits_datasets


def _leaks_of_roles(
    session: Session, version: PhaseVersion, digests: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """What of the packs of both pools is shown by training or validation, and tested: by their very images."""
    try:
        roles, storage = roles_of(version), session.info[STORAGE_KEY]
        if roles is None:
            return
        with ExitStack() as files:
            pool = packs.Pool([files.enter_context(opened(storage, digest)) for digest in digests])
            roles.require_no_leak(pool, pool)
    except ProtocolError as problem:
        yield "tasks.train_protocol", words_without_place(problem)


def _images_of_both(
    session: Session, version: PhaseVersion, trained: Sequence[Pack], tested: Sequence[Pack]
) -> Iterator[str]:
    """Images of two datasets that are equal, where one may be trained on and the other is tested on."""
    also_tested = {pack.id for pack in tested}
    for one in trained:
        for other in tested:
            found = overlap_of(session, other, one) if one.id != other.id else None
            if found is None or not len(found.equal):
                continue
            seen = _that_are_seen(session, version, one, other, tested=one.id in also_tested)
            if seen is None or len(seen.equal):
                pool = _slug(session, version.meta_train_pool_version_id)
                shared = describe(session, other, one, pool, found if seen is None else seen)
                yield (
                    f"What is trained on would be tested on: {shared.words} Leave these images "
                    "out, or the dataset."
                )


def _that_are_seen(
    session: Session, version: PhaseVersion, trained: Pack, test: Pack, *, tested: bool
) -> Overlap | None:
    """What two datasets share within the rows that the protocols show of them; None where they show all."""
    try:
        roles = roles_of(version)
    except (ProtocolError, ValueError, TypeError, KeyError):
        return None  # said by the field itself
    if roles is None:
        return None
    storage = session.info[STORAGE_KEY]
    with opened(storage, trained.digest) as one, opened(storage, test.digest) as other:
        seen, asked = roles.training_rows(one, tested=tested), roles.test.shown_rows(other)
        if roles.validation is not None and seen is not None:
            more = roles.validation.shown_rows(one)
            seen = None if more is None else np.union1d(seen, more)
        if seen is None and asked is None:
            return None
        rows = _all(asked, len(other)), _all(seen, len(one))
    prints = fingerprints_of(session, test).only(rows[0]), fingerprints_of(session, trained).only(rows[1])
    found = find_overlap(*prints)
    places = [
        np.stack([rows[0][pairs[:, 0]], rows[1][pairs[:, 1]]], axis=1) for pairs in (found.equal, found.near)
    ]
    return Overlap(*places)


def _all(rows: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
    return np.arange(count) if rows is None else rows


def _public_copies(session: Session, tested: Sequence[Pack]) -> Iterator[tuple[str, str]]:
    """Datasets and images of a hidden meta-test pool that everybody can download, labels included."""
    public = public_packs(session)
    where = {pack.id: slug for pack, slug in public}
    for pack in tested:
        if pack.id in where:
            yield (
                "tasks.meta_test",
                (
                    f"The meta-test pool is hidden, and its dataset {pack.name} is in the public pool "
                    f"{where[pack.id]}: everybody has its labels."
                ),
            )
    for shared in find_shared(session, tested, public):
        if shared.equal:
            yield (
                "tasks.meta_test",
                join_texts(["The meta-test pool is hidden, and everybody has labels of it.", shared.words]),
            )
