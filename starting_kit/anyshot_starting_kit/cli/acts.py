"""Acts that a platform declares, done by their key: `anyshot organize do` and `anyshot administer do`."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import click

from anyshot_core.client import Refused
from anyshot_starting_kit.cli.exits import Exit

_PARAMETER = re.compile(r"{(\w+)}")
Send = Callable[[str, dict[str, Any]], Any]


def set_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --set NAME=VALUE, as `values`."""
    return click.option(
        "--set", "values", multiple=True, metavar="NAME=VALUE", help="What the act asks for; may be repeated."
    )(command)


def show_acts(rows: list[dict[str, Any]], only: str) -> None:
    """Print the acts with `only` in their keys: what each is done to, what it asks for, how it is undone."""
    for row in rows:
        if only in row["key"]:
            words = [name.upper() for name in _PARAMETER.findall(row["path"])]
            words += [f"--set {name}=..." for name in row["options"]]
            click.echo(f"{' '.join([row['key'], *words])}\n    {row['about']}. {row['undo']}")


def do_act(
    rows: list[dict[str, Any]], key: str, objects: tuple[str, ...], values: tuple[str, ...], send: Send
) -> None:
    """Do one of the acts `rows` to each object and print the answers as JSON; ends with exit code 1 if one is refused.

    `send` gets an act's path with the names of its object filled in, and what it asks for.
    """
    known = {row["key"]: row for row in rows}
    if key not in known:
        raise click.UsageError(f"There is no act {key}. There are: {', '.join(known)}.")
    path, wanted = known[key]["path"], _PARAMETER.findall(known[key]["path"])
    each = [(word,) for word in objects] if len(wanted) == 1 and objects else [objects]
    if any(len(words) != len(wanted) for words in each):
        raise click.UsageError(f"{key} is done to: {' '.join(wanted) or 'nothing that is named here'}.")
    options = _options(known[key]["options"], values)
    paths = {" ".join(words): _filled(path, wanted, words) for words in each}
    if _do_each(paths, lambda one: send(one, options)):
        raise SystemExit(Exit.FAILED)


def _filled(path: str, wanted: list[str], words: tuple[str, ...]) -> str:
    for name, word in zip(wanted, words, strict=True):
        path = path.replace(f"{{{name}}}", quote(word, safe=""))
    return path


def _do_each(paths: dict[str, str], send: Callable[[str], Any]) -> bool:
    """Print the answer of each; of several, one that is refused is named and the rest are done. Whether any was."""
    refused = False
    for words, path in paths.items():
        try:
            click.echo(json.dumps(send(path), indent=1))
        except Refused as error:
            if len(paths) == 1:
                raise
            click.echo(f"{words}: {error}", err=True)
            refused = True
    return refused


def _options(schema: dict[str, Any], values: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE as the act takes it: a list where it takes one, null for an empty value where null may stand."""
    found: dict[str, Any] = {}
    for name, _, value in (text.partition("=") for text in values):
        kind = schema.get(name, {}).get("type")
        if kind == "array":
            found.setdefault(name, []).append(value)
        else:
            found[name] = value if value or kind == "string" else None
    return found
