"""Receipts of runs: what ran, on which data, with which score, signed by the site (Ed25519, RFC 8032).

A receipt is JSON. What is signed are its canonical bytes: keys sorted, no blanks, UTF-8, numbers as Python writes them.
"""

import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError

VERSION = 1


class BadReceipt(ValueError):
    """No receipt, a changed one, or one that another key signed; the text says which."""


class ReceiptData(BaseModel):
    """A pool of datasets. What hides its digest is the phase's key: once that is published, both can be compared.

    Attributes:
        digest: SHA-256 of the packs' SHA-256 in their order, one a line; None where the pool was hidden.
        fingerprint: what the pool is known by while the phase's key is secret.
    """

    model_config = ConfigDict(frozen=True)

    digest: str | None
    fingerprint: str


class Receipt(BaseModel):
    """What a site signs of a run. It holds no person, no name of a dataset, and nothing that draws tasks.

    Attributes:
        version: of this form.
        site, competition, phase, phase_version: where it ran; the address, two short names, and a number from 1.
        submission, run, kind: the site's ids, and what kind of run it was.
        seed_index: its place among the seeded runs, from 0; with the phase's key, its tasks follow from it.
        train_seed: what the code was given to draw from.
        same_test_tasks: whether all seeded runs have the tasks of the first.
        commitment: to the phase's key, as the phase's page shows it.
        protocol: fingerprint of the tasks' protocol and the pool that they are drawn from.
        code: SHA-256 of the submission's zip.
        image, image_digest, sandbox, kit_version, hardware: what it ran in; empty where predictions were scored again.
        train_data, test_data: the pools that it was trained and tested on; None without one.
        predictions: SHA-256 of each `predictions.parquet`; several where the run was in parts, none where none came.
        results: SHA-256 of `results.parquet`, one row a task; None where none came.
        metric, score, half_width, tasks: mean over `tasks` tasks, tasks without an answer counting 0, and half its 95 %
            interval; None where that is not defined.
        seconds: of the participant's time that it used.
        claimed_at, finished_at: begin and end of its last attempt, UTC.
    """

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = VERSION
    site: str
    competition: str
    phase: str
    phase_version: int
    submission: str
    run: str
    kind: str
    seed_index: int
    train_seed: int
    same_test_tasks: bool
    commitment: str
    protocol: str
    code: str
    image: str
    image_digest: str
    sandbox: str
    kit_version: str
    hardware: str
    train_data: ReceiptData | None
    test_data: ReceiptData | None
    predictions: tuple[str, ...]
    results: str | None
    metric: str
    score: float
    half_width: float | None
    tasks: int
    seconds: float
    claimed_at: datetime
    finished_at: datetime


class PublicKey(BaseModel):
    """A site's public key, as the site serves it; 32 bytes in hex."""

    model_config = ConfigDict(frozen=True)

    algorithm: Literal["Ed25519"] = "Ed25519"
    id: str
    public_key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class SignedReceipt(BaseModel):
    """A receipt with its signature, 64 bytes in hex, and the id of the key that signed it."""

    model_config = ConfigDict(frozen=True)

    receipt: dict[str, Any]
    key: str
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]

    def open(self, key: PublicKey) -> Receipt:
        """What the receipt says, once its signature was verified; raises `BadReceipt`."""
        if self.key != key.id:
            raise BadReceipt(f"It was signed with the key {self.key}, and this is the key {key.id}.")
        try:
            public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.public_key))
            public.verify(bytes.fromhex(self.signature), canonical(self.receipt))
        except (InvalidSignature, ValueError) as error:
            raise BadReceipt("The signature is not of this receipt: it was changed after signing.") from error
        if self.receipt.get("version") != VERSION:
            raise BadReceipt(
                f"It has version {self.receipt.get('version')}; this release reads version {VERSION}."
            )
        return Receipt.model_validate(self.receipt)


def canonical(data: Any) -> bytes:
    """The one way to write JSON data; raises `ValueError` for NaN and infinity."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def new_private_key() -> bytes:
    """A private key from the operating system's random numbers, 32 bytes."""
    return Ed25519PrivateKey.generate().private_bytes_raw()


def public_key(private: bytes) -> PublicKey:
    """The public half of a private key; its id is the begin of its SHA-256."""
    raw = Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return _key(raw)


def _key(raw: bytes) -> PublicKey:
    return PublicKey(id=hashlib.sha256(raw).hexdigest()[:16], public_key=raw.hex())


def sign(receipt: Receipt, private: bytes) -> SignedReceipt:
    """The receipt with its signature."""
    data = receipt.model_dump(mode="json")
    signature = Ed25519PrivateKey.from_private_bytes(private).sign(canonical(data))
    return SignedReceipt(receipt=data, key=public_key(private).id, signature=signature.hex())


def read_receipts(content: bytes | str) -> list[SignedReceipt]:
    """The signed receipts of a file, one or a list of them; raises `BadReceipt`."""
    try:
        data = json.loads(content)
        return [SignedReceipt.model_validate(one) for one in (data if isinstance(data, list) else [data])]
    except (ValueError, RecursionError) as error:
        raise BadReceipt("The file holds no signed receipt.") from error


def read_public_key(text: str) -> PublicKey:
    """A public key of 64 hex digits, or as a site serves it; raises `BadReceipt`."""
    try:
        found = json.loads(text) if text.lstrip().startswith("{") else {"public_key": text.strip().lower()}
        return _key(bytes.fromhex(PublicKey.model_validate({"id": "", **found}).public_key))
    except ValidationError as error:
        raise BadReceipt("A public key has 64 hex digits, or is the file that its site serves.") from error
    except ValueError as error:
        raise BadReceipt("The file holds no public key.") from error
