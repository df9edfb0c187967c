"""What a release tries on a full site of the release before: an upgrade that changes a board stops it."""

import sys
from pathlib import Path

import pytest

from releasing import upgrade
from releasing.commands import Refused
from tests.platform.site import Site


def program(folder: Path, name: str, before: str = "") -> Path:
    """The command `anyshot` of this environment, as a program that first does `before` where it migrates."""
    path = folder / name
    path.write_text(
        f'#!/bin/sh\n[ "$2" = migrate ] && {{ {before or ":"}; }}\nexec {sys.executable} -m anyshot_core.command "$@"\n'
    )
    path.chmod(0o755)
    return path


@pytest.mark.rotating
@pytest.mark.slow("starts the site four times")
def test_an_upgrade_that_changes_a_board_is_refused(
    sqlite_site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, home = sqlite_site, sqlite_site.services.settings.home
    worker = site.worker()
    for name in ("ada", "grace"):
        site.member(name).submit()
        job = worker.claim()
        assert job is not None
        assert worker.complete(job, 0.5).is_success
    for setting in ("ANYSHOT_ROOT", "ANYSHOT_HOME"):
        monkeypatch.delenv(setting, raising=False)
    good = program(tmp_path, "good")
    upgrade.compare(good, good, home)
    database = next(home.glob("*.sqlite3"))
    loses = f'{sys.executable} -c "import sqlite3; c = sqlite3.connect(\'{database}\'); ' \
        'c.execute(\'DELETE FROM board_rows\'); c.commit()"'  # fmt: skip
    with pytest.raises(Refused, match="changes the boards"):
        upgrade.compare(good, program(tmp_path, "bad", loses), home)
