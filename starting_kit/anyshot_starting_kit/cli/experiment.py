"""`anyshot experiment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from anyshot_starting_kit.cli.dry_run import WaysRange
from anyshot_starting_kit.data.problems import DataError
from anyshot_starting_kit.dryrun.evaluate import NoSandbox
from anyshot_starting_kit.dryrun.publicdata import NoData, default_cache, find_public_data
from anyshot_starting_kit.experiment.bundles import NoBaseline, find_baselines
from anyshot_starting_kit.experiment.carry_out import Done, run_experiment
from anyshot_starting_kit.experiment.plan import Arm, Experiment, Run
from anyshot_starting_kit.protocols import ProtocolError, Range
from anyshot_starting_kit.protocols.splits import CLASS_SPLITS
from anyshot_starting_kit.taskserver.job import Hooks, ServerProgress

_CHECKOUT = Path(__file__).parents[3] / "baselines"


@click.group()
def experiment() -> None:
    """Run experiments with baselines."""


@experiment.command()
@click.argument("names", nargs=-1, metavar="[BASELINE]...")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the bundles [baselines/ of the checkout].",
)
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
@click.option("--settings", default="", help="Overlay of each bundle's config.json, such as quick or paper.")
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="A key of method, for all bundles."
)
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run each bundle with these pretrained weights too (they go into the zip).",
)
@click.option("--fix-ml", is_flag=True, help="Run each bundle with fixed support sets (FIX-ML) too.")
@click.option(
    "--within",
    type=click.Choice(sorted(CLASS_SPLITS)),
    help="Split the classes of each test dataset: train on one part, test on another, dataset by dataset.",
)
@click.option("--ways", type=WaysRange(), default=Range(2, 20), help="Ways of the test tasks [2-20].")
@click.option("--shots", type=WaysRange(), default=Range(1, 20), help="Shots of the test tasks [1-20].")
@click.option("--query", type=click.IntRange(1), default=20, show_default=True, help="Query images a class.")
@click.option("--budget", type=click.FloatRange(1), default=18_000.0, help="Seconds a run [5 hours].")
@click.option(
    "--cpus",
    type=click.IntRange(1),
    help="Cores a run [all]; 1 is quicker than all where others compute too.",
)
@click.option("--docker", "sandbox", flag_value="docker", help="Run in the sandbox image.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("anyshot-experiment"),
    show_default=True,
    help="Folder for results; an interrupted experiment goes on there.",
)
def baselines(names: tuple[str, ...], folder: Path | None, pool: Path | None, **options: Any) -> None:
    """Meta-train and evaluate baselines over seeds, and write tables, figures and findings.

    BASELINE is the name of a bundle (all without one), or the path of a folder or zip of your own.
    """
    console = Console(highlight=False)
    try:
        plan = _plan(names, folder, pool, options, console)
        done = run_experiment(plan, _announce(console), lambda run: _tell(console, run))
    except (NoBaseline, NoData, DataError, NoSandbox, ProtocolError) as error:
        raise click.UsageError(str(error)) from error
    if not any(run.table is not None for run in done):
        raise click.ClickException("No run finished.")
    console.print(f"Report: {_write(plan, done)}")


def _plan(
    names: tuple[str, ...], folder: Path | None, pool: Path | None, options: dict[str, Any], console: Console
) -> Experiment:
    if folder is None and not _CHECKOUT.is_dir():
        raise NoBaseline("The baselines are not here: run this from a clone, or name their --folder.")
    data = find_public_data(
        pool,
        default_cache(),
        train=options["train"],
        test=options["test"],
        on_step=lambda text: console.print(f"{text} ..."),
    )
    return Experiment(
        baselines=tuple(find_baselines(names, folder or _CHECKOUT)),
        data=data,
        output=options["output"],
        seeds=_seeds(options["seeds"]),
        tasks=options["tasks"],
        settings=options["settings"],
        arms=_arms(options),
        ways=options["ways"],
        shots=options["shots"],
        query=options["query"],
        budget_seconds=options["budget"],
        sandbox=options["sandbox"],
        cpus=options["cpus"],
        within=options["within"] or "",
    )


def _seeds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdigit() for part in parts):
        raise click.UsageError(f"--seeds {text!r}: expected whole numbers such as 93,94,95.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _arms(options: dict[str, Any]) -> tuple[Arm, ...]:
    from anyshot_starting_kit.experiment.changes import parse_changes

    common = parse_changes(options["changes"])
    arms = [Arm("", {"method": common})]
    if options["weights"] is not None:
        file: Path = options["weights"]
        arms.append(Arm("pretrained", {"method": {**common, "weights": file.name}}, (file,)))
    if options["fix_ml"]:
        arms.append(Arm("FIX-ML", {"method": {**common, "fixed_supports": True}}))
    return tuple(arms)


def _announce(console: Console) -> Any:
    def on_run(number: int, total: int, run: Run) -> Hooks:
        console.print(escape(f"[{number}/{total}] {run.title}"), soft_wrap=True)
        shown = {"stage": ""}

        def on_progress(progress: ServerProgress) -> None:
            if progress.stage != shown["stage"]:
                shown["stage"] = progress.stage
                console.print(f"    {progress.stage}, {progress.seconds_used:.0f} s used", soft_wrap=True)

        return Hooks(on_progress=on_progress)

    return on_run


def _tell(console: Console, run: Done) -> None:
    if run.table is None:
        console.print(f"    [red]failed[/red] {escape(run.message)}", soft_wrap=True)
        return
    again = " (done before)" if run.resumed else ""
    score = float(run.table.normalized_accuracy.mean())
    console.print(f"    {score:.3f} over {len(run.table)} tasks, {run.seconds:.1f} s{again}", soft_wrap=True)


def _write(plan: Experiment, done: list[Done]) -> Path:
    from anyshot_starting_kit.experiment.findings import find
    from anyshot_starting_kit.experiment.page import write_page
    from anyshot_starting_kit.experiment.tables import make_rows, pooled, write_tables

    tables = pooled(done)
    write_tables(make_rows(tables), plan.output)
    kind = "Generated data" if plan.data.generated else "Public datasets"
    kind += f", each within itself ({plan.within})" if plan.within else ""
    each = "dataset and seed" if plan.within else "seed"
    setting = f"{kind}; {plan.tasks} tasks a {each}, seeds {', '.join(map(str, plan.seeds))}; settings:"
    changes = plan.arms[0].changes.get("method", {})
    words = ", ".join([plan.settings or "config.json", *(f"{k} {v}" for k, v in changes.items())])
    setting += f" {words}."
    return write_page(plan.output, tables, find(done), done, setting)
