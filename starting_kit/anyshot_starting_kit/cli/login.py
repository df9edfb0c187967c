"""`anyshot login`."""

import sys

import click

from anyshot_core.client import Client, ClientError, CodeNeeded
from anyshot_starting_kit.cli.account import Account, account_file, write_account
from anyshot_starting_kit.cli.exits import Exit


@click.command()
@click.option(
    "--server", envvar="ANYSHOT_SERVER", prompt="Address of the platform", help="Address of the platform."
)
@click.option("--username", help="User name [asked].")
@click.option("--password", envvar="ANYSHOT_PASSWORD", help="Password [asked, not shown].")
@click.option(
    "--token", envvar="ANYSHOT_TOKEN", help="Use this API token (created on the account page) instead."
)
@click.option("--organize", is_flag=True, help="The token may also manage competitions: anyshot organize.")
def login(server: str, username: str | None, password: str | None, token: str | None, organize: bool) -> None:
    """Get an API token from a platform and keep it for the other commands."""
    try:
        with Client(server, token) as client:
            if token is None:
                username = username or click.prompt("User name")
                password = password or click.prompt("Password", hide_input=True)
                token = _log_in(client, str(username), str(password), organize)
        with Client(server, token) as client:
            name = client.me()["username"]
    except ClientError as error:
        click.echo(str(error), err=True)
        sys.exit(Exit.UNAVAILABLE)
    write_account(Account(server=server, token=token))
    click.echo(f"Logged in at {server} as {name}; the token is in {account_file()}.")


def _log_in(client: Client, username: str, password: str, organize: bool) -> str:
    try:
        return client.log_in(username, password, organize=organize)
    except CodeNeeded:
        code = click.prompt("Code from your app, or a recovery code")
        return client.log_in(username, password, organize=organize, code=code)
