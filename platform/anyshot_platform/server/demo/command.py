"""`anyshot admin demo`: from nothing to a leaderboard."""

import hashlib
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from anyshot_core.bundle.pack import pack_folder
from anyshot_core.client import ClientError
from anyshot_core.data.problems import DataError
from anyshot_core.words import decimal_words
from anyshot_platform.app import make_services
from anyshot_platform.foundation.migration import migrate
from anyshot_platform.foundation.schema.parts import LONGEST
from anyshot_platform.server.demo import server as servers
from anyshot_platform.server.demo.data import NoSets, prepare_data
from anyshot_platform.server.demo.organizer import DemoCompetition, set_the_stage
from anyshot_platform.server.demo.participants import (
    LEAGUES,
    DemoFailed,
    Entrant,
    Participant,
    entering,
    follow,
)
from anyshot_platform.standings.baselines.actions.service import BUILTIN

WIDTH = 110  # columns: a log file or a narrow terminal would cut the progress lines
CAST = (
    ("ada", "Random guessing", "random"),
    ("grace", "Nearest class mean of thumbnails", "nearest_prototype"),
    ("emmy", "Prototypical networks, Conv-4", "prototypical_networks"),
)


@click.command()
@click.option("--exit", "leave", is_flag=True, help="Stop the server after the leaderboard.")
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    default=Path(".demo"),
    show_default=True,
    help="Where to keep it.",
)
@click.option("--port", type=int, help="Port of the server; a free one when left out.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    envvar="ANYSHOT_DATA",
    help="Folder of datasets in Meta-Album format with an info/sets.json; generated when left out.",
)
@click.option(
    "--tasks", type=click.IntRange(2), default=60, show_default=True, help="Hidden tasks of a submission."
)
@click.option(
    "--budget",
    type=click.FloatRange(10, LONGEST),
    default=300.0,
    show_default=True,
    help="Seconds of a submission.",
)
@click.option(
    "--sandbox", type=click.Choice(["docker", "bubblewrap", "trusted"]), help="Instead of what is found here."
)
def demo(
    leave: bool,
    home: Path,
    port: int | None,
    data: Path | None,
    tasks: int,
    budget: float,
    sandbox: str | None,
) -> None:
    """Run a whole small competition on this machine and print its leaderboard."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the server ends too
    console = Console(highlight=False, width=max(WIDTH, Console().width))
    began = time.monotonic()
    try:
        chosen = servers.SANDBOXES[sandbox] if sandbox else servers.choose_sandbox()
        console.print(chosen.sentence)
        servers.prepare_sandbox(chosen)
        found = prepare_data(data, home.absolute(), console.print)
        site = home.absolute() / "sites" / datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        site.mkdir(parents=True)
        entrants = _pack_entrants(site)
        trusted = [_digest(entrant.bundle) for entrant in entrants] if chosen.name == "trusted" else None
        settings = servers.make_settings(site, port, trusted)
        services = make_services(settings)
        migrate(services.database)
        stage = set_the_stage(services, found, tasks=tasks, budget_seconds=budget)
        services.database.dispose()
        with servers.serving(settings, chosen) as server:
            console.print(f"The platform runs at {server.address}")
            _compete(console, server, stage, entrants, budget)
            console.print(f"From start to leaderboard: {time.monotonic() - began:.0f} s")
            _say_good_bye(console, server, stage, found.generated, leave)
            if not leave:
                server.process.wait()
    except (servers.ServerDown, DemoFailed, ClientError, NoSets, DataError) as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        console.print("Stopped.")


def _pack_entrants(site: Path) -> list[Entrant]:
    entrants = []
    for name, title, folder in CAST:
        bundle = site / f"{folder}.zip"
        pack_folder(BUILTIN / folder, bundle)
        entrants.append(Entrant(name, title, bundle))
    return entrants


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _compete(
    console: Console, server: servers.Server, stage: DemoCompetition, entrants: list[Entrant], budget: float
) -> None:
    columns = (
        TextColumn("{task.description:<34}"), TextColumn("{task.fields[stage]:<14}"), BarColumn(24),
        TextColumn("{task.completed:>4.0f}/{task.total:.0f} tasks"), TextColumn("{task.fields[used]:>14}"),
    )  # fmt: skip
    with entering(server.address, stage, entrants) as participants:
        with Progress(*columns, console=console) as bars:
            lines = {
                p: bars.add_task(f"{p.entrant.name}: {p.entrant.title}", total=1, stage="", used="")
                for p in participants
            }
            follow(
                participants,
                lambda who, seen: show_progress(bars, lines[who], seen),
                server.require_up,
                seconds=len(entrants) * (budget + 120.0),
            )
        for league in LEAGUES:
            console.print(_board(league, participants[0]))


def show_progress(bars: Progress, line: TaskID, seen: dict[str, Any]) -> None:
    """Move the bar; in a file, where a bar shows only at its end, each new stage is a line at once."""
    run = seen["runs"][0]
    budget = run["budget_seconds"] or 0.0
    stage = run["state"].replace("_", "-")
    if not bars.console.is_terminal and bars.tasks[line].fields["stage"] != stage:
        bars.console.print(f"{bars.tasks[line].description}: {stage}")
    bars.update(
        line,
        total=max(run["tasks_total"], 1),
        completed=run["tasks_done"],
        stage=stage,
        used=f"{run['seconds_used']:.0f} of {budget:.0f} s",
    )


def _board(league: str, reader: Participant) -> Table:
    table = Table(title=f"Leaderboard, league {league}")
    for heading, side in (
        ("Rank", "right"),
        ("Participant", "left"),
        ("Normalized accuracy", "right"),
        ("Time", "right"),
    ):
        table.add_column(heading, justify="right" if side == "right" else "left")
    for row in reader.leaderboard(league):
        interval = "" if row["half_width"] is None else f" ± {row['half_width']:.3f}"
        table.add_row(
            str(row["rank"] or "-"),
            row["team"],
            f"{decimal_words(row['score'])}{interval}",
            f"{row['seconds']:.0f} s",
        )
    return table


def _say_good_bye(
    console: Console, server: servers.Server, stage: DemoCompetition, generated: bool, leave: bool
) -> None:
    if generated:
        console.print("The data is generated: these scores show the machinery at work and measure no method.")
    page = f"{server.address}/competitions/{stage.competition}/leaderboard"
    console.print(f"Leaderboard page: {page}", soft_wrap=True)
    console.print(f"Log in as organizer: user {stage.organizer}, password {stage.password}")
    console.print("The server stops now (--exit)." if leave else "Stop the server with Ctrl-C.")
