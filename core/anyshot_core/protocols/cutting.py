"""The packs that a submission trains or validates on: cut to what the protocols of its phase show."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.part import write_part
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.roles import Roles
from anyshot_core.protocols.task import Protocol, ProtocolError

Store = Callable[[Pack, np.ndarray, frozenset[str] | None], Path]
"""Where a part of a pack lies as a pack of its own: these rows, and these annotations (None for all)."""


@dataclass(frozen=True)
class Shown:
    """Packs in the order of the meta-training pool; datasets of which nothing is shown are left out."""

    train: tuple[Path, ...]
    validation: tuple[Path, ...] = ()


def cut_packs(
    roles: Roles,
    train: Sequence[Path],
    tested: Callable[[Pack], bool],
    store: Store,
    validation: Sequence[Path] | None = None,
) -> Shown:
    """What of the packs `train`, and for validation of `validation` (the same by default), the roles show.

    `tested` tells whether a pack is in the meta-test pool too.

    Raises:
        ProtocolError: nothing is left to train or validate on, or what is left cannot offer the tasks.
    """
    shown = _cut(train, lambda pack: roles.training_rows(pack, tested=tested(pack)), roles.train, store)
    if not shown:
        raise ProtocolError("Of the meta-training pool nothing is left to train on: name other datasets.")
    _require(shown, roles.train)
    if roles.validation is None:
        return Shown(shown)
    held = _cut(
        train if validation is None else validation, roles.validation.shown_rows, roles.validation, store
    )
    if not held:
        raise ProtocolError(f"{roles.validation.name} leaves nothing to validate on: name other datasets.")
    _require(held, roles.validation)
    return Shown(shown, held)


def write_cut(folder: Path) -> Store:
    """Store parts as new files in a folder."""
    count = iter(range(10**9))

    def store(pack: Pack, rows: np.ndarray, annotations: frozenset[str] | None) -> Path:
        target = folder / f"{next(count)}-{pack.name}.anyshot-pack"
        write_part(pack, rows, target, annotations)
        return target

    return store


def _cut(
    paths: Sequence[Path],
    rows_of: Callable[[Pack], np.ndarray | None],
    protocol: Protocol | None,
    store: Store,
) -> tuple[Path, ...]:
    found = []
    for path in paths:
        pack = Pack.open(path, verify=False)
        rows, names = rows_of(pack), None if protocol is None else protocol.shown_annotations(pack)
        if rows is None and names is None:
            found.append(path)
        elif rows is None or len(rows):
            found.append(store(pack, np.arange(len(pack)) if rows is None else rows, names))
    return tuple(found)


def _require(packs: tuple[Path, ...], protocol: Protocol | None) -> None:
    if protocol is not None:
        protocol.on_shown().check(Pool.open(packs, verify=False))
