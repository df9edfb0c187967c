"""`show`: any object that the platform answers with, as text, as chosen fields, or as JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import click

from anyshot_core.client import Client
from anyshot_starting_kit.cli.account import connection_options

Objects = dict[str, tuple[str, tuple[str, ...]]]  # address and filters by name
_PARAMETER = re.compile(r"{(\w+)}")
_MANAGE = "/competitions/{competition}/manage"
_PAGED = "page"

ORGANIZED: Objects = {
    "announcements": (f"{_MANAGE}/announcements", ("deleted",)),
    "audit": (f"{_MANAGE}/audit", ("action", "who", "page")),
    "baselines": (f"{_MANAGE}/baselines", ("deleted",)),
    "code": (f"{_MANAGE}/code", ()),
    "competition": (f"{_MANAGE}/settings", ()),
    "deadline": (f"{_MANAGE}/phases/{{phase}}/deadline", ()),
    "entries": (f"{_MANAGE}/entries", ("phase", "league", "state", "text", "page")),
    "fact-sheets": (f"{_MANAGE}/fact-sheets", ()),
    "failed": (f"{_MANAGE}/phases/{{phase}}/final/failed", ()),
    "files": (f"{_MANAGE}/files", ()),
    "final": (f"{_MANAGE}/phases/{{phase}}/final", ()),
    "gates": (f"{_MANAGE}/gates", ()),
    "import": (f"{_MANAGE}/import", ()),
    "league-entries": (f"{_MANAGE}/leagues/entries", ("status",)),
    "leagues": (f"{_MANAGE}/leagues", ()),
    "measurements": (f"{_MANAGE}/gates/measurements", ()),
    "overlaps": ("/pools/{pool}/overlaps", ()),
    "pages": (f"{_MANAGE}/pages", ()),
    "people": (f"{_MANAGE}/people", ("q", "status", "role", "page")),
    "phase": (f"{_MANAGE}/phases/{{phase}}", ()),
    "phases": (f"{_MANAGE}/phases", ("deleted",)),
    "pool": ("/pools/{pool}", ()),
    "pools": ("/pools", ()),
    "rehearsals": (f"{_MANAGE}/rehearsals", ()),
    "report": (f"{_MANAGE}/reports/{{report}}", ()),
    "reports": (f"{_MANAGE}/reports", ("phase",)),
    "state": (f"{_MANAGE}/state", ()),
    "submissions": (
        f"{_MANAGE}/submissions",
        ("phase", "status", "cause", "kind", "text", "shown", "sort", "page"),
    ),
    "teams": (f"{_MANAGE}/leagues/teams", ()),
    "values": (f"{_MANAGE}/values", ()),
    "version": (f"{_MANAGE}/phases/{{phase}}/versions/{{number}}", ()),
    "versions": (f"{_MANAGE}/phases/{{phase}}/versions", ()),
    "webhooks": (f"{_MANAGE}/webhooks", ()),
    "winners": (f"{_MANAGE}/phases/{{phase}}/final/winners", ()),
}
ADMINISTERED: Objects = {
    "alerts": ("/admin/alerts", ()),
    "audit": ("/admin/audit", ("action", "who", "page")),
    "images": ("/admin/images", ()),
    "set-aside": ("/admin/set-aside", ()),
    "users": ("/admin/users", ("q", "page")),
    "webhooks": ("/admin/webhooks", ()),
    "worker-request": ("/admin/worker-requests/{code}", ()),
    "worker-tokens": ("/admin/worker-tokens", ()),
    "workers": ("/admin/workers", ()),
}


def show_command(objects: Objects) -> click.Command:
    """The command `show` for these objects."""

    @click.command(
        "show", epilog="\n\n".join(["\b\nWHAT NAME..., and what --where takes:\n" + _listed(objects)])
    )
    @click.argument("what", type=click.Choice(list(objects)), metavar="WHAT")
    @click.argument("names", nargs=-1, metavar="[NAME]...")
    @click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only these; may be repeated.")
    @click.option("--only", metavar="FIELD,...", help="Only these fields, a line an object, tabs between.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    @connection_options
    def show(
        client: Client,
        what: str,
        names: tuple[str, ...],
        where: tuple[str, ...],
        only: str | None,
        as_json: bool,
    ) -> None:
        """Show WHAT of the competition, phase or pool NAME; all pages of a list, unless --where names one."""
        found = _read(client, what, objects[what], names, where)
        if as_json:
            click.echo(json.dumps(found, indent=1, ensure_ascii=False))
        elif only is not None:
            for row in _rows(found):
                click.echo("\t".join(_cell(_field(row, name)) for name in only.split(",")))
        else:
            click.echo("\n".join(_lines(found)) or "There is none.")

    return show


def _listed(objects: Objects) -> str:
    return "\n".join(
        " ".join(
            [name, *(word.upper() for word in _PARAMETER.findall(path)), *(f"[{one}]" for one in filters)]
        )
        for name, (path, filters) in objects.items()
    )


def _read(
    client: Client,
    what: str,
    known: tuple[str, tuple[str, ...]],
    names: tuple[str, ...],
    where: tuple[str, ...],
) -> Any:
    path, filters = known
    wanted = _PARAMETER.findall(path)
    if len(names) != len(wanted):
        raise click.UsageError(f"{what} takes: {' '.join(word.upper() for word in wanted) or 'no name'}.")
    chosen = {key: value for key, _, value in (one.partition("=") for one in where)}
    if unknown := ", ".join(chosen.keys() - set(filters)):
        raise click.UsageError(f"{what} is not chosen by {unknown}; by: {', '.join(filters) or 'nothing'}.")
    for word, name in zip(wanted, names, strict=True):
        path = path.replace(f"{{{word}}}", quote(name, safe=""))
    found = client.ask("GET", path, params=chosen)
    if _PAGED in filters and _PAGED not in chosen:
        for number in range(2, found["pages"] + 1):
            found["items"] += client.ask("GET", path, params={**chosen, _PAGED: number})["items"]
    return found


def _rows(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return found["items"] if isinstance(found.get("items"), list) else [found]
    return found


def _field(row: Any, name: str) -> Any:
    for part in name.split("."):
        if not isinstance(row, dict) or part not in row:
            raise click.UsageError(f"There is no field {name}. There are: {', '.join(row)}.")
        row = row[part]
    return row


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _lines(found: Any, indent: str = "") -> Iterator[str]:
    """Names and values, a line each; what is inside another is indented, and of a list each begins with a dash."""
    if isinstance(found, dict):
        for name, value in found.items():
            if isinstance(value, dict | list) and value:
                yield f"{indent}{name}:"
                yield from _lines(value, f"{indent}  ")
            else:
                yield f"{indent}{name}: {_cell(value)}".rstrip()
    elif isinstance(found, list):
        for one in found:
            lines = list(_lines(one)) or [""]
            yield from (f"{indent}{'  ' if number else '- '}{line}" for number, line in enumerate(lines))
    else:
        yield from (f"{indent}{line}" for line in _cell(found).splitlines())
