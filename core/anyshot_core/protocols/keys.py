"""The secrets of a phase: one root of 256 bits, and for each purpose a key that tells nothing about the others.

Keys are HMAC-SHA256 (RFC 2104) of the root on the purpose and its context. A commitment to the root can be published
while the root is secret: who gets the root later can verify that it is the one the phase began with.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Seed = int | bytes
"""What tasks and splits are drawn from: a key of 32 bytes, or a small number, which anyone can find by trying."""

KEY_BYTES = 32
KEY_PATTERN = r"^[0-9a-f]{64}$"
_DOMAIN = b"anyshot phase key 1"
_COMMITMENT = b"anyshot phase commitment 1"
_LEGACY = b"anyshot legacy stream 1"
_NUMBER = b"anyshot number 1 "


class KeyPurpose(StrEnum):
    """What a key is for. Keys of different purposes are independent of one another."""

    TASKS = "tasks"  # which classes and images make up the tasks of a run
    QUERY_ORDER = "query order"  # in which order a run's query images are shown
    CLASS_SPLIT = "class split"  # which classes of a dataset are trained on
    SMOKE = "smoke test"  # the root of the smoke test's own secrets
    EVALUATION = "evaluation"  # the root of the secrets of a further evaluation
    GATE = "gate"  # the root of the secrets of a baseline's runs that measure a gate
    EXPORTS = "exports"  # which tasks a run's snapshots are tested on
    FINGERPRINT = "fingerprint"  # what hidden data and settings are known by to those who may not know them


def draw_root() -> bytes:
    """A new root from the operating system's random numbers."""
    return secrets.token_bytes(KEY_BYTES)


def derive(root: bytes, purpose: KeyPurpose, *context: str | int) -> bytes:
    """The key of a purpose, 32 bytes; `context` tells keys of one purpose apart, such as a run's number.

    Raises:
        ValueError: the root has not 32 bytes.
    """
    if len(root) != KEY_BYTES:
        raise ValueError(f"A root has {KEY_BYTES} bytes; this one has {len(root)}.")
    label = json.dumps([purpose.value, *context], separators=(",", ":")).encode()
    return hmac.digest(root, _DOMAIN + label, "sha256")


@dataclass(frozen=True)
class PhaseSecrets:
    """All that is secret about the tasks of a phase version.

    Attributes:
        root: 32 bytes.
        test_seeds: small numbers that the organizers chose for the tasks, one a run; empty: keys of the root.
        split_seed: likewise for the split of classes.
        same_tasks: whether all runs have the tasks and query orders of the first.
    """

    root: bytes
    test_seeds: tuple[int, ...] = ()
    split_seed: Seed | None = None
    same_tasks: bool = False

    def __repr__(self) -> str:
        return "PhaseSecrets(...)"

    def tasks(self, run: int) -> Seed:
        """What the tasks of a run, counted from 0, are drawn from."""
        return (
            self.test_seeds[run] if self.test_seeds else derive(self.root, KeyPurpose.TASKS, self._place(run))
        )

    def query_order(self, run: int) -> bytes:
        """The key of the order in which a run's query images are shown; the same for every entrant."""
        return derive(self.root, KeyPurpose.QUERY_ORDER, self._place(run))

    def class_split(self) -> Seed:
        """What decides which classes of a dataset are trained on and which are tested."""
        return derive(self.root, KeyPurpose.CLASS_SPLIT) if self.split_seed is None else self.split_seed

    def smoke(self) -> PhaseSecrets:
        """The unrelated secrets of the smoke test."""
        return PhaseSecrets(derive(self.root, KeyPurpose.SMOKE))

    def gate(self, measurement: str) -> PhaseSecrets:
        """The unrelated tasks and query orders of the runs that measure a gate; their split is the phase's."""
        return PhaseSecrets(derive(self.root, KeyPurpose.GATE, measurement))

    def evaluation(self, name: str) -> PhaseSecrets:
        """The unrelated tasks and query orders of a further evaluation; their split is the phase's."""
        root = derive(self.root, KeyPurpose.EVALUATION, name)
        return PhaseSecrets(root, same_tasks=self.same_tasks)

    def mark(self, tasks: Seed) -> str:
        """What a run's tasks are known by in the files that it exports, 64 hex digits: no seed can be tried on it."""
        return self.fingerprint(["tasks of a run", write_seed(tasks)])

    def fingerprint(self, data: Any) -> str:
        """What plain JSON data is known by outside: equal data, equal fingerprint, and nothing to try guesses on."""
        text = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        return hmac.digest(derive(self.root, KeyPurpose.FINGERPRINT), text, "sha256").hex()

    def commitment(self) -> str:
        """What may be published while the root is secret, 64 hex digits: SHA-256 of the root and the seeds chosen."""
        split = None if self.split_seed is None else write_seed(self.split_seed)
        chosen = {"test_seeds": list(self.test_seeds), "split_seed": split}
        text = json.dumps(chosen, sort_keys=True, separators=(",", ":")).encode()
        return hashlib.sha256(_COMMITMENT + self.root + text).hexdigest()

    def _place(self, run: int) -> int:
        return 0 if self.same_tasks else run


def exports_seed(seed: Seed) -> bytes:
    """What the tasks of a run's exports are drawn from: it follows from its own tasks' seed, and does not tell it."""
    root = seed if isinstance(seed, bytes) else hashlib.sha256(_NUMBER + str(seed).encode()).digest()
    return derive(root, KeyPurpose.EXPORTS)


def draw_mark(seed: Seed) -> int:
    """A number that runs on the same tasks have in common, 0 to 2^63 - 1, from their seed or from a phase's mark of it.

    A key is not told by it. A small number is found by trying: where it is secret, give `PhaseSecrets.mark` of it.
    """
    return int.from_bytes(derive(exports_seed(seed), KeyPurpose.FINGERPRINT)[:8], "big") >> 1


def legacy_number(seed: Seed) -> int:
    """The number of 32 bits that a stream of NumPy's legacy generator starts from; a key gives it up, not itself."""
    if isinstance(seed, int):
        return seed
    return int.from_bytes(hmac.digest(seed, _LEGACY, "sha256")[:4], "big")


def write_seed(seed: Seed) -> int | str:
    """A seed as JSON knows it: a number, or 64 hex digits."""
    return seed.hex() if isinstance(seed, bytes) else seed


def read_seed(value: Any) -> Seed:
    """A seed that was written; raises `ValueError`, which does not repeat what was found: it may be a secret."""
    if isinstance(value, str) and re.fullmatch(KEY_PATTERN, value):
        return bytes.fromhex(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ValueError("a seed is a whole number from 0 on, or a key of 64 lower-case hex digits")
