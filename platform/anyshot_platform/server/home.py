"""Which site a command of `anyshot admin` is about: the embedded one in a folder, or the one of the environment."""

from pathlib import Path

import click
from sqlalchemy.engine import make_url

from anyshot_platform.app import make_services
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.settings import Given, PlatformSettings, read_embedded_settings

HomeOption = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="ANYSHOT_HOME",
    default=Path("anyshot-home"),
    show_default=True,
    help="Folder of the embedded set-up: database, files, broker, worker.",
)


class NoSite(NotFound):
    """There is no site where the command looks for one."""

    code = "no_site"


def settings_of(home: Path, **changes: object) -> PlatformSettings:
    """The settings of this process: the environment's, with `home` and what a command's options say."""
    return read_embedded_settings(home, **{key: value for key, value in changes.items() if value is not None})


def services_of(home: Path, *, new: bool = False) -> Services:
    """Services for one command, for a site that is there; `new` where the command makes one.

    Raises:
        NoSite: there is none, and nothing was made.
    """
    if not new:
        _require_site(home)
    return make_services(settings_of(home))


def _require_site(home: Path) -> None:
    address = Given().database_url or f"sqlite:///{home / 'anyshot.sqlite3'}"
    url = make_url(address)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise NoSite(
            f"There is no site in {home}: {url.database} is not there. Give --home (or ANYSHOT_HOME), the folder that "
            "`anyshot admin serve` uses, or ANYSHOT_DATABASE_URL."
        )
