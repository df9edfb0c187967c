"""`anyshot admin check|import|export|ready-made`: bundles from a shell."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import click
from sqlalchemy import select

from anyshot_platform.contest.bundles.actions.data import take_data
from anyshot_platform.contest.bundles.actions.service import export_competition, import_competition
from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.reading import BundleInvalid, CompetitionBundle, read_bundle
from anyshot_platform.contest.bundles.ready import read_ready_made, ready_made
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.judging.visibility.access import find_competition
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.server.home import HomeOption, services_of


def _read(source: str, data_folder: Path | None = None) -> CompetitionBundle:
    path = Path(source)
    try:
        return read_bundle(path, data_folder) if path.exists() else read_ready_made(source)
    except KeyError as error:
        names = ", ".join(ready.name for ready in ready_made())
        raise click.ClickException(
            f"{source} is neither a file nor a ready-made competition ({names})."
        ) from error
    except BundleInvalid as error:
        for problem in error.problems:
            click.echo(str(problem), err=True)
        raise click.ClickException(f"{len(error.problems)} problem(s) in {source}.") from error
    except BundleUnreadable as error:
        raise click.ClickException(str(error)) from error


@click.command("check")
@click.argument("source")
def check_command(source: str) -> None:
    """Check the competition bundle SOURCE (folder, zip or ready-made name) without importing it."""
    bundle = _read(source)
    for notice in bundle.without_equivalent:
        click.echo(f"without equivalent: {notice}")
    phases = ", ".join(phase.key for phase in bundle.spec.phases)
    click.echo(f"{bundle.spec.title} ({bundle.format}): fine; phases {phases}.")


@click.command("import")
@HomeOption
@click.argument("source")
@click.option("--owner", required=True, help="User who will own the competition.")
@click.option("--slug", help="Short name in addresses, instead of the bundle's.")
@click.option(
    "--start", type=click.DateTime(["%Y-%m-%d"]), help="Move all phases so that the first starts then (UTC)."
)
def import_command(home: Path, source: str, owner: str, slug: str | None, start: datetime | None) -> None:
    """Import the competition bundle SOURCE (folder, zip or ready-made name) as a draft."""
    services = services_of(home)
    first = start.replace(tzinfo=UTC) if start else None
    try:
        with services.database.reading() as session:
            user = session.scalars(select(User).where(User.username_key == owner.casefold())).one_or_none()
        if user is None:
            raise click.ClickException(f"There is no user {owner}.")
        actor = Viewer(user_id=user.id, username=user.username, is_site_admin=user.is_site_admin)
        with tempfile.TemporaryDirectory(prefix="anyshot-import-") as folder:
            bundle, packs = take_data(services, _read(source, Path(folder)), user.id)
            with services.database.writing() as session:
                made = import_competition(
                    session, services.storage, bundle, actor, slug=slug, start=first, packs=packs
                )
                address, notices = made.competition.slug, made.notices
    except PlatformError as error:
        raise click.ClickException(error.message) from error
    for notice in notices:
        click.echo(f"note: {notice}")
    click.echo(f"Imported as {address}.")


@click.command("export")
@HomeOption
@click.argument("slug")
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--secrets", is_flag=True, help="With the seeds of the hidden tasks.")
def export_command(home: Path, slug: str, target: Path, secrets: bool) -> None:
    """Write the competition SLUG as a bundle to the zip TARGET."""
    services = services_of(home)
    try:
        with services.database.reading() as session:
            content = export_competition(
                session, services.storage, find_competition(session, slug), secrets=secrets
            )
    except PlatformError as error:
        raise click.ClickException(error.message) from error
    target.write_bytes(content)
    click.echo(f"Wrote {target} ({len(content)} bytes).")


@click.command("ready-made")
def ready_made_command() -> None:
    """List the competitions that ship with Anyshot."""
    for ready in ready_made():
        click.echo(f"{ready.name}: {ready.title}")


COMMANDS = (check_command, import_command, export_command, ready_made_command)
