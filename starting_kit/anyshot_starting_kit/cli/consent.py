"""Acts that ask first: what the platform says they would do, and the name that has to be typed."""

from collections.abc import Callable
from typing import Any

import click

from anyshot_core.client import Client, Refused
from anyshot_core.words import count_of


def consent_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --yes NAME, --override and --reason."""
    for option in (
        click.option("--reason", default="", help="Why, for the audit log."),
        click.option(
            "--override", is_flag=True, help="Do it although something stands in the way; the log names it."
        ),
        click.option(
            "--yes", "confirm", default="", metavar="NAME", help="The name that would be asked for."
        ),
    ):
        command = option(command)
    return command


def ask_first(send: Callable[[dict[str, Any]], Any], *, confirm: str, override: bool, reason: str) -> Any:
    """Send an act; where the platform asks, show what it would do, ask for the name, and send it again.

    What it warned of goes to stderr, whether it asked or not.
    Raises `Refused` where something stands in the way and --override was not given, or --yes names another object.
    """
    said = {"override": override, "reason": reason}
    try:
        return warned(send({**said, "confirm": confirm}))
    except Refused as error:
        preview = error.details.get("preview")
        if preview is None:
            raise
        show(preview)
        if error.code != "confirm" or confirm or (preview["blocked"] and not override):
            raise
        if preview["reasoned"] and not reason:
            said["reason"] = click.prompt(preview["reason"], err=True)
        name = click.prompt(f"Type {preview['name']} to confirm", err=True)
        return send({**said, "confirm": name})


def send_act(
    client: Client, competition: str, path: str, options: dict[str, Any] | None = None, **said: Any
) -> Any:
    """Send an act to `path`, below the competition's; show what it would do and ask for the name where it asks."""
    return ask_first(
        lambda more: client.organize("POST", competition, path, {**(options or {}), **more}), **said
    )


def warned(answer: Any) -> Any:
    """The answer of an act, once what it warned of is printed."""
    for line in answer.get("warnings", ()) if isinstance(answer, dict) else ():
        click.echo(f"Warning: {line}", err=True)
    return answer


def show(preview: dict[str, Any]) -> None:
    """Print what an act would do."""
    click.echo(f"{preview['title']}:", err=True)
    told = (
        [f"{count_of(preview['told'], 'person', 'people')} will get a message about it."]
        if preview["told"]
        else []
    )
    for line in (*preview["does"], *told, *preview["warnings"], preview["undo"]):
        click.echo(f"  {line}", err=True)
    for line in preview["blocked"]:
        click.echo(f"  In the way: {line}", err=True)
