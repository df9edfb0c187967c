"""`anyshot replay`: a submission runs again from its receipts, to the last digit of its score, or says why not."""

import importlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from anyshot_core.client import Client, Refused
from anyshot_core.data.digests import digest_file
from anyshot_core.data.problems import DataError
from anyshot_core.hardware import processor_name
from anyshot_core.protocols import Protocol, protocol_from_dict
from anyshot_core.receipts import BadReceipt, Receipt, read_receipts
from anyshot_core.results import read_predictions
from anyshot_core.taskserver.channel import NoSandbox
from anyshot_core.wire.worker_api import Budget
from anyshot_core.words import count_of
from anyshot_scoring.predictions import Predictions
from anyshot_starting_kit.cli.account import connection_options, which_submission
from anyshot_starting_kit.cli.dry_run_view import ProgressView
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.verify import Different, find_key, find_packs, find_phase, open_commitment, tell
from anyshot_starting_kit.dryrun.evaluate import DryRun, DryRunPlan, carry_out, require_sandbox
from anyshot_starting_kit.dryrun.publicdata import PublicData


@click.command()
@click.argument("submission", required=False)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of packs, as `anyshot data get` writes it.",
)
@click.option(
    "--docker", "sandbox", flag_value="docker", help="Run in the sandbox image (needs anyshot-worker)."
)
@click.option("--bubblewrap", "sandbox", flag_value="bubblewrap", help="Run in a Bubblewrap sandbox (same).")
@click.option(
    "--key", help="The site's public key: 64 hex digits, or a file that holds it [the site is asked]."
)
@connection_options
def replay(client: Client, submission: str | None, data: Path, sandbox: str | None, key: str | None) -> None:
    """Run SUBMISSION (its number or id) again as its receipts say: code, data, tasks, seeds and limits are the same.

    That takes the phase's published key, and pools that are public. Without --docker or --bubblewrap the code runs in a
    child process, which is no sandbox. Exits with 0 when each score is the same to the last digit, with 1 when one is
    not, or cannot be compared; the last lines say why.
    """
    submission_id = which_submission(client, submission)
    try:
        require_sandbox(sandbox, 1 << 30)
        with tempfile.TemporaryDirectory() as folder:
            receipts, bundle = Path(folder) / "receipts.json", Path(folder) / "submission.zip"
            client.fetch(f"/submissions/{submission_id}/receipts", receipts)
            client.fetch(f"/submissions/{submission_id}/archive", bundle)
            public = find_key(client, key)
            signed = [one.open(public) for one in read_receipts(receipts.read_bytes())]
            if not signed:
                raise Different("The submission has no run with a receipt.")
            same = [_replay(client, one, bundle, data, sandbox) for one in signed]
    except (BadReceipt, Different, DataError) as error:
        click.echo(f"FAILED: {error}")
        raise SystemExit(Exit.FAILED) from error
    except NoSandbox as error:
        click.echo(str(error), err=True)
        raise SystemExit(Exit.UNAVAILABLE) from error
    raise SystemExit(Exit.OK if all(same) else Exit.FAILED)


def _replay(site: Client, receipt: Receipt, bundle: Path, data: Path, sandbox: str | None) -> bool:
    """Whether the score of one run is the same. Raises `Different` where it cannot be run again."""
    if (digest := digest_file(bundle)) != receipt.code:
        raise Different(f"The zip has the SHA-256 {digest}, and the receipt says {receipt.code}.")
    if (phase := find_phase(site, receipt)) is None:
        raise Different("The phase has not published its key, so its tasks cannot be drawn.")
    plan = _plan(site, receipt, phase, bundle, data, sandbox)
    tell("Run", f"{receipt.run}, training seed {receipt.train_seed}, {count_of(receipt.tasks, 'task')}.")
    with ProgressView(Console(stderr=True), plan, lambda: None) as view:
        again = carry_out(plan, view.hooks)
    if again.summary is None or again.predictions is None:
        failure = again.outcome.failure
        raise Different(f"It failed this time: {failure.message if failure else 'without a result'}")
    score = again.summary.mean * (len(again.predictions) / receipt.tasks)
    tell("Score", f"{score}; the receipt says {receipt.score}.")
    if score == receipt.score:
        tell("Same", "to the last digit.")
        return True
    for line in _differences(site, receipt, again, sandbox):
        tell("Different", line)
    return False


def _plan(
    site: Client,
    receipt: Receipt,
    phase: Mapping[str, Any],
    bundle: Path,
    data: Path,
    sandbox: str | None,
) -> DryRunPlan:
    settings, secrets = phase["run_settings"], open_commitment(receipt, phase)
    pools = site.data(receipt.competition)["pools"]
    test, _ = find_packs(receipt.test_data, secrets, pools, data)
    train = find_packs(receipt.train_data, secrets, pools, data)[0] if receipt.train_data else []
    parts = len(test) if settings["each_dataset"] else 1
    budgets = parts if settings["budget_each_dataset"] else 1
    limit = settings["meta_train_seconds"]
    return DryRunPlan(
        bundle=bundle,
        data=PublicData(tuple(train), tuple(test), generated=False, named=True),
        tasks=receipt.tasks,
        train_seed=receipt.train_seed,
        test_seed=secrets.tasks(receipt.seed_index),
        query_secret=secrets.query_order(receipt.seed_index),
        budget=Budget(
            run_seconds=phase["run_seconds"] * budgets,
            task_seconds=phase["task_seconds"],
            meta_train_seconds=limit * budgets / parts if limit else None,
        ),
        protocol=protocol_from_dict(phase["protocol"]),
        train_protocol=_protocol(settings["train_protocol"]),
        validation_protocol=_protocol(settings["validation_protocol"]),
        each_dataset=settings["each_dataset"],
        isolated_tasks=settings["isolated_tasks"],
        hide_names=receipt.train_data is not None and receipt.train_data.digest is None,
        cpus=max(1, round(settings["cpus"])),
        memory_bytes=settings["memory_bytes"],
        sandbox=sandbox,
    )


def _protocol(settings: dict[str, Any] | None) -> Protocol | None:
    return protocol_from_dict(settings) if settings else None


def _differences(site: Client, receipt: Receipt, again: DryRun, sandbox: str | None) -> Iterator[str]:
    """Which answers differ, where the site shows them, and what was not the same this time."""
    assert again.predictions is not None
    with suppress(Refused), tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.parquet"
        site.download(receipt.submission, receipt.run, file.name, file)
        yield _compare(read_predictions(file).predictions, again.predictions)
    now = {
        "kit": version("anyshot-starting-kit"),
        "sandbox": sandbox or "none",
        "hardware": _hardware(),
    }
    then = {"kit": receipt.kit_version, "sandbox": receipt.sandbox, "hardware": receipt.hardware}
    for name, was in then.items():
        if was and was != now[name]:
            yield f"the {name} was {was}, and is {now[name]}."
    yield "answers that follow from time, from the number of threads or from the device are not repeated."


def _hardware() -> str:
    cuda = importlib.import_module("torch").cuda
    return cuda.get_device_name() if cuda.is_available() else processor_name()


def _compare(then: Predictions, now: Predictions) -> str:
    rows = {index: row for row, index in enumerate(now.task.tolist())}
    other = list[int]()
    for row, index in enumerate(then.task.tolist()):
        at = rows.get(index)
        answers = then.predictions[then.offsets[row] : then.offsets[row + 1]]
        if at is None or not np.array_equal(answers, now.predictions[now.offsets[at] : now.offsets[at + 1]]):
            other.append(index)
    where = f", first in task {other[0]}" if other else ""
    return f"{len(other)} of {count_of(len(then), 'task')} were answered otherwise{where}."
