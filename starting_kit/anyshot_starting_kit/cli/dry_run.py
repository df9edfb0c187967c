"""`anyshot dry-run`."""

import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.markup import escape

from anyshot_core.bundle import check_bundle
from anyshot_core.bundle.pack import DRY_RUN_FOLDER, pack_folder
from anyshot_core.data.problems import DataError
from anyshot_core.evaluations import (
    EVALUATIONS,
    FurtherEvaluation,
    evaluations_from_list,
    read_evaluation,
)
from anyshot_core.evaluations.needs import require_scorable, require_spread
from anyshot_core.exports.requests import MOST_SNAPSHOTS, Asked
from anyshot_core.protocols import AnyWayAnyShot, Protocol, Range, WithinDomain, read_protocol
from anyshot_core.taskserver.channel import NoSandbox
from anyshot_core.taskserver.job import Hooks
from anyshot_core.wire.verdicts import Cause
from anyshot_core.wire.worker_api import Budget
from anyshot_starting_kit.cli.account import install_remedy
from anyshot_starting_kit.cli.check import describe
from anyshot_starting_kit.cli.dry_run_files import LEARNER, SNAPSHOTS, remove_earlier
from anyshot_starting_kit.cli.dry_run_view import ProgressView, save
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.dryrun.evaluate import (
    DryRun,
    DryRunPlan,
    PointRun,
    carry_out,
    carry_out_further,
    export,
    require_sandbox,
)
from anyshot_starting_kit.dryrun.further_evaluations import all_points, by_evaluation
from anyshot_starting_kit.dryrun.publicdata import NoData, default_cache, find_public_data

QUICK_TASKS, QUICK_ITEMS, QUICK_SECONDS = 5, 3, 300.0


class WaysRange(click.ParamType[Range]):
    """One number, or a range such as 2-20."""

    name = "N or N-M"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Range:
        if isinstance(value, Range):
            return value
        low, _, high = str(value).partition("-")
        if not low.isdecimal() or not (high or low).isdecimal():
            self.fail(f"{value!r} is neither a number nor a range such as 2-20", param, ctx)
        try:
            return Range(int(low), int(high or low))
        except DataError as error:
            self.fail(str(error), param, ctx)


class ProtocolText(click.ParamType[Protocol]):
    """A protocol of the registry with its settings, in one argument."""

    name = "PROTOCOL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Protocol:
        if isinstance(value, Protocol):
            return value
        try:
            return read_protocol(value)
        except DataError as error:
            self.fail(str(error), param, ctx)


class EvaluationText(click.ParamType[FurtherEvaluation]):
    """A further evaluation with its settings, in one argument."""

    name = "EVALUATION"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> FurtherEvaluation:
        if isinstance(value, FurtherEvaluation):
            return value
        try:
            return read_evaluation(value)
        except DataError as error:
            self.fail(str(error), param, ctx)


EVALUATE_HELP = (
    f"Test the same learner further: {', '.join(EVALUATIONS)}, with settings such as"
    ' "mixtures steps=0,0.5,1 tasks=40"; may be repeated.'
)


@click.command("dry-run")
@click.argument("submission", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--quick", is_flag=True, help="A quick test of about a minute: few tasks, and meta-training is cut short."
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="ANYSHOT_DATA",
    help="Folder with Meta-Album datasets and info/meta_splits.txt or info/sets.json [generated data].",
)
@click.option("--train", multiple=True, metavar="NAME", help="Dataset to meta-train on; may be repeated.")
@click.option("--test", multiple=True, metavar="NAME", help="Dataset to meta-test on; may be repeated.")
@click.option("--tasks", type=click.IntRange(1), help="Number of test tasks [40, with --quick 5].")
@click.option("--seed", default=93, show_default=True, help="Training seed, as on the platform.")
@click.option("--test-seed", default=93, show_default=True, help="Seed of the test tasks drawn here.")
@click.option(
    "--ways", type=WaysRange(), help="Ways of the test tasks, 5 or 2-20 [2-20, with --within-domain 5]."
)
@click.option(
    "--shots", type=WaysRange(), help="Shots of the test tasks, 5 or 1-20 [1-20, with --within-domain 5]."
)
@click.option("--query", type=click.IntRange(1), default=20, show_default=True, help="Query images a class.")
@click.option(
    "--within-domain",
    is_flag=True,
    help="Train on half of the classes of each test dataset, tasks from the other half, as in 2021.",
)
@click.option(
    "--protocol",
    type=ProtocolText(),
    help='Of the test tasks, name and settings: "class_side side=novel images=all ways=5" [any_way_any_shot].',
)
@click.option(
    "--train-protocol", type=ProtocolText(), help="Of the meta-training tasks [as config.json asks]."
)
@click.option(
    "--validation-protocol",
    type=ProtocolText(),
    help="Of the validation tasks [datasets held out, as config.json asks].",
)
@click.option(
    "--each-dataset",
    is_flag=True,
    help="With it: a fresh learner for each dataset, with an equal share of the budget.",
)
@click.option("--evaluate", "further", type=EvaluationText(), multiple=True, help=EVALUATE_HELP)
@click.option(
    "--learner",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Skip meta-training: test a learner.bin that an earlier dry run of this submission has kept.",
)
@click.option(
    "--keep-learner", is_flag=True, help="Keep the learner as learner.bin in the output [with --evaluate]."
)
@click.option(
    "--snapshots",
    type=click.IntRange(2, MOST_SNAPSHOTS),
    help="Keep so many snapshots of training and test each on base, validation and novel classes: snapshots.npz.",
)
@click.option("--features", is_flag=True, help="Export the learner's layers on some test images: layers.npz.")
@click.option(
    "--estimates",
    is_flag=True,
    help="Estimate the accuracy on each task from its support set alone: estimates.npz.",
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Export the probabilities of all answers, where predict returns logits or probabilities: probabilities.npz.",
)
@click.option("--budget", type=click.FloatRange(1), help="Seconds for the whole run [5 hours, as in 2022].")
@click.option(
    "--task-seconds", type=click.FloatRange(0.001), help="Seconds for fit and predict of a task [no limit]."
)
@click.option(
    "--isolated", is_flag=True, help="Each task in a fresh process, as phases with isolated tasks do."
)
@click.option(
    "--docker", "sandbox", flag_value="docker", help="Run in the sandbox image (needs anyshot-worker)."
)
@click.option("--bubblewrap", "sandbox", flag_value="bubblewrap", help="Run in a Bubblewrap sandbox (same).")
@click.option(
    "--memory", type=click.FloatRange(0.1), default=4.0, show_default=True, help="GiB, in a sandbox."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(DRY_RUN_FOLDER),
    show_default=True,
    help="Folder for report, results, logs.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON and nothing else.")
def dry_run(
    submission: Path,
    quick: bool,
    data: Path | None,
    train: tuple[str, ...],
    test: tuple[str, ...],
    tasks: int | None,
    seed: int,
    test_seed: int,
    ways: Range | None,
    shots: Range | None,
    query: int,
    within_domain: bool,
    protocol: Protocol | None,
    train_protocol: Protocol | None,
    validation_protocol: Protocol | None,
    each_dataset: bool,
    further: tuple[FurtherEvaluation, ...],
    learner: Path | None,
    keep_learner: bool,
    snapshots: int | None,
    features: bool,
    estimates: bool,
    probabilities: bool,
    budget: float | None,
    task_seconds: float | None,
    isolated: bool,
    sandbox: str | None,
    memory: float,
    output: Path,
    as_json: bool,
) -> None:
    """Run SUBMISSION, a folder or a zip, here: same checks, runner, clock, scoring and report as the platform, on
    the data of --data, else on generated pictures.

    Without --docker or --bubblewrap it runs in a child process, which is no sandbox: run your own code only. Exits with
    0 when it ran, 1 when the submission failed or would be refused, 3 when the sandbox is missing, 4 when the fault is
    not the submission's.
    """
    if protocol is not None and (within_domain or ways or shots or _is_given("query")):
        raise click.UsageError(
            "--protocol says ways, shots and query itself: leave --within-domain, --ways, --shots, --query."
        )
    if output.resolve() == submission.resolve():
        raise click.UsageError(
            "-o is the folder of the submission itself, and would make the results a part of it: name another one."
        )
    tested = protocol or _protocol(within_domain, ways, shots, query)
    if each_dataset and not tested.splits_datasets:
        raise click.UsageError(
            "--each-dataset goes with --within-domain, or a protocol that splits datasets."
        )
    if each_dataset and train:
        raise click.UsageError(
            "--train says nothing with --each-dataset: each dataset is trained on by itself."
        )
    exports = Asked(snapshots or 0, features, estimates, probabilities)
    if each_dataset and (further or learner or keep_learner or exports):
        raise click.UsageError("--evaluate and its like need one learner for all: leave --each-dataset.")
    if learner and snapshots:
        raise click.UsageError("--snapshots are of meta-training, which --learner skips.")
    try:
        evaluations = evaluations_from_list([one.to_dict() for one in further])
    except DataError as error:
        raise click.UsageError(f"--evaluate: {error}") from error
    console = Console(quiet=as_json, highlight=False)
    kept = learner or (output / LEARNER if keep_learner or further or exports else None)
    with tempfile.TemporaryDirectory() as folder:
        bundle = _bundle(submission, Path(folder), output)
        report = check_bundle(bundle)
        console.print(escape(describe(report)))
        if not report.ok:
            _end(as_json, {"verdict": "BAD_ARCHIVE", **report.to_dict()}, Exit.FAILED)
        try:
            if sandbox is None and importlib.util.find_spec("torch") is None:
                raise NoSandbox(f"Your code runs with this Python, which has no torch. {install_remedy()}")
            require_sandbox(sandbox, int(memory * 2**30))
            found = find_public_data(
                data,
                default_cache(),
                train=train,
                test=test,
                pools=[one.pool for one in evaluations if one.pool],
                on_step=lambda text: console.print(f"{text} ..."),
            )
            plan = DryRunPlan(
                bundle=bundle,
                data=found,
                tasks=tasks or (QUICK_TASKS if quick else 40),
                train_seed=seed,
                test_seed=test_seed,
                budget=Budget(
                    run_seconds=budget or (QUICK_SECONDS if quick else 18_000.0), task_seconds=task_seconds
                ),
                protocol=tested,
                train_protocol=train_protocol,
                validation_protocol=validation_protocol,
                each_dataset=each_dataset,
                learner=learner,
                keep_learner=None if learner else kept,
                further=evaluations,
                exports=exports,
                keep_snapshots=output / SNAPSHOTS if snapshots else None,
                max_items=QUICK_ITEMS if quick else None,
                isolated_tasks=isolated,
                sandbox=sandbox,
                memory_bytes=int(memory * 2**30),
            )
            require_scorable(plan.tasks_protocol)
            require_spread(plan.tasks_protocol, len(found.test), plan.tasks, each_dataset=each_dataset)
            if plan.keep_learner is not None:
                output.mkdir(parents=True, exist_ok=True)
            with ProgressView(console, plan, lambda: remove_earlier(output, learner)) as view:
                result = carry_out(plan, view.hooks)
                view.begin()
                tested = list(_test_further(plan, result, kept, view.hooks))
                exported = _export(plan, result, kept, output, view.hooks)
        except (NoData, DataError) as error:
            raise click.UsageError(str(error)) from error
        except NoSandbox as error:
            click.echo(str(error), err=True)
            sys.exit(Exit.UNAVAILABLE)
        summary = save(result, plan, submission.resolve().name, output, console, tested, exported)
    _end(as_json, summary, max(exit_code(run) for run in (result, *(one.run for one in tested))))


def _test_further(plan: DryRunPlan, result: DryRun, kept: Path | None, hooks: Hooks) -> Iterator[PointRun]:
    """The further evaluations of a run that did not fail."""
    if result.outcome.failure is None and kept is not None:
        for evaluation, points in by_evaluation(all_points(plan.data, plan.roles, plan.further)):
            yield from carry_out_further(plan, evaluation, points, kept, hooks)


def _export(
    plan: DryRunPlan, result: DryRun, kept: Path | None, output: Path, hooks: Hooks
) -> tuple[list[Path], list[str]]:
    """What is exported of a run that did not fail, and notes on what could not be."""
    if result.outcome.failure is not None or kept is None or not plan.exports:
        return [], []
    return export(plan, result, kept, output, hooks)


def _is_given(option: str) -> bool:
    """Whether the command says it, even if it says what the default is."""
    return click.get_current_context().get_parameter_source(option) is not ParameterSource.DEFAULT


def _protocol(within_domain: bool, ways: Range | None, shots: Range | None, query: int) -> Protocol:
    if within_domain:
        return WithinDomain(ways=ways or Range(5, 5), shots=shots or Range(5, 5), query=query)
    return AnyWayAnyShot(ways=ways or Range(2, 20), shots=shots or Range(1, 20), query=query)


def exit_code(result: DryRun) -> Exit:
    """Whose fault it was, as a number."""
    failure = result.outcome.failure
    if failure is None:
        return Exit.OK
    return Exit.FAILED if failure.verdict.cause is Cause.PARTICIPANT else Exit.OURS


def _bundle(submission: Path, folder: Path, output: Path) -> Path:
    if submission.is_file():
        return submission
    pack_folder(submission, folder / "submission.zip", without=[output])
    return folder / "submission.zip"


def _end(as_json: bool, data: dict[str, Any], code: Exit) -> None:
    if as_json:
        click.echo(json.dumps(data, indent=1))
    sys.exit(code)
