"""The three protocols of a phase: what is tested, and what there is to train and to validate on."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from anyshot_core.data.pack import Pack
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.task import Protocol, ProtocolError


@dataclass(frozen=True)
class Roles:
    """`train` and `validation` None leave it to the submission's `config.json`, as the contract of 2022 has it.

    Then tasks come from all classes of the meta-training pool, and whole datasets of it are held out for validation; of
    a dataset that is tested as well, or of a domain that is held out, there is no more than the test's `training_rows`.
    """

    test: Protocol
    train: Protocol | None = None
    validation: Protocol | None = None

    def training_rows(self, pack: Pack, *, tested: bool) -> np.ndarray | None:
        """Rows of a pack of the meta-training pool that may be trained on: None for all, empty for none.

        `tested` is whether the pack is in the meta-test pool too.
        """
        if self.train is not None:
            return self.train.shown_rows(pack)
        return self.test.training_rows(pack) if tested or self.test.holds_out else None

    def require_no_leak(self, train: Pool, test: Pool) -> None:
        """Raise `ProtocolError` where an image that is tested could be seen, with its label, before the test.

        `train` is the meta-training pool, which validation tasks come from as well. Packs are known by their content.
        """
        self.require_unseen(self.test, train, test, test)

    def require_unseen(
        self, tested_by: Protocol, train: Pool, test: Pool, evaluated: Pool, *, validated: bool = False
    ) -> None:
        """Raise `ProtocolError` where an image of `evaluated` that `tested_by` tests could be seen before.

        `test` is the pool that the phase itself tests on, which decides what of `train` may be trained on. With
        `validated` images of validation tasks may be tested too: the evaluation is of those.
        """
        own = {pack.content_digest for pack in test}
        for shown, tested in _shared(train, evaluated):
            for what, protocol in (("trained", self.train), ("validated", self.validation)):
                if protocol is not None and protocol.splits_tasks and tested_by.splits_tasks:
                    continue  # other tasks on the same images, by design
                if what == "validated" and (protocol is None or validated):
                    continue  # what is held out of what may be trained on
                rows = (
                    self.training_rows(shown, tested=shown.content_digest in own)
                    if protocol is None
                    else protocol.shown_rows(shown)
                )
                both = _common(rows, tested_by.shown_rows(tested), len(tested))
                if both:
                    name = "config.json" if protocol is None else protocol.name
                    raise ProtocolError(
                        f"{tested.name}: {both} of its images would be {what} on ({name}) and tested on"
                        f" ({tested_by.name}). Name pools that share no dataset, or protocols that split it, with the"
                        " same split_seed."
                    )


def _shared(train: Pool, test: Pool) -> Iterator[tuple[Pack, Pack]]:
    known = {pack.content_digest: pack for pack in train}
    return ((known[pack.content_digest], pack) for pack in test if pack.content_digest in known)


def _common(one: np.ndarray | None, other: np.ndarray | None, count: int) -> int:
    """How many rows are in both; None is all of `count`."""
    if one is None:
        return count if other is None else len(other)
    return len(one) if other is None else len(np.intersect1d(one, other))
