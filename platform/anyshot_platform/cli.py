"""`anyshot admin ...`: what operators do from a shell."""

import signal
import threading
from pathlib import Path

import click
from pydantic import ValidationError

from anyshot_platform.actions.declaration import ActRequest
from anyshot_platform.actions.service import carry_out
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.migration import migrate as migrate_database
from anyshot_platform.foundation.migration import write_revision
from anyshot_platform.judging.visibility.access import find_competition
from anyshot_platform.judging.workers.tokens import DAYS, Reach, create_worker_token
from anyshot_platform.people.accounts import service as users
from anyshot_platform.running.operations import backup as backups
from anyshot_platform.running.operations import dead_letters
from anyshot_platform.running.operations.dead_letter_acts import RETRY, RETRY_ALL
from anyshot_platform.running.operations.retention import collect_orphans
from anyshot_platform.server import sweeper as sweeping
from anyshot_platform.server.bundle_commands import COMMANDS as BUNDLE_COMMANDS
from anyshot_platform.server.demo.command import demo
from anyshot_platform.server.home import HomeOption, services_of, settings_of
from anyshot_platform.server.serving import run_background
from anyshot_platform.server.serving import serve as serve_site
from anyshot_platform.server.simulating import simulate_command


class Admin(click.Group):
    """The group; what goes wrong becomes one line, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except PlatformError as error:
            raise click.ClickException(error.message) from error
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise click.ClickException(f"The settings are not right: {problems}") from error


@click.group(cls=Admin)
def admin() -> None:
    """Run and maintain an Anyshot site."""


@admin.command()
@HomeOption
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=int, help="Port to listen on; 0 picks a free one.")
@click.option("--embedded", is_flag=True, help="Start one worker on this machine too.")
@click.option("--no-sweeper", is_flag=True, help="Leave the sweeper to another process.")
def serve(home: Path, host: str | None, port: int | None, embedded: bool, no_sweeper: bool) -> None:
    """Serve the site: web service, sweeper, and with --embedded one worker."""
    settings = settings_of(home, host=host, port=port)
    serve_site(settings, embedded_worker=embedded, sweeper=not no_sweeper)


@admin.command()
@HomeOption
def background(home: Path) -> None:
    """Run sweeper and senders as a process of their own."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run_background(settings_of(home), stop)


@admin.command()
@HomeOption
def migrate(home: Path) -> None:
    """Migrate the database to the newest schema."""
    migrate_database(services_of(home, new=True).database)
    click.echo("The database is up to date.")


@admin.command()
@click.argument("message")
def make_migration(message: str) -> None:
    """Write a database revision from the models, for developers: MESSAGE is an imperative such as "Add ..."."""
    click.echo(f"Wrote {write_revision(message)}. Read it before you commit it.")


@admin.command()
@HomeOption
@click.argument("username")
@click.option("--email", required=True, help="E-mail address.")
@click.option("--site-admin", is_flag=True, help="Make the user a site administrator.")
@click.option("--organizer", is_flag=True, help="Let the user create competitions.")
@click.password_option(envvar="ANYSHOT_NEW_PASSWORD", help="Asked for when not given.")
def create_user(
    home: Path, username: str, email: str, site_admin: bool, organizer: bool, password: str
) -> None:
    """Create an account; its address is taken as confirmed."""
    services = services_of(home)
    with services.database.writing() as session:
        users.create_user(
            session,
            username=username,
            email=email,
            password=password,
            is_site_admin=site_admin,
            may_organize=organizer,
        )
    click.echo(f"Created {username}.")


@admin.command()
@HomeOption
@click.argument("name")
@click.option("--hardware-class", help="Only for workers of this class.")
@click.option("--competition", help="Only for runs of this competition, by its short name.")
@click.option("--days", type=click.IntRange(1), default=DAYS, show_default=True, help="Days that it lasts.")
def worker_token(
    home: Path, name: str, hardware_class: str | None, competition: str | None, days: int
) -> None:
    """Create a token for a worker machine and print it once."""
    with services_of(home).database.writing() as session:
        only = find_competition(session, competition).id if competition else None
        click.echo(create_worker_token(session, name, reach=Reach(hardware_class, only, days)))


@admin.command()
@HomeOption
def sweep(home: Path) -> None:
    """Sweep once, now: take back lost runs, ring for queued ones, remove what is kept long enough."""
    services = services_of(home)
    done = sweeping.sweep(services)
    sweeping.keep_house(services)
    collect_orphans(services)
    click.echo(", ".join(f"{name}: {count}" for name, count in done.items()))


@admin.command()
@HomeOption
def set_aside(home: Path) -> None:
    """List e-mails, webhook messages and rows that were tried too often."""
    with services_of(home).database.reading() as session:
        for one in dead_letters.list_set_aside(session):
            click.echo(f"{one.kind}\t{one.id}\t{one.attempts} tries\t{one.what}\t{one.error}")


@admin.command()
@HomeOption
@click.argument("kind", required=False)
@click.argument("identity", required=False, metavar="ID")
@click.option("--all", "everything", is_flag=True, help="Everything that is set aside.")
def retry(home: Path, kind: str | None, identity: str | None, everything: bool) -> None:
    """Try again what is set aside: one thing by KIND and ID as `set-aside` lists them, or --all."""
    if everything == bool(kind and identity):
        raise click.UsageError("Name either KIND and ID, or --all.")
    with services_of(home).database.writing() as session:
        wish = ActRequest("")
        if kind and identity:
            done = carry_out(session, RETRY, dead_letters.find_given_up(session, kind, identity), wish)
        else:
            done = carry_out(session, RETRY_ALL, [], wish)
    count = (done.result or 0) if everything else int(done.changed)
    click.echo(f"{count} to be tried again.")


@admin.command()
@HomeOption
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
def backup(home: Path, target: Path) -> None:
    """Write database and files into one tar file, while the site runs; a file that is there is left alone."""
    made = backups.back_up(services_of(home), target)
    click.echo(f"Wrote {target} with the database and {made.files} files.")
    for digest in made.missing:
        click.echo(f"Missing in the storage, and so in the backup: {digest}", err=True)


@admin.command()
@HomeOption
@click.argument("source", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def restore(home: Path, source: Path) -> None:
    """Restore a backup into an empty site."""
    count = backups.restore(services_of(home, new=True), source)
    click.echo(f"Restored the database and {count} files.")


for _command in (demo, simulate_command, *BUNDLE_COMMANDS):
    admin.add_command(_command)
