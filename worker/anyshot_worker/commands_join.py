"""`anyshot worker join`: from a fresh machine to a worker of a site, without copying a token."""

import socket

import click
import httpx

from anyshot_worker.commands_sandbox import doctor, plain_errors
from anyshot_worker.joining import NotJoined, ask_to_join, keep, wait_for_token
from anyshot_worker.sandbox.settings import SandboxSettings


@click.command()
@click.argument("address")
@click.option(
    "--name",
    envvar="ANYSHOT_WORKER_NAME",
    default=socket.gethostname,
    help="name shown to operators [the host's]",
)
@click.option(
    "--hardware-class",
    envvar="ANYSHOT_HARDWARE_CLASS",
    default="cpu",
    show_default=True,
    help="queue that this machine serves",
)
@click.pass_context
def join(context: click.Context, address: str, name: str, hardware_class: str) -> None:
    """Make this machine a worker of the site at ADDRESS: prove the sandbox, show a code, keep the token.

    An administrator of the site enters the code on its page of workers.
    """
    from anyshot_worker.claiming import announce
    from anyshot_worker.sandbox.sandboxes import Sandboxes, choose_backend

    context.invoke(doctor)
    settings = SandboxSettings()
    with plain_errors():
        sandboxes = Sandboxes(choose_backend(settings), settings.model_copy(update={"pool_size": 0}))
        worker = announce(name, hardware_class, sandboxes, inventories=False)
        sandboxes.close()
    address = address.rstrip("/")
    try:
        with httpx.Client(base_url=address, timeout=30.0) as http:
            codes = ask_to_join(http, worker)
            click.echo(
                f"\nAs an administrator of the site, enter this code at {codes.verification_uri}:\n\n"
                f"    {codes.user_code}\n\n"
                f"or open {codes.verification_uri_complete}\n"
                f"Waiting for {codes.expires_in // 60} minutes at most."
            )
            token = wait_for_token(http, codes)
    except NotJoined as error:
        raise click.ClickException(str(error)) from error
    kept = keep(
        settings.state_folder,
        platform_url=address,
        worker_token=token,
        worker_name=name,
        hardware_class=hardware_class,
    )
    click.echo(f"This machine has joined; its token is in {kept}. Start the worker: anyshot worker run")
