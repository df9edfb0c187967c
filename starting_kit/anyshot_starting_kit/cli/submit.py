"""`anyshot submit`."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from anyshot_core.bundle import check_bundle
from anyshot_core.bundle.pack import pack_folder
from anyshot_core.client import Client, ClientError, NotAllowed, Refused
from anyshot_starting_kit.cli.account import connection_options, remember_submission
from anyshot_starting_kit.cli.check import describe
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.leagues import describe_entry
from anyshot_starting_kit.cli.status import follow_to_end


@click.command()
@click.argument("submission", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--to",
    "target",
    metavar="COMPETITION[/PHASE]",
    help="Competition and phase [the only phase that is open].",
)
@click.option("--league", multiple=True, metavar="NAME", help="League to stand in; may be repeated.")
@click.option("--comment", default="", help="A note to yourself, at most 500 characters.")
@click.option(
    "--fact-sheet",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON file with its answers.",
)
@click.option("--smoke", is_flag=True, help="A few public tasks first: no quota, not on the board.")
@click.option("--join", is_flag=True, help="Join the competition first, accepting its terms.")
@click.option(
    "--follow", is_flag=True, help="Show log and progress until the end; exits with 0 only if it finished."
)
@click.option("--json", "as_json", is_flag=True, help="Print the submission as JSON and nothing else.")
@connection_options
def submit(
    client: Client,
    submission: Path,
    target: str | None,
    league: tuple[str, ...],
    comment: str,
    fact_sheet: Path | None,
    smoke: bool,
    join: bool,
    follow: bool,
    as_json: bool,
) -> None:
    """Check SUBMISSION, a folder or a zip, and upload it.

    A broken upload resumes where it stopped; a zip that your team has submitted before is not sent again.

    Exits with 0 when it is queued (with --follow: finished), 1 when it is refused or failed, 3 when the platform cannot
    be reached.
    """
    console = Console(quiet=as_json, highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        archive = _archive(submission, Path(folder))
        report = check_bundle(archive)
        console.print(describe(report), markup=False)
        if not report.ok:
            if as_json:
                click.echo(json.dumps(report.to_dict(), indent=1))
            sys.exit(Exit.FAILED)
        slug, phase = find_phase(client, target, join=join)
        tell_deadline(client, console, slug, phase)
        if not smoke:
            tell_replaced(client, console, slug, phase, league)
        answers = json.loads(fact_sheet.read_text(encoding="utf-8")) if fact_sheet else None
        bar = Progress(
            TextColumn("uploading"), BarColumn(), DownloadColumn(), console=console, transient=True
        )
        with bar:
            shown = SentBytes(bar, archive.stat().st_size)
            made = client.submit(
                archive,
                slug,
                phase,
                comment=comment,
                leagues=league,
                fact_sheet=answers,
                smoke=smoke,
                on_sent=shown,
            )
    code = Exit.OK
    try:
        note_queued(client, made, slug, phase, followed=follow, quiet=as_json)
        if follow:
            made, code = follow_to_end(client, made["id"], console)
    finally:
        if as_json:  # also where it could not be followed: it is queued
            click.echo(json.dumps(made, indent=1))
    sys.exit(code)


class SentBytes:
    """Shows how far an upload is; says once what was sent before, by a command that broke off."""

    def __init__(self, bar: Progress, total: int) -> None:
        self._bar, self._task = bar, bar.add_task("upload", total=total)
        self._begun = False

    def __call__(self, sent: int, total: int) -> None:
        if sent and not self._begun:
            self._bar.console.print(f"The upload goes on at {decimal(sent)} of {decimal(total)}.")
        self._begun = True
        self._bar.update(self._task, completed=sent, total=total)


def _archive(submission: Path, folder: Path) -> Path:
    if submission.is_file():
        return submission
    target = folder / f"{submission.resolve().name}.zip"
    pack_folder(submission, target)
    return target


def find_phase(client: Client, target: str | None, *, join: bool) -> tuple[str, str]:
    """Competition and phase to submit to. Raises click.UsageError with the choices where it is not clear."""
    slug, _, phase = (target or "").partition("/")
    if slug and join:
        client.join(slug, accepts_terms=True)
    if slug and phase:
        return slug, phase
    slugs = [slug] if slug else [found["slug"] for found in client.competitions()]
    open_phases = [
        (name, p["slug"]) for name in slugs for p in client.competition(name)["phases"] if _is_open(p)
    ]
    if len(open_phases) != 1:
        names = ", ".join(f"{name}/{p}" for name, p in open_phases) or "none is open"
        raise click.UsageError(f"Which phase? Give --to COMPETITION/PHASE: {names}")
    if join and not slug:
        client.join(open_phases[0][0], accepts_terms=True)
    return open_phases[0]


def _is_open(phase: dict[str, Any]) -> bool:
    return phase["status"] == "open" and bool(phase["accepts_uploads"])


def tell_deadline(client: Client, console: Console, slug: str, phase: str) -> None:
    """Say what counts at the end of the phase."""
    for found in client.competition(slug)["phases"]:
        if found["slug"] == phase and found.get("deadline_rule"):
            console.print(found["deadline_rule"], markup=False, soft_wrap=True)


def tell_replaced(client: Client, console: Console, slug: str, phase: str, leagues: tuple[str, ...]) -> None:
    """Say what stands now in the leagues that are entered, before a new submission takes its place."""
    try:
        found = client.entries(slug, phase)
    except (NotAllowed, Refused):  # who takes no part yet has no entry; the upload says what to do
        return
    for row in found:
        does = row["next_upload"]
        if (does or row["state"] == "standing") and _is_entered(row, leagues):
            console.print(
                f"Your entry in {describe_entry(row).rstrip('.')}. {does}".rstrip(),
                markup=False,
                soft_wrap=True,
            )


def _is_entered(row: dict[str, Any], leagues: tuple[str, ...]) -> bool:
    """Whether an upload that names these leagues, or none, enters the league of this entry."""
    if leagues:
        return row["league"] in leagues
    return bool(row["by_default"])


def note_queued(
    client: Client, made: dict[str, Any], slug: str, phase: str, *, followed: bool, quiet: bool = False
) -> None:
    """Say what is queued, and keep it as the latest; then what is left, and how to watch it unless it is followed."""
    place = made.get("queue_place")
    queue = f", {place} before it" if place else ""
    name = f"{slug}/{phase}/{made['number']}"
    if not quiet:  # the name first: what comes after may fail
        click.echo(f"Submission {name} is {made['status']}{queue}: {client.page_of(made['id'])}")
        if made.get("counted_words"):
            click.echo(made["counted_words"])
    remember_submission(made["id"])
    if quiet:
        return
    _tell_left(client, slug, phase)
    if not followed:
        click.echo(f"Watch it: anyshot status --follow {name}")


def _tell_left(client: Client, slug: str, phase: str) -> None:
    """What is left of the quota, or why that is not known."""
    try:
        quota = client.quota(slug, phase)
    except ClientError as error:
        click.echo(f"How many submissions are left could not be read: {error}", err=True)
        return
    for span, words in (("day", "today"), ("phase", "in this phase")):
        if quota[span]["left"] is not None:
            click.echo(f"  {quota[span]['left']} of {quota[span]['limit']} submissions left {words}.")
