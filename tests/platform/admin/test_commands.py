"""`anyshot admin` on an embedded site, as the operators' and organizers' pages write the commands."""

import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from anyshot_platform.cli import admin
from anyshot_platform.foundation.artifacts.service import keep_file
from anyshot_platform.foundation.database import Database
from anyshot_platform.people.accounts.service import create_user
from anyshot_platform.running.operations import retention
from anyshot_platform.server.home import services_of


@pytest.fixture
def folder(tmp_path: Path, migrated_sqlite: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an embedded site in `site`, whose tables are there already; nothing set in the environment."""
    (tmp_path / "site").mkdir()
    shutil.copy(migrated_sqlite, tmp_path / "site" / "anyshot.sqlite3")
    for name in ("ANYSHOT_HOME", "ANYSHOT_SECRET_KEY", "ANYSHOT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert run("migrate", "--home", "site").exit_code == 0
    database = Database(f"sqlite:///{tmp_path}/site/anyshot.sqlite3")
    with database.writing() as session:
        create_user(session, username="olga", email="olga@example.org", password=None)
    database.dispose()
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(admin, list(words))


def test_a_bundle_goes_in_and_out_of_an_embedded_site(folder: Path) -> None:
    taken = run("import", "cross-domain-metadl-2022", "--owner", "olga", "--home", "site")
    assert "Imported as cross-domain-metadl-2022." in taken.output, taken.output
    given = run("export", "cross-domain-metadl-2022", "out.zip", "--home", "site")
    assert given.exit_code == 0, given.output
    assert "competition.yaml" in zipfile.ZipFile(folder / "out.zip").namelist()


@pytest.mark.parametrize(
    "words",
    [
        ("backup", "nightly.tar"),
        ("import", "cross-domain-metadl-2022", "--owner", "olga"),
        ("export", "any", "out.zip"),
        ("set-aside",),
    ],
)
def test_a_command_without_its_site_makes_none(folder: Path, words: tuple[str, ...]) -> None:
    before = sorted(folder.iterdir())
    refused = run(*words)
    assert refused.exit_code == 1
    assert "There is no site in anyshot-home" in refused.output and "--home" in refused.output
    assert sorted(folder.iterdir()) == before


def test_a_backup_replaces_no_other_and_a_damaged_one_restores_nothing(folder: Path) -> None:
    assert run("backup", "one.tar", "--home", "site").exit_code == 0
    again = run("backup", "one.tar", "--home", "site")
    assert again.exit_code == 1 and "is there already" in again.output
    whole = (folder / "one.tar").read_bytes()
    (folder / "half.tar").write_bytes(whole[: len(whole) // 2])
    (folder / "text.tar").write_text("no backup")
    for name in ("half.tar", "text.tar"):
        refused = run("restore", name, "--home", "other")
        assert refused.exit_code == 1 and "is no backup, or damaged" in refused.output, refused.output
        assert not (folder / "other" / "anyshot.sqlite3").exists()
    assert run("restore", "one.tar", "--home", "other").exit_code == 0
    assert "There is no" in run("export", "nothing", "x.zip", "--home", "other").output


def with_files(folder: Path) -> list[Path]:
    """The stored files of the site, after a competition with some came in."""
    assert run("import", "cross-domain-metadl-2022", "--owner", "olga", "--home", "site").exit_code == 0
    stored = [path for path in (folder / "site" / "blobs").rglob("*") if path.is_file()]
    assert stored
    return stored


def test_after_a_restore_that_failed_half_way_a_second_one_succeeds(folder: Path) -> None:
    stored = with_files(folder)
    assert run("backup", "whole.tar", "--home", "site").exit_code == 0
    damaged = stored[-1].name
    with tarfile.open("whole.tar") as whole, tarfile.open("damaged.tar", "w") as copy:
        for member in whole:
            content = whole.extractfile(member).read()  # pyright: ignore[reportOptionalMemberAccess]
            flipped = content[::-1] if member.name == f"blobs/{damaged}" else content
            copy.addfile(member, io.BytesIO(flipped))
    refused = run("restore", "damaged.tar", "--home", "other")
    assert refused.exit_code == 1 and f"The file {damaged} of the backup is damaged." in refused.output
    restored = run("restore", "whole.tar", "--home", "other")
    assert restored.exit_code == 0, restored.output
    assert f"Restored the database and {len(stored)} files." in restored.output
    assert run("restore", "whole.tar", "--home", "other").exit_code == 1, "into an empty site only"


def test_a_backup_says_which_files_are_missing(folder: Path) -> None:
    lost, *others = with_files(folder)
    lost.unlink()
    made = run("backup", "site.tar", "--home", "site")
    assert made.exit_code == 0 and f"the database and {len(others)} files" in made.output
    assert f"Missing in the storage, and so in the backup: {lost.name}" in made.output


def test_a_sweep_by_hand_removes_all_files_that_are_kept_long_enough(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_BATCH", 2)
    monkeypatch.setenv("ANYSHOT_KEEP_ORPHANS_HOURS", "0")
    services = services_of(folder / "site")
    for number in range(5):
        (folder / "orphan").write_bytes(b"%d" % number)
        keep_file(services, folder / "orphan")
    services.database.dispose()
    assert run("sweep", "--home", "site").exit_code == 0
    assert [path for path in (folder / "site" / "blobs").rglob("*") if path.is_file()] == []


def test_a_backup_of_postgresql_by_its_own_tool_as_in_the_image(
    folder: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYSHOT_DATABASE_URL", postgres_url)
    monkeypatch.setenv("ANYSHOT_SECRET_KEY", "k" * 64)
    monkeypatch.setenv("ANYSHOT_HOME", str(folder / "shared"))
    assert run("migrate").exit_code == 0
    database = Database(postgres_url)
    with database.writing() as session:
        create_user(session, username="paula", email="paula@example.org", password=None)
    made = run("backup", "site.tar")
    assert made.exit_code == 0, made.output
    with tarfile.open("site.tar") as archive:
        about = json.loads(archive.extractfile("about.json").read())  # pyright: ignore[reportOptionalMemberAccess]
        dump = archive.extractfile("database").read()  # pyright: ignore[reportOptionalMemberAccess]
    assert about["database"] == "postgresql" and dump.startswith(b"PGDMP")
    database.dispose()
    monkeypatch.setattr("anyshot_platform.running.operations.backup._search_path", lambda: str(folder))
    refused = run("backup", "again.tar")
    assert refused.exit_code == 1 and "pg_dump is not installed here." in refused.output
    assert not Path("again.tar").exists()
