"""Backup and restore: database and storage in one tar file, by one command each."""

import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from sqlalchemy import select
from sqlalchemy.engine import URL, make_url

from anyshot_core.data.digests import digest_file
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.database import count_anew, now
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.foundation.services import Services
from anyshot_platform.running.operations.retention import referenced

FORMAT = 1
_CHUNK = 1 << 20


class BackupFailed(Conflict):
    """The backup or restore could not be carried out."""

    code = "backup_failed"


@dataclass(frozen=True)
class Backup:
    """What a backup holds: the number of its files, and the digests of those that the storage has no more."""

    files: int
    missing: list[str]


def back_up(services: Services, target: Path) -> Backup:
    """Write a backup while the site runs.

    The database first, then the files: what the database's copy refers to is there, but for what retention removed in
    between. The target appears only once it is complete.

    Raises `BackupFailed` if the target is there already.
    """
    if target.exists():
        raise BackupFailed(f"{target} is there already: a backup replaces no other. Choose another name.")
    partial = target.with_name(target.name + ".partial")
    with tempfile.TemporaryDirectory(prefix="anyshot-backup-") as folder:
        dump = Path(folder) / "database"
        kind = _dump_database(services, dump)
        with services.database.reading() as session:
            digests = session.scalars(select(Blob.digest).order_by(Blob.digest)).all()
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)  # it holds every hidden image and label
        with tarfile.open(partial, "w") as archive:
            about = {"format": FORMAT, "made_at": now().isoformat(), "database": kind, "files": len(digests)}
            _add_bytes(archive, "about.json", json.dumps(about).encode())
            archive.add(dump, "database")
            absent = [digest for digest in digests if not _add_blob(services, archive, digest)]
    partial.replace(target)
    return Backup(len(digests) - len(absent), _wanted(services, absent))


def _wanted(services: Services, absent: list[str]) -> list[str]:
    """Those of the absent files that something refers to; others are being stored, or are removed just now."""
    with services.database.reading() as session:
        wanted = set(session.scalars(referenced())) if absent else set()
    return [digest for digest in absent if digest in wanted]


def restore(services: Services, source: Path) -> int:
    """Restore a backup into an empty site of the same kind of database; returns the number of files.

    The database last: after a restore that ended half-way the site is still empty, and another one goes through.

    Raises `BackupFailed` if the site is not empty, `Invalid` if the file is no backup or damaged.
    """
    try:
        return _restore(services, source)
    except (tarfile.TarError, EOFError, json.JSONDecodeError) as error:
        raise Invalid(f"{source} is no backup, or damaged: {error}") from error


def _restore(services: Services, source: Path) -> int:
    with (
        tarfile.open(source, "r") as archive,
        tempfile.TemporaryDirectory(prefix="anyshot-restore-") as folder,
    ):
        archive.getmembers()  # all of it is there, before anything is written
        about = json.loads(_member(archive, "about.json").read())
        if about.get("format") != FORMAT:
            raise Invalid("This is no backup of a version that is known here.")
        _require_empty(services, about["database"])
        files = _restore_files(services, archive, folder)
        dump = Path(folder) / "database"
        _copy(_member(archive, "database"), dump)
        _load_database(services, dump)
    return files


def _restore_files(services: Services, archive: tarfile.TarFile, folder: str) -> int:
    services.storage.prepare()
    files = [member for member in archive if member.name.startswith("blobs/") and member.isreg()]
    for member in files:
        _restore_blob(services, cast(BinaryIO, archive.extractfile(member)), member.name, folder)
    return len(files)


def _dump_database(services: Services, target: Path) -> str:
    url = make_url(services.settings.database_address)
    if services.database.is_sqlite:
        origin = sqlite3.connect(url.database or "")
        copy = sqlite3.connect(target)
        with origin, copy:
            origin.backup(copy)
        origin.close()
        copy.close()
        return "sqlite"
    _run_postgres_tool(url, ["pg_dump", "--format=custom", "--no-owner", f"--file={target}"])
    return "postgresql"


def _require_empty(services: Services, kind: str) -> None:
    """Raise `BackupFailed` unless the site's database is of this kind, and has nothing in it."""
    if kind != ("sqlite" if services.database.is_sqlite else "postgresql"):
        raise BackupFailed(f"This backup is of a {kind} database; the settings name another kind.")
    if services.database.is_sqlite:
        if left := [str(file) for file in _sqlite_files(services) if file.exists() and file.stat().st_size]:
            verb = "exists" if len(left) == 1 else "exist"
            raise BackupFailed(f"{', '.join(left)} {verb}: a backup is restored into an empty site only.")
        return
    with services.database.engine.connect() as connection:
        if services.database.engine.dialect.has_table(connection, "alembic_version"):
            raise BackupFailed("The database is not empty: a backup is restored into an empty site only.")


def _sqlite_file(services: Services) -> Path:
    return Path(make_url(services.settings.database_address).database or "")


def _sqlite_files(services: Services) -> list[Path]:
    """The database and what SQLite keeps beside it: a log left by a crash would be played over what is restored."""
    place = _sqlite_file(services)
    return [place, *(place.with_name(place.name + end) for end in ("-wal", "-shm", "-journal"))]


def _load_database(services: Services, dump: Path) -> None:
    services.database.dispose()
    if services.database.is_sqlite:
        place = _sqlite_file(services)
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = place.with_name(place.name + ".partial")
        _copy(dump.open("rb"), partial)
        partial.replace(place)
        return
    url = make_url(services.settings.database_address)
    _run_postgres_tool(
        url, ["pg_restore", "--no-owner", "--exit-on-error", "--single-transaction", str(dump)]
    )
    with services.database.writing() as session:
        count_anew(session)


def _run_postgres_tool(url: URL, command: list[str]) -> None:
    """Run pg_dump or pg_restore; the password goes by the environment, where `ps` does not show it."""
    where = ["-h", url.host or "localhost", "-p", str(url.port or 5432), "-U", url.username or "postgres"]
    database = ["-d", url.database or "postgres"]
    # The tools' own environment: PATH to be found, and the password, nothing else of ours.
    environment = {"PATH": _search_path(), "PGPASSWORD": str(url.password or "")}
    tool = shutil.which(command[0], path=environment["PATH"])
    if tool is None:
        raise BackupFailed(
            f"{command[0]} is not installed here. Install PostgreSQL's client (postgresql-client) of the database's "
            "version, or newer, and run the command again."
        )
    done = subprocess.run(
        [tool, *where, *database, *command[1:]], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise BackupFailed(f"{command[0]} failed: {done.stderr.strip()[-500:]}")


def _search_path() -> str:
    """Where the tools are looked for: Debian keeps those of each version in a folder of its own."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return os.pathsep.join([os.defpath, "/usr/local/bin", *map(str, versions)])


def _add_bytes(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _add_blob(services: Services, archive: tarfile.TarFile, digest: str) -> bool:
    """Put a file into the archive; False where the storage has none of this digest."""
    try:
        file = services.storage.open(digest)
    except FileNotFoundError:
        return False
    with tempfile.NamedTemporaryFile(prefix="anyshot-blob-") as copy, file:
        while chunk := file.read(_CHUNK):
            copy.write(chunk)
        copy.flush()
        archive.add(copy.name, f"blobs/{digest}")
    return True


def _restore_blob(services: Services, file: BinaryIO, name: str, folder: str) -> None:
    digest = name.removeprefix("blobs/")
    path = Path(folder) / "blob"
    _copy(file, path)
    if digest_file(path) != digest:
        raise Invalid(f"The file {digest} of the backup is damaged.")
    services.storage.put(digest, path)
    path.unlink()


def _member(archive: tarfile.TarFile, name: str) -> BinaryIO:
    try:
        found = archive.extractfile(name)
    except KeyError as error:
        raise Invalid(f"This is no backup: it has no {name}.") from error
    if found is None:
        raise Invalid(f"This is no backup: {name} is no file.")
    return cast(BinaryIO, found)


def _copy(source: BinaryIO, target: Path) -> None:
    with source, target.open("wb") as sink:
        while chunk := source.read(_CHUNK):
            sink.write(chunk)
