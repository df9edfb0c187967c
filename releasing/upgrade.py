"""The database of the last release, filled by that release's own demo, is brought to this one and read again."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from anyshot_core.client import Client, ClientError
from releasing import packages
from releasing.commands import Refused, run
from releasing.tree import Copy, copy_of

Boards = dict[str, Any]
WAIT = 180.0  # seconds for a site to come up


def try_out(copy: Copy, before: str | None, target: Path) -> None:
    """Raise `Refused` where the site of the release `before` does not come out of the upgrade as it went in."""
    if before is None:
        click.echo("There is no earlier release: nothing to upgrade from.")
        return
    place = copy.folder.parent
    with copy_of(copy.folder, before) as older:
        (wheels := place / "older").mkdir()
        packages.build(older.folder, wheels)
        old = _site(wheels, older.folder / "constraints.txt", place / "venv-old")
        run(str(old), "admin", "demo", "--exit", "--home", str(place / "home"), cwd=place)
    new = _site(target, copy.folder / "constraints.txt", place / "venv-new")
    compare(old, new, demo_site(place / "home"))
    click.echo(f"A full site of {before} was brought to this release; its boards are the same.")


def demo_site(home: Path) -> Path:
    """The folder of the site that `anyshot admin demo` made last below its home."""
    return max((home / "sites").iterdir())


def compare(old: Path, new: Path, home: Path) -> None:
    """Read all boards with the command `old`, migrate with `new`, read them again. Raises `Refused` if they differ."""
    earlier = read_boards(old, home)
    if not any(earlier.values()):
        raise Refused(f"The site in {home} has no row on any board, so that its upgrade shows nothing.")
    run(str(new), "admin", "migrate", "--home", str(home), cwd=home)
    later = read_boards(new, home)
    if later != earlier:
        raise Refused(f"The upgrade changes the boards.\nBefore: {earlier}\nAfter: {later}")


def read_boards(anyshot: Path, home: Path) -> Boards:
    """Team and score of each row of each open board, as a visitor sees them."""
    with _serving(anyshot, home) as address, Client(address) as visitor:
        found = [
            (competition["slug"], phase["slug"])
            for competition in visitor.competitions()
            for phase in visitor.competition(competition["slug"])["phases"]
        ]
        return {
            f"{slug}/{phase}": [
                (row["team"], row["score"]) for row in visitor.leaderboard(slug, phase)["rows"]
            ]
            for slug, phase in found
        }


def _site(wheels: Path, constraints: Path, folder: Path) -> Path:
    python = packages.install(wheels, constraints, folder, "anyshot-platform", "anyshot-worker")
    return python.with_name("anyshot")


@contextmanager
def _serving(anyshot: Path, home: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(anyshot), "admin", "serve", "--home", str(home), "--port", str(port)]
    with (home / "release.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=home)
    try:
        _wait(process, f"http://127.0.0.1:{port}", home / "release.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _wait(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + WAIT
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with Client(address) as visitor:
                visitor.competitions()
            return
        except ClientError:
            time.sleep(0.2)
    raise Refused(f"The site did not come up:\n{log.read_text()[-3000:]}")
