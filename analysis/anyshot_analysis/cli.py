"""`anyshot analyse ...`: every analysis as a command, its parameters as options."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from pydantic.fields import FieldInfo
from rich.console import Console
from rich.progress import Progress

from anyshot_analysis.jobs.inputs import BadAnalysis
from anyshot_analysis.jobs.options import choices_of, settings_of
from anyshot_analysis.jobs.registry import JOBS, again, run
from anyshot_core.data.problems import DataError
from anyshot_core.exports import array_role
from anyshot_core.results import BadResultsFile, is_archive, read_kind

ROLES = {
    ".anyshot-pack": "meta_test",
    ".parquet": "results",
    ".csv": "results",
    ".zip": "results",
    ".npz": "arrays",
    ".json": "evaluations",
}
TABLES = (".anyshot-pack", ".parquet", ".npz")  # what a folder is searched for, and:
EVALUATIONS = "evaluations.json"
RUN = ("results", "predictions")  # of a run's own tasks, in its folder
FILES = (
    "FILES: packs, results, what runs export (.npz), evaluations.json, or folders of them. Results are those of dry"
    " runs, experiments and `anyshot results -o`, a submission's tasks.csv or everything.zip from the site, or the"
    " results.parquet of a competition's archive. Predictions of the same runs in the same order open what can be said"
    " of other classes."
)


class Analyses(click.Group):
    """Builds the command of an analysis when it is asked for, so that help needs no torch."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*JOBS, *self.commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_of(cmd_name) if cmd_name in JOBS else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _about(self, name)) for name in self.list_commands(ctx)])


def _about(group: click.Group, name: str) -> str:
    return JOBS[name].about if name in JOBS else group.commands[name].get_short_help_str(limit=80)


@click.group(cls=Analyses)
def analyse() -> None:
    """How diverse tasks are, and how far a ranking or a predictor can be trusted."""


def command_of(name: str) -> click.Command:
    """The command of one analysis: files, `--train`, `--out`, and an option for each parameter."""
    kind, _ = JOBS[name].load()
    options: list[click.Parameter] = [
        click.Argument(["files"], nargs=-1, type=click.Path(exists=True, path_type=Path)),
        click.Option(
            ["--train"],
            multiple=True,
            type=click.Path(exists=True, path_type=Path),
            help="Packs of the meta-train pool.",
        ),
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path),
            default=Path("report"),
            show_default=True,
            help="Folder of the report.",
        ),
        *[option_of(name, field) for name, field in settings_of(kind).items()],
    ]
    about = f"{JOBS[name].about}\n\n{FILES}"
    return click.Command(name, params=options, callback=runner(name), help=about, short_help=JOBS[name].about)


@analyse.command("again", short_help="Make a report again and say whether its numbers are the same.")
@click.argument("report", type=click.Path(exists=True, path_type=Path))
@click.argument("files", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--train", multiple=True, type=click.Path(exists=True, path_type=Path), help="Packs of meta-train."
)
@click.option(
    "--weights",
    type=click.Path(exists=True, path_type=Path),
    help="File of the weights that the report took.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("again"), show_default=True, help="Folder."
)
def again_command(
    report: Path, files: tuple[Path, ...], train: tuple[Path, ...], weights: Path | None, out: Path
) -> None:
    """Make REPORT (its folder or result.json) again from FILES, with the parameters that it says.

    Exits with 1 where the files or versions are others, or the numbers differ.
    """
    try:
        same = again(report, sort_files(files, train), out, weights)
    except (BadAnalysis, DataError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    if not same:
        raise click.ClickException(f"the numbers differ: compare {report} with {out / 'result.json'}")
    click.echo(f"The same numbers, byte for byte: {out / 'result.json'}")


def option_of(name: str, field: FieldInfo) -> click.Option:
    """An option of a parameter, explained, with its choices; lists are separated by commas, anything deeper is JSON."""
    default = field.get_default(call_default_factory=True)
    flag, words = "--" + name.replace("_", "-"), field.description or ""
    if isinstance(default, bool):
        return click.Option([f"{flag}/--no-{flag[2:]}"], default=default, show_default=True, help=words)
    if choices := choices_of(field):
        return click.Option(
            [flag], type=click.Choice(choices), default=default, show_default=True, help=words
        )
    if isinstance(default, int | float | str):
        return click.Option([flag], type=type(default), default=default, show_default=True, help=words)
    shown = "" if default in (None, {}) else f"  [default: {list_words(default)}]"
    return click.Option([flag], type=str, default=None, help=words + shown)


def list_words(default: Any) -> str:
    """A default as one would type it."""
    plain = isinstance(default, tuple) and all(isinstance(one, str | int | float) for one in default)
    return ",".join(map(str, default)) if plain else json.dumps(default)


def read_option(value: Any, default: Any) -> Any:
    """What was typed for a parameter that is a list, a mapping, or a text that may be missing."""
    if not isinstance(value, str) or isinstance(default, str):
        return value
    if value[:1] in "[{":
        return json.loads(value)
    if isinstance(default, tuple):
        return value.split(",")
    return int(value) if value.isdigit() else value


def runner(name: str) -> Callable[..., None]:
    """The callback of an analysis's command."""

    def call(files: tuple[Path, ...], train: tuple[Path, ...], out: Path, **options: Any) -> None:
        kind, _ = JOBS[name].load()
        defaults = {
            key: field.get_default(call_default_factory=True) for key, field in settings_of(kind).items()
        }
        given = {
            key: read_option(value, defaults[key]) for key, value in options.items() if value is not None
        }
        try:
            with Progress(console=Console(stderr=True)) as bars:
                summary = run(name, sort_files(files, train), given, out, show(bars))
        except (BadAnalysis, DataError, ValueError) as error:
            raise click.ClickException(str(error)) from error
        click.echo(summary["finding"])
        click.echo(f"Page: {out / 'page.html'}; numbers: result.json; rows: table.parquet")

    return call


def show(bars: Progress) -> Callable[[str, int, int], None]:
    """A bar for each thing that an analysis does."""
    tasks: dict[str, Any] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    return progress


def sort_files(files: Sequence[Path], train: Sequence[Path]) -> dict[str, list[Path]]:
    """Files by role; a folder stands for the packs, tables and arrays in it."""
    found: dict[str, list[Path]] = {}
    for path in expand(files):
        if path.suffix not in ROLES:
            raise BadAnalysis(
                f"{path}: neither a pack, a results table nor layers; `anyshot data pack` packs a dataset folder"
            )
        role = array_role(path) if path.suffix == ".npz" else ROLES[path.suffix]
        found.setdefault(
            "predictions" if path.suffix == ".parquet" and _holds_predictions(path) else role, []
        ).append(path)
    if train:
        found["meta_train"] = expand(train)
    return found


def _holds_predictions(path: Path) -> bool:
    try:
        return read_kind(path) == "predictions"
    except (BadResultsFile, FileNotFoundError) as error:
        raise BadAnalysis(f"{path}: {error}") from error


def expand(paths: Sequence[Path]) -> list[Path]:
    """Folders replaced by what they and their folders hold, in the order of names."""
    return [found for path in paths for found in (_below(path) if path.is_dir() else [path])]


def _below(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.suffix in TABLES or path.name == EVALUATIONS)
    return [path for path in found if not _is_further(path) and not _is_foreign(path)]


def _is_foreign(path: Path) -> bool:
    """Whether a table is of no run, as that of a report; one that cannot be read is left to who says so."""
    try:
        return path.suffix == ".parquet" and not read_kind(path) and not is_archive(path)
    except (BadResultsFile, FileNotFoundError):
        return False


def _is_further(path: Path) -> bool:
    """Whether a file holds a further evaluation of the run beside it, as `results-base.parquet`: other tasks."""
    own, _, point = path.stem.partition("-")
    return bool(point) and own in RUN and path.with_name(f"{own}{path.suffix}").exists()
