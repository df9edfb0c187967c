"""`anyshot verify`: whether receipts are the site's, and what they say is what can be computed again."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from anyshot_core.client import Client, ClientError
from anyshot_core.data.digests import digest_file
from anyshot_core.data.layout import SUFFIX
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import DataError
from anyshot_core.protocols import Protocol, ProtocolError, protocol_from_dict
from anyshot_core.protocols.keys import PhaseSecrets, Seed, read_seed
from anyshot_core.receipts import (
    BadReceipt,
    PublicKey,
    Receipt,
    ReceiptData,
    SignedReceipt,
    read_public_key,
    read_receipts,
)
from anyshot_core.results import BadResultsFile, read_predictions
from anyshot_core.words import count_of
from anyshot_scoring.errors import ScoringError
from anyshot_scoring.predictions import Predictions
from anyshot_scoring.summary import summarize
from anyshot_scoring.table import TaskTable
from anyshot_starting_kit.cli.account import read_account
from anyshot_starting_kit.cli.exits import Exit

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_CLOSE = 1e-9  # two ways to add the same numbers up


class Different(Exception):
    """A check failed; the text says what differs."""


@click.command()
@click.argument("receipt", type=_FILE)
@click.option(
    "--predictions",
    multiple=True,
    type=_FILE,
    help="A predictions.parquet of a run of RECEIPT, from which its score is computed again; can be repeated.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of packs, as `anyshot data get` writes it: once the phase's key is published, the tasks are drawn "
    "again from it; the site is asked for that key.",
)
@click.option(
    "--key",
    help="The site's public key: 64 hex digits, or a file that holds it [the site is asked].",
)
@click.option("--server", help="Address of the site [as RECEIPT says].")
def verify(
    receipt: Path, predictions: tuple[Path, ...], data: Path | None, key: str | None, server: str | None
) -> None:
    """Verify the signed receipts in the file RECEIPT; each check prints a line.

    A receipt is verified with the site's public key. With --predictions the score is computed again, with --data the
    tasks are drawn again.

    Exits with 1 when a check fails, with 3 when the site cannot be reached.
    """
    try:
        signed = read_receipts(receipt.read_bytes())
        with _site_of(signed, server) as site:
            public = find_key(site, key)
            files = {digest_file(path): path for path in predictions}
            _require_named(signed, files)
            for number, one in enumerate(signed, 1):
                if len(signed) > 1:
                    click.echo(f"Receipt {number} of {len(signed)}")
                said, predicted = _verify_run(one, public, files)
                if data is not None:
                    _verify_tasks(said, predicted, site, data)
    except (BadReceipt, Different) as error:
        click.echo(f"FAILED: {error}")
        raise SystemExit(Exit.FAILED) from error
    except ClientError as error:
        click.echo(f"{error} Give the site's public key by --key, its address by --server.", err=True)
        raise SystemExit(Exit.UNAVAILABLE) from error


def _site_of(signed: Sequence[SignedReceipt], server: str | None) -> Client:
    """The site, as whoever is logged in there."""
    sites = dict.fromkeys(str(one.receipt.get("site")) for one in signed)
    if len(sites) != 1:
        raise BadReceipt(f"It holds receipts of {count_of(len(sites), 'site')}: verify those of one.")
    address, account = (server or next(iter(sites))).rstrip("/"), read_account()
    return Client(address, account.token if account.server.rstrip("/") == address else None)


def find_key(site: Client, given: str | None) -> PublicKey:
    if given is None:
        return read_public_key(json.dumps(site.receipt_key()))
    path = Path(given)
    return read_public_key(path.read_text(encoding="utf-8") if path.is_file() else given)


def _require_named(signed: Sequence[SignedReceipt], files: Mapping[str, Path]) -> None:
    """Predictions that no receipt names were changed, or are of another run: raises `Different`."""
    named = {digest for one in signed for digest in one.receipt.get("predictions") or ()}
    for digest, path in files.items():
        if digest not in named:
            told = ", ".join(sorted(named)) or "none"
            raise Different(f"{path} has the SHA-256 {digest}; the predictions that were scored: {told}.")


def find_phase(site: Client, receipt: Receipt) -> dict[str, Any] | None:
    """The phase of a run as the site shows it; None where it has published no key."""
    phases = site.competition(receipt.competition)["phases"]
    phase = next((one for one in phases if one["slug"] == receipt.phase), None)
    return phase if phase is not None and phase["key"] is not None else None


def tell(check: str, found: str) -> None:
    click.echo(f"{check}: {found}")


def _verify_run(
    signed: SignedReceipt, key: PublicKey, files: Mapping[str, Path]
) -> tuple[Receipt, list[Predictions]]:
    """Signature and score; the predictions where all are there. Raises `Different` or `BadReceipt`."""
    receipt = signed.open(key)
    tell("Signature", f"run {receipt.run} is signed with the key {key.id} of {receipt.site}.")
    own = [files[digest] for digest in receipt.predictions if digest in files]
    missing = len(receipt.predictions) - len(own)
    if missing or not own:
        why = f"{count_of(missing, 'file')} of predictions missing" if missing else "the site was given none"
        tell("Score", f"{receipt.score} ({receipt.metric}), not computed again: {why}.")
        return receipt, []
    tell("Predictions", f"{count_of(len(own), 'file')}, as scored.")
    predicted = _read(own)
    tell("Score", f"{_score_again(receipt, predicted)} ({receipt.metric}), as computed again.")
    return receipt, predicted


def _read(paths: Sequence[Path]) -> list[Predictions]:
    try:
        return [read_predictions(path).predictions for path in paths]
    except BadResultsFile as error:
        raise Different(f"{paths[0]}: {error}") from error


def _score_again(receipt: Receipt, predicted: Sequence[Predictions]) -> float:
    """The mean over the tasks; those without an answer count 0. Raises `Different`."""
    try:
        table = TaskTable.concatenate([one.score() for one in predicted]).sorted()
        found = summarize(table, table.task.tolist(), receipt.metric).mean * (len(table) / receipt.tasks)
    except ScoringError as error:
        raise Different(f"The predictions have no score: {error}") from error
    if not math.isclose(found, receipt.score, rel_tol=0, abs_tol=_CLOSE):
        raise Different(f"The predictions score {found}, and the receipt says {receipt.score}.")
    return found


def _verify_tasks(receipt: Receipt, predicted: Sequence[Predictions], site: Client, folder: Path) -> None:
    """What the published key draws from the data. Raises `Different` or `ClientError`."""
    if (phase := find_phase(site, receipt)) is None:
        tell("Key", "the phase has published none, so its tasks cannot be drawn.")
        return
    secrets = open_commitment(receipt, phase)
    tell("Key", "the phase's published key is that of the commitment.")
    paths, digest = find_packs(receipt.test_data, secrets, site.data(receipt.competition)["pools"], folder)
    tell("Data", f"{count_of(len(paths), 'dataset')}, as the run was tested on.")
    if secrets.fingerprint([phase["protocol"], digest]) != receipt.protocol:
        raise Different("The protocol that the site published is not the one that the run was tested by.")
    tell("Protocol", "as the run was tested by.")
    if not predicted:
        tell("Tasks", "not compared: that takes the predictions.")
        return
    try:
        protocol, pool = protocol_from_dict(phase["protocol"]), Pool.open(paths, verify=False)
        compared = sum(_compare(one, pool, protocol, secrets.tasks(receipt.seed_index)) for one in predicted)
    except (DataError, ProtocolError) as error:
        raise Different(str(error)) from error
    tell("Tasks", f"{count_of(compared, 'task')} drawn again, the same as were answered.")


def open_commitment(receipt: Receipt, phase: Mapping[str, Any]) -> PhaseSecrets:
    split = phase["split_seed"]
    secrets = PhaseSecrets(
        bytes.fromhex(phase["key"]),
        tuple(phase["test_seeds"]),
        None if split is None else read_seed(split),
        same_tasks=receipt.same_test_tasks,
    )
    if secrets.commitment() != receipt.commitment:
        raise Different(
            f"The receipt has the commitment {receipt.commitment}, and the published key that of "
            f"{secrets.commitment()}: the run was of another version of the phase."
        )
    return secrets


def find_packs(
    data: ReceiptData | None, secrets: PhaseSecrets, pools: Sequence[Mapping[str, Any]], folder: Path
) -> tuple[list[Path], str]:
    """The packs in the order of the pool that ran, and its digest; which pool that is, the key tells.

    Raises `Different`.
    """
    wanted = data.fingerprint if data else ""
    for pool in pools:
        digest = hashlib.sha256("\n".join(pack["digest"] for pack in pool["datasets"]).encode()).hexdigest()
        if secrets.fingerprint(["data", digest]) != wanted:
            continue
        paths = [folder / f"{pack['name']}{SUFFIX}" for pack in pool["datasets"]]
        for path, pack in zip(paths, pool["datasets"], strict=True):
            if not path.is_file() or digest_file(path) != pack["digest"]:
                raise Different(f"{path} is not the dataset {pack['name']} of that run.")
        return paths, digest
    raise Different("None of the competition's public pools is the one of that run.")


def _compare(known: Predictions, pool: Pool, protocol: Protocol, seed: Seed) -> int:
    """Draw the tasks that were answered; how many. Raises `Different` for the first that is another one."""
    ways = np.concatenate([[0], np.cumsum(known.ways)])
    for row, index in enumerate(known.task.tolist()):
        task = protocol.task(pool, seed, index)
        queries = slice(known.offsets[row], known.offsets[row + 1])
        same = (
            pool.names[task.dataset] == known.dataset[row]
            and (task.ways, task.shots) == (known.ways[row], known.shots[row])
            and np.array_equal(task.query_labels, known.labels[queries])
            and np.array_equal(task.classes, known.classes[ways[row] : ways[row + 1]])
        )
        if not same:
            raise Different(f"Task {index} is not the one that the key draws.")
    return len(known)
