"""`anyshot again`, `anyshot note` and `anyshot list`: what one does with submissions that are there already."""

import json
import sys
from typing import Any

import click
from rich.console import Console

from anyshot_core.client import Client
from anyshot_core.words import decimal_words
from anyshot_starting_kit.cli.account import connection_options, which_submission
from anyshot_starting_kit.cli.exits import Exit
from anyshot_starting_kit.cli.status import follow_to_end
from anyshot_starting_kit.cli.submit import note_queued, tell_replaced


@click.command()
@click.argument("submission", required=False)
@click.option("--smoke", is_flag=True, help="As a smoke test: no quota, not on the board.")
@click.option("--league", multiple=True, metavar="NAME", help="League to stand in; may be repeated.")
@click.option("--comment", help="A note to yourself [that of the earlier submission].")
@click.option(
    "--follow", is_flag=True, help="Show log and progress until the end; exits with 0 only if it finished."
)
@connection_options
def again(
    client: Client,
    submission: str | None,
    smoke: bool,
    league: tuple[str, ...],
    comment: str | None,
    follow: bool,
) -> None:
    """Submit the zip of SUBMISSION (its number or id; without it your latest) again, without an upload.

    A smoke test becomes an entry. Seeds and hidden tasks are the same for every entry of a phase, so only code that
    is not deterministic scores differently. Exit codes as those of `anyshot submit`.
    """
    earlier = client.submission(which_submission(client, submission))
    slug, phase = earlier["competition"], earlier["phase"]
    leagues = league or (() if earlier["kind"] == "smoke" else tuple(earlier["leagues"]))
    console = Console(highlight=False)
    if not smoke:
        tell_replaced(client, console, slug, phase, leagues)
    made = client.submit_again(
        earlier["digest"],
        slug,
        phase,
        comment=earlier["comment"] if comment is None else comment,
        leagues=leagues,
        smoke=smoke,
    )
    note_queued(client, made, slug, phase, followed=follow)
    code = Exit.OK
    if follow:
        _, code = follow_to_end(client, made["id"], console)
    sys.exit(code)


@click.command()
@click.argument("submission")
@click.argument("text", required=False)
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="Tag to set; may be repeated.")
@click.option("--no-tags", is_flag=True, help="Remove all tags.")
@connection_options
def note(client: Client, submission: str, text: str | None, tags: tuple[str, ...], no_tags: bool) -> None:
    """Write TEXT as the note of SUBMISSION (its number or id), or set its tags. Without either, show both."""
    found = which_submission(client, submission)
    changes: dict[str, Any] = {} if text is None else {"comment": text}
    if tags or no_tags:
        changes["tags"] = list(tags)
    state = client.annotate(found, **changes) if changes else client.submission(found)
    click.echo(state["comment"] or "(no note)")
    click.echo(" ".join(f"#{tag}" for tag in state["tags"]) or "(no tags)")


@click.command("list")
@click.option("--competition", metavar="SLUG", help="Only those to this competition.")
@click.option("--phase", metavar="SLUG", help="Only those to this phase.")
@click.option(
    "--kind", type=click.Choice(["entry", "late", "smoke", "final"]), help="Only those of this kind."
)
@click.option(
    "--status",
    type=click.Choice(["queued", "running", "finished", "failed", "cancelled", "not-failed"]),
    help="Only those in this state; not-failed leaves out failed and cancelled ones.",
)
@click.option("--tag", metavar="WORD", help="Only those with this tag.")
@click.option(
    "--text", "q", metavar="TEXT", help="Only those with this in the file's name, the note or a tag."
)
@click.option(
    "--sort",
    type=click.Choice(["newest", "oldest", "best", "worst"]),
    default="newest",
    show_default=True,
    help="Which come first.",
)
@click.option("--limit", type=click.IntRange(1, 200), default=25, show_default=True, help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON and nothing else.")
@connection_options
def list_own(client: Client, as_json: bool, **wanted: Any) -> None:
    """List your submissions."""
    page = client.own_submissions(**{name: value for name, value in wanted.items() if value is not None})
    if as_json:
        click.echo(json.dumps(page["items"], indent=1))
        return
    for one in page["items"]:
        click.echo(_line(one))
    shown = len(page["items"])
    if shown < page["total"]:
        click.echo(f"{shown} of {page['total']}; more with --limit.")
    if not shown:
        click.echo("No submission matches.")


def _line(one: dict[str, Any]) -> str:
    half = "" if one["half_width"] is None else f" ± {one['half_width']:.3f}"
    score = "-" if one["score"] is None else f"{decimal_words(one['score'])}{half}"
    name = f"{one['competition']}/{one['phase']}/{one['number']}"
    kind = "" if one["kind"] == "entry" else f" [{one['kind']}]"
    words = " ".join(part for part in (one["comment"], *(f"#{tag}" for tag in one["tags"])) if part)
    return f"{name:<36} {one['status']:<10} {score:>16}  {one['filename']}{kind}  {words}".rstrip()
