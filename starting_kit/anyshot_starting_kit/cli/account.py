"""Which platform to talk to, as whom, and about which submission: kept in a file only its owner can read."""

import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

import click

from anyshot_core.client import OUTAGE_SECONDS, Client, NotAllowed, PerhapsQueued, Refused, Unreachable
from anyshot_core.installation import CPU_TORCH, install_line
from anyshot_starting_kit.cli.exits import Exit

# A competition's and a phase's short name, and the number that a team's submissions to a phase have.
_NUMBER = re.compile(
    r"(?:(?P<competition>[a-z0-9-]+)/(?:(?P<phase>[a-z0-9-]+)/)?)?#?(?P<number>[1-9][0-9]{0,8})"
)


@dataclass(frozen=True, slots=True)
class Account:
    """`last` is the id of the submission made last."""

    server: str = ""
    token: str = ""
    last: str = ""


def account_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "anyshot" / "account.json"


def read_account() -> Account:
    path = account_file()
    if not path.is_file():
        return Account()
    data = json.loads(path.read_text(encoding="utf-8"))
    return Account(**{key: str(data.get(key, "")) for key in ("server", "token", "last")})


def write_account(account: Account) -> None:
    path = account_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.part")  # a full disk leaves the log-in of before
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(account), file)
    fresh.replace(path)


def remember_submission(submission_id: str) -> None:
    """Keep which submission was made last; what is queued is queued, so this warns where it cannot be kept."""
    try:
        write_account(replace(read_account(), last=submission_id))
    except OSError as error:
        told = f"Your latest submission could not be noted ({error}): name it to other commands."
        click.echo(told, err=True)


def install_remedy() -> str:
    """What to run where the kit lacks torch: the line of the site that one is logged in to, else where to find it."""
    server = os.environ.get("ANYSHOT_SERVER") or read_account().server
    if not server:
        return (
            "Install the kit again with the line that its site has on the page"
            " /docs/participants/first-submission/."
        )
    return (
        f"Install the kit again with torch:\n  {install_line(server.rstrip('/'), version('anyshot-starting-kit'))}\n"
        f"An installed torch stays. On Linux without a GPU, first install its CPU build:\n  {CPU_TORCH}"
    )


def outlasting(client: Client, *, follow: bool = True) -> AbstractContextManager[None]:
    """While a submission is followed, an outage of minutes is waited for; stderr says so."""
    if not follow:
        return nullcontext()
    return client.outlasting(lambda words: click.echo(words, err=True), OUTAGE_SECONDS)


def connection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --server and --token, passes an open `client`, and turns failures into messages and exit codes."""

    @click.option("--server", envvar="ANYSHOT_SERVER", help="Address of the platform [as logged in].")
    @click.option("--token", envvar="ANYSHOT_TOKEN", help="API token [as logged in].")
    @wraps(command)
    def connected(server: str | None, token: str | None, **options: Any) -> Any:
        account = read_account()
        address = server or account.server
        if not address:
            raise click.UsageError("Which platform? Give --server, or log in: anyshot login --server ADDRESS")
        known = account.token if address == account.server else ""
        try:
            with Client(address, token or known) as client:
                client.ask_for_proof = _ask_for_proof
                return command(client=client, **options)
        except PerhapsQueued as error:
            _give_up(f"{error} Your submissions: anyshot list", Exit.UNAVAILABLE)
        except Unreachable as error:
            _give_up(str(error), Exit.UNAVAILABLE)
        except NotAllowed as error:
            if not error.log_in:
                _give_up(str(error), Exit.FAILED)
            more = " --organize" if error.scope == "organize" else ""
            _give_up(f"{error} Log in again: anyshot login --server {address}{more}", Exit.UNAVAILABLE)
        except Refused as error:
            _give_up(_refusal(error), Exit.FAILED)

    return connected


def _ask_for_proof() -> str:
    return click.prompt(
        "This needs your password again, or a code if your account has a second factor",
        hide_input=True,
        err=True,
    )


def which_submission(client: Client, given: str | None) -> str:
    """The id of the submission that is meant by `[COMPETITION/[PHASE/]]NUMBER` or its id, else the one made last."""
    chosen = given or read_account().last
    if not chosen:
        raise click.UsageError("Which submission? Give its number, or its id.")
    named = _NUMBER.fullmatch(chosen)
    return chosen if named is None else _find_number(client, chosen, named)


def _find_number(client: Client, chosen: str, named: re.Match[str]) -> str:
    wanted = {name: value for name, value in named.groupdict().items() if value}
    found = client.own_submissions(limit=20, **wanted)["items"]
    if len(found) == 1:
        return found[0]["id"]
    if not found:
        raise click.UsageError(f"None of your submissions is {chosen}. Your submissions: anyshot list")
    names = ", ".join(f"{one['competition']}/{one['phase']}/{one['number']}" for one in found)
    raise click.UsageError(f"Which of your submissions? {names}")


def _refusal(error: Refused) -> str:
    lines = [str(error)]
    if error.code == "cannot_join" and "join" in str(error).lower():
        lines.append("  -> add --join, which accepts the competition's terms, or press Join on its page")
    problems = [f"{one['where']}: {one['problem']}" for one in error.details.get("problems", [])]
    lines += [f"  {words}" for words in problems if words != lines[0]]  # the first may be the message
    for check in error.details.get("checks", []):
        if check.get("outcome") == "failed":
            lines.append(f"  {check['title']}: {check['found']}\n  -> {check['remedy']}")
    return "\n".join(lines)


def _give_up(message: str, code: Exit) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)
