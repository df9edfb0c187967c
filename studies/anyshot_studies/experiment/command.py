"""`anyshot experiment`."""

import json
import shlex
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

import anyshot_studies
from anyshot_core.baselines import BadBaselineConfig, NoBaseline, find_baselines
from anyshot_core.client import Client
from anyshot_core.data.problems import DataError
from anyshot_core.evaluations import evaluations_from_list
from anyshot_core.protocols import AnyWayAnyShot, Range, Roles
from anyshot_core.protocols.splits import CLASS_SPLITS
from anyshot_core.taskserver.channel import NoSandbox
from anyshot_core.taskserver.job import Hooks, ServerProgress
from anyshot_core.taskserver.server import default_cpus
from anyshot_starting_kit.cli.account import connection_options
from anyshot_starting_kit.cli.dry_run import EVALUATE_HELP, EvaluationText, ProtocolText, WaysRange
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.dryrun.evaluate import require_sandbox
from anyshot_starting_kit.dryrun.publicdata import NoData, default_cache, find_public_data
from anyshot_studies.experiment.arms import make_arms
from anyshot_studies.experiment.carry_out import Done, run_experiment
from anyshot_studies.experiment.checks import BadExperiment, check
from anyshot_studies.experiment.joins import read_scores, words_of, write_joined
from anyshot_studies.experiment.plan import Experiment, PlannedRun
from anyshot_studies.experiment.site import collect, fetch_archive, send

_BASELINES = (
    Path(anyshot_studies.__path__[0]) / "_baselines"
)  # package data: in a checkout a link to baselines/
_REPORT_EVERY = 30.0  # seconds
_SANDBOX_BYTES = 4 << 30  # of memory


_folder_option = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the bundles [those that ship with Anyshot].",
)


def _settings_options(command: Any) -> Any:
    """What is changed of bundles: --settings, --set, --weights, --fix-ml."""
    options = (
        click.option(
            "--settings", default="", help="Overlay of each bundle's config.json, such as quick or paper."
        ),
        click.option(
            "--set", "changes", multiple=True, metavar="KEY=VALUE", help="A key of method, for all bundles."
        ),
        click.option(
            "--weights",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="Run each bundle with these pretrained weights too (they go into the zip).",
        ),
        click.option("--fix-ml", is_flag=True, help="Run each bundle with fixed support sets (FIX-ML) too."),
    )
    for option in reversed(options):
        command = option(command)
    return command


class _WithWords(click.Command):
    """Keeps the words of the command line, so that the page can tell how to repeat it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[__name__] = tuple(args)
        return super().parse_args(ctx, args)


@click.group()
def experiment() -> None:
    """Run experiments with baselines."""


@experiment.command()
@click.argument("experiments", nargs=-1, required=True, metavar="TITLE=FOLDER...")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("anyshot-joined"),
    show_default=True,
    help="Folder for figures, tables, findings.",
)
def join(experiments: tuple[str, ...], output: Path) -> None:
    """Join experiments in one report: `"within=OUT1" "cross=OUT2"`, with figures of all scores, by ways and
    shots, and of the difficulty of the datasets.

    Titles that begin with within and cross are compared too: whether tasks across domains are harder.
    """
    try:
        named = [words_of(text) for text in experiments]
        written = write_joined([read_scores(*one) for one in named], [folder for _, folder in named], output)
    except BadExperiment as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"Report: {written}")


@experiment.command("send")
@click.argument("competition")
@click.argument("phase")
@click.argument("names", nargs=-1, metavar="[BASELINE]...")
@_folder_option
@_settings_options
@connection_options
def send_to_site(
    client: Client, competition: str, phase: str, names: tuple[str, ...], folder: Path | None, **options: Any
) -> None:
    """Let a site's workers carry out an experiment: run baselines in PHASE of COMPETITION, which you organize.

    The phase says protocols, pools, seeds, tasks, budgets and further evaluations; take a draft that nobody sees.
    `anyshot experiment collect` makes the report.
    """
    try:
        changes = _parse_changes(options["changes"])
        arms = make_arms(changes, options["weights"], options["fix_ml"])
        chosen = find_baselines(names, folder or _BASELINES)
        for name, runs in send(client, competition, phase, chosen, arms, options["settings"]):
            click.echo(f"{name}: {runs} run{'s' * (runs != 1)} queued")
    except (NoBaseline, BadBaselineConfig, BadExperiment) as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"When they have ended: anyshot experiment collect {competition} --phase {phase}")


@experiment.command("collect")
@click.argument("competition")
@click.option("--phase", default="", help="Where the baselines ran [the only one].")
@click.option(
    "--archive",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The competition's archive (its page Exports) [fetched from the site].",
)
@click.option("--pretrained", is_flag=True, help="The settings of all of them start from pretrained weights.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("anyshot-experiment"),
    show_default=True,
    help="Folder for the report.",
)
@click.option("--server", envvar="ANYSHOT_SERVER", help="Address of the platform [as logged in].")
@click.option("--token", envvar="ANYSHOT_TOKEN", help="API token [as logged in].")
def collect_from_site(
    competition: str,
    phase: str,
    archive: Path | None,
    pretrained: bool,
    output: Path,
    server: str | None,
    token: str | None,
) -> None:
    """The report of baselines that a site's workers ran in COMPETITION: tables, figures and findings as of an
    experiment at home.
    """
    command = shlex.join(
        ["anyshot", "experiment", "collect", competition, *(["--phase", phase] if phase else [])]
    )
    try:
        with tempfile.TemporaryDirectory() as scratch:
            if archive is None:
                archive = Path(scratch) / "archive.zip"
                fetch = connection_options(fetch_archive)
                fetch(server=server, token=token, competition=competition, target=archive)
            found = collect(archive, phase)
        from anyshot_studies.experiment.report import write_collected

        written = write_collected(found, output, command, pretrained=pretrained)
    except BadExperiment as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"Report: {written}")
    if any(run.table is None for run in found.done):
        sys.exit(Exit.FAILED)


@experiment.command(cls=_WithWords)
@click.argument("names", nargs=-1, metavar="[BASELINE]...")
@_folder_option
@click.option(
    "--pool",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="ANYSHOT_DATA",
    help="Folder with Meta-Album datasets and info/meta_splits.txt or info/sets.json [generated data].",
)
@click.option("--train", multiple=True, metavar="NAME", help="Dataset to meta-train on; may be repeated.")
@click.option("--test", multiple=True, metavar="NAME", help="Dataset to meta-test on; may be repeated.")
@click.option("--seeds", default="93,94,95", show_default=True, help="Seeds of training and test tasks.")
@click.option("--tasks", type=click.IntRange(2), default=100, show_default=True, help="Test tasks a seed.")
@_settings_options
@click.option(
    "--within",
    type=click.Choice(sorted(CLASS_SPLITS)),
    help="Split the classes of each test dataset: train on one part, test on another, dataset by dataset.",
)
@click.option(
    "--protocol",
    type=ProtocolText(),
    help='Of the test tasks, name and settings: "class_side side=novel images=all" [any_way_any_shot].',
)
@click.option(
    "--train-protocol", type=ProtocolText(), help="Of the meta-training tasks [as config.json asks]."
)
@click.option("--validation-protocol", type=ProtocolText(), help="Of the validation tasks [the same].")
@click.option("--evaluate", "further", type=EvaluationText(), multiple=True, help=EVALUATE_HELP)
@click.option("--ways", type=WaysRange(), default=Range(2, 20), help="Ways of the test tasks [2-20].")
@click.option("--shots", type=WaysRange(), default=Range(1, 20), help="Shots of the test tasks [1-20].")
@click.option("--query", type=click.IntRange(1), default=20, show_default=True, help="Query images a class.")
@click.option("--budget", type=click.FloatRange(1), default=18_000.0, help="Seconds a run [5 hours].")
@click.option(
    "--cpus",
    type=click.IntRange(1),
    help="Cores a run [all]; 1 is quicker than all where others compute too.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs at a time; they share the cores, unless --cpus says how many each has.",
)
@click.option("--docker", "sandbox", flag_value="docker", help="Run in the sandbox image.")
@click.option("--bubblewrap", "sandbox", flag_value="bubblewrap", help="Run in a Bubblewrap sandbox.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("anyshot-experiment"),
    show_default=True,
    help="Folder for results; an interrupted experiment goes on there.",
)
@click.pass_context
def baselines(
    ctx: click.Context, names: tuple[str, ...], folder: Path | None, pool: Path | None, **options: Any
) -> None:
    """Meta-train and evaluate baselines over seeds, and write tables, figures and findings.

    BASELINE is the name of a bundle (all without one), or the path of a folder or zip of your own. Exits with 1 if a
    run failed or it was interrupted: the same command goes on.
    """
    if options["within"] and options["train"]:
        raise click.UsageError("--train says nothing with --within: each dataset is trained on by itself.")
    named = options["protocol"] or options["train_protocol"] or options["validation_protocol"]
    if named and options["within"]:
        raise click.UsageError("--within has its own protocols: leave --protocol and its like.")
    console = Console(highlight=False)
    try:
        plan = _plan(names, folder, pool, options, console)
        notes = check(plan)
        for note in notes:
            console.print(escape(note), soft_wrap=True)
        done = _run(plan, notes, _command(ctx, pool), console, options["jobs"])
    except (NoBaseline, BadBaselineConfig, BadExperiment, NoData, DataError, NoSandbox) as error:
        raise click.UsageError(str(error)) from error
    if any(run.table is None or any(part.table is None for part in run.further.values()) for run in done):
        sys.exit(Exit.FAILED)


def _run(plan: Experiment, notes: tuple[str, ...], command: str, console: Console, jobs: int) -> list[Done]:
    """All runs; tables and page are written after each seed, and when it is interrupted."""
    from anyshot_studies.experiment.report import GO_ON, page, write_report

    done, said, a_seed = list[Done](), None, plan.runs_a_seed
    try:
        for run in run_experiment(plan, _announce(console), jobs):
            done.append(run)
            _tell(console, run)
            if len(done) % a_seed == 0:
                said = write_report(plan, done, notes, command)
    except KeyboardInterrupt as error:
        so_far = write_report(plan, done, notes, command)
        written = f" Report so far: {page(plan)}." if so_far is not None else ""
        raise click.ClickException(f"Interrupted: {GO_ON}.{written}") from error
    if all(run.table is None for run in done):
        raise click.ClickException("No run finished.")
    for note in [note for note in said or () if note not in notes]:
        console.print(escape(note), soft_wrap=True)
    console.print(f"Report: {page(plan)}", soft_wrap=True)
    return done


def _plan(
    names: tuple[str, ...], folder: Path | None, pool: Path | None, options: dict[str, Any], console: Console
) -> Experiment:
    found = find_baselines(names, folder or _BASELINES)
    further = evaluations_from_list([one.to_dict() for one in options["further"]])
    seeds, changes = _seeds(options["seeds"]), _parse_changes(options["changes"])
    require_sandbox(options["sandbox"], _SANDBOX_BYTES)
    data = find_public_data(
        pool,
        default_cache(),
        train=options["train"],
        test=options["test"],
        trained=not options["within"],
        disjoint=True,
        pools=[one.pool for one in further if one.pool],
        on_step=lambda text: console.print(f"{text} ..."),
    )
    return Experiment(
        baselines=tuple(found),
        data=data,
        output=options["output"],
        seeds=seeds,
        tasks=options["tasks"],
        settings=options["settings"],
        arms=make_arms(changes, options["weights"], options["fix_ml"]),
        ways=options["ways"],
        shots=options["shots"],
        query=options["query"],
        budget_seconds=options["budget"],
        sandbox=options["sandbox"],
        cpus=options["cpus"] or (max(1, default_cpus() // options["jobs"]) if options["jobs"] > 1 else None),
        within=options["within"] or "",
        roles=_roles(options),
        further=further,
    )


def _roles(options: dict[str, Any]) -> Roles | None:
    """The protocols that were named; None without any."""
    test, train, valid = (options[key] for key in ("protocol", "train_protocol", "validation_protocol"))
    if not (test or train or valid):
        return None
    free = AnyWayAnyShot(options["ways"], options["shots"], options["query"])
    return Roles(test or free, train, valid)


def _seeds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() for part in parts):
        raise click.UsageError(f"--seeds {text!r}: expected whole numbers such as 93,94,95.")
    seeds = tuple(dict.fromkeys(int(part) for part in parts))
    if max(seeds) >= 2**31:
        raise click.UsageError(f"--seeds {text!r}: expected numbers below {2**31}.")
    return seeds


def _command(ctx: click.Context, pool: Path | None) -> str:
    words = ctx.meta[__name__]
    named = any(word.partition("=")[0] == "--pool" for word in words)
    data = f"ANYSHOT_DATA={shlex.quote(str(pool))} " if pool is not None and not named else ""
    return data + shlex.join(["anyshot", "experiment", "baselines", *words])


def _announce(console: Console) -> Any:
    def on_run(number: int, total: int, run: PlannedRun) -> Hooks:
        console.print(escape(f"[{number}/{total}] {run.title}"), soft_wrap=True)
        shown = {"stage": "", "at": 0.0}

        def on_progress(progress: ServerProgress) -> None:
            if progress.stage != shown["stage"] or time.monotonic() - shown["at"] >= _REPORT_EVERY:
                shown.update(stage=progress.stage, at=time.monotonic())
                tasks = (
                    f", {progress.tasks_done} of {progress.tasks_total} tasks" if progress.tasks_done else ""
                )
                console.print(
                    f"    {progress.stage}{tasks}, {progress.seconds_used:.0f} s used", soft_wrap=True
                )

        return Hooks(on_progress=on_progress)

    return on_run


def _tell(console: Console, run: Done) -> None:
    if run.table is None:
        text = "\n".join(filter(None, (run.message, run.detail)))
        console.print(f"    [red]failed[/red] {escape(text)}", soft_wrap=True)
        return
    again = " (done before)" if run.resumed else ""
    score = float(run.table.normalized_accuracy.mean())
    console.print(f"    {score:.3f} over {len(run.table)} tasks, {run.seconds:.1f} s{again}", soft_wrap=True)


def _parse_changes(pairs: Iterable[str]) -> dict[str, Any]:
    """`--set KEY=VALUE`: keys of the object `method`, values as JSON or else as text. Raises click.UsageError."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--set {pair!r}: expected KEY=VALUE, such as iterations=500.")
        try:
            changes[key] = json.loads(value)
        except ValueError:
            changes[key] = value
    return changes
