"""`anyshot admin simulate`: how many workers a phase needs."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import click

from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.contest.phases.service import find_phase
from anyshot_platform.foundation.filters import count, decimal, duration, percent
from anyshot_platform.foundation.settings import PlatformSettings, read_settings
from anyshot_platform.judging.visibility.access import find_competition
from anyshot_platform.running.capacity.scenes import scene_of_bundle, scene_of_phase
from anyshot_platform.running.capacity.simulation import Outcome, Scene, simulate
from anyshot_platform.server.home import HomeOption, services_of

_EXAMPLE = "cross-domain-metadl-2022"


@click.command("simulate")
@HomeOption
@click.argument("phase", required=False, metavar="[COMPETITION/PHASE]")
@click.option(
    "--example",
    default=f"{_EXAMPLE}/feedback",
    show_default=True,
    help="Without a phase of this site: a phase of a ready-made competition.",
)
@click.option("--teams", type=click.IntRange(1), default=30, show_default=True, help="Teams.")
@click.option("--workers", type=click.IntRange(1), help="Workers; else those of the site, or ten.")
@click.option("--days", type=click.IntRange(1), default=7, show_default=True, help="Days played, at most.")
@click.option("--uploads", type=click.IntRange(1), help="Uploads of a team on a day; else its quota.")
@click.option(
    "--rush",
    type=click.FloatRange(0, 24, min_open=True),
    default=24.0,
    show_default=True,
    help="The uploads of the last day come within its last hours, so many.",
)
@click.option("--hours", help="How long runs take, such as 0.5,2,5: each as likely as the others.")
@click.option(
    "--lost",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    show_default=True,
    help="Share of attempts that lose their worker.",
)
@click.option("--price", type=click.FloatRange(0), help="Price of a worker for an hour.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of what is drawn.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def simulate_command(
    home: Path,
    phase: str | None,
    example: str,
    teams: int,
    workers: int | None,
    days: int,
    uploads: int | None,
    rush: float,
    hours: str | None,
    lost: float,
    price: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Play a phase with the platform's own scheduler: how long runs wait, what it costs, what one more worker brings.

    Runs take what the last ones of the phase took; where none has ended, between a tenth of their budget and all of it.
    """
    found, settings = _find(home, phase, teams) if phase else _find_example(example, teams)
    scene = replace(
        found,
        workers=workers or found.workers,
        days=min(days, found.days),
        uploads=(uploads or found.uploads) if found.uploads else 0,
        seconds=_read_hours(hours) if hours else found.seconds,
        rush=rush,
        lost=lost,
        seed=seed,
    )
    few = simulate(scene, settings)
    more = simulate(replace(scene, workers=scene.workers + 1), settings)
    if as_json:
        told = [asdict(one) | {"cost": price and one.worker_hours * price} for one in (few, more)]
        click.echo(json.dumps({"scene": asdict(scene), "outcomes": told}, indent=1))
        return
    click.echo(f"{phase or example}: {count(teams, 'team')}, {_words_on_runs(scene)}.")
    for one in (few, more):
        click.echo(_words(one, price))
    click.echo(_words_on_one_more(few, more, price))


def _find(home: Path, phase: str, teams: int) -> tuple[Scene, PlatformSettings]:
    services = services_of(home)
    slug, _, key = phase.partition("/")
    with services.database.reading() as session:
        row = find_phase(session, find_competition(session, slug), key)
        return scene_of_phase(session, row, teams), services.settings


def _find_example(example: str, teams: int) -> tuple[Scene, PlatformSettings]:
    name, _, key = example.partition("/")
    try:
        spec = next(one for one in read_ready_made(name).spec.phases if one.key == key)
    except (KeyError, StopIteration) as error:
        raise click.UsageError(f"There is no ready-made phase {example}.") from error
    # Nothing is signed: the key is one that the settings take.
    return scene_of_bundle(spec, teams), read_settings(secret_key="-" * 32)


def _read_hours(words: str) -> tuple[float, ...]:
    try:
        seconds = tuple(3600 * float(word) for word in words.split(","))
    except ValueError as error:
        raise click.UsageError("--hours is a list of numbers, such as 0.5,2,5.") from error
    if not all(one > 0 for one in seconds):
        raise click.UsageError("--hours are above 0.")
    return seconds


def _words_on_runs(scene: Scene) -> str:
    each = count(scene.uploads, "upload") + " a day" if scene.uploads else "one entry at the start"
    lengths = f"{duration(min(scene.seconds))} to {duration(max(scene.seconds))}"
    return f"{each}, {count(scene.days, 'day')}, {count(scene.runs, 'run')} of {lengths} a submission"


def _words(one: Outcome, price: float | None) -> str:
    cost = "" if price is None else f", cost {decimal(one.worker_hours * price, 2)}"
    return (
        f"{count(one.workers, 'worker')}: {count(one.submissions, 'submission')} ({decimal(one.refused)} refused by a "
        f"quota). A run waits {duration(one.median)} (median), {duration(one.most)} (90 %), {duration(one.worst)} "
        f"(worst). The workers are busy {percent(one.use)} of {decimal(one.worker_hours, 0)} worker hours{cost}. "
        f"The last run ends {duration(one.late_seconds)} after the end."
    )


def _words_on_one_more(few: Outcome, more: Outcome, price: float | None) -> str:
    hours = more.worker_hours - few.worker_hours
    cost = "" if price is None else f" ({decimal(hours * price, 2)})"
    return (
        f"One more worker: the median wait is {duration(few.median - more.median)} shorter, that of 90 % "
        f"{duration(few.most - more.most)}, the worst {duration(few.worst - more.worst)}, "
        f"for {decimal(hours, 0)} more worker hours{cost}."
    )
