"""An ordered sequence of packs: what tasks are drawn from."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from anyshot_core.data.pack import Pack
from anyshot_core.data.problems import DataError


@dataclass(frozen=True)
class Pool:
    """Packs in a fixed order; a task's `dataset` is a position in it."""

    packs: tuple[Pack, ...]

    def __init__(self, packs: Iterable[Pack]) -> None:
        object.__setattr__(self, "packs", tuple(packs))
        if not self.packs:
            raise DataError("A pool needs at least one pack.")

    @classmethod
    def open(cls, paths: Sequence[str | os.PathLike[str]], verify: bool = True) -> Pool:
        """Open packs in the order given; see `Pack.open`."""
        return cls(Pack.open(path, verify=verify) for path in paths)

    @property
    def digest(self) -> str:
        """sha256 over the packs' content digests in their order: two pools with it hold the same images and
        labels.
        """
        return hashlib.sha256("\n".join(pack.content_digest for pack in self.packs).encode()).hexdigest()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the datasets."""
        return tuple(pack.name for pack in self.packs)

    def subset(self, positions: Sequence[int]) -> Pool:
        """The pool of some of the packs, in the order given."""
        return Pool(self.packs[position] for position in positions)

    def __len__(self) -> int:
        return len(self.packs)

    def __getitem__(self, position: int) -> Pack:
        return self.packs[position]

    def __iter__(self) -> Iterator[Pack]:
        return iter(self.packs)
