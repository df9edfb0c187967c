"""`python -m releasing VERSION`: what a release is, step by step.

Everything is made from a copy of the last commit. The checkout gets the release's commit and tag at the very end, and
only if each step succeeded; with `--dry-run` it gets neither.
"""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from releasing import images, packages, upgrade
from releasing.changelog import release_notes
from releasing.commands import Refused, run
from releasing.tree import Copy, copy_of, refuse_unfit

ROOT = Path(__file__).parents[1]
# Steps that are targets of the Makefile.
CHECKS = {"lint": "lint", "tests": "test-all", "coverage": "coverage"}
STEPS = (*CHECKS, "inventory", "documentation", "images", "upgrade")


@click.command()
@click.argument("version")
@click.option("--dry-run", is_flag=True, help="Do all of it but the commit and the tag.")
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(STEPS),
    help="Leave a step out; with --dry-run alone. Repeatable.",
)
@click.option(
    "--upgrade-from", metavar="REF", help="Try the database's upgrade from there [the last tag v*]."
)
@click.option("--checkout", type=click.Path(path_type=Path), default=ROOT, hidden=True)
def release(
    version: str, dry_run: bool, skip: tuple[str, ...], upgrade_from: str | None, checkout: Path
) -> None:
    """Release VERSION: packages, images, their inventories, documentation, and a database upgrade that was tried."""
    if skip and not dry_run:
        raise click.UsageError("A release leaves nothing out: --skip goes with --dry-run.")
    try:
        made = make(version, dry_run, set(skip), upgrade_from, checkout)
    except Refused as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{'Tried' if dry_run else 'Released'} {version}: {made}")


def make(version: str, dry_run: bool, skipped: set[str], upgrade_from: str | None, checkout: Path) -> Path:
    """Carry out every step that is not skipped; returns the folder with what was made. Raises `Refused`."""
    refuse_unfit(checkout, version)
    notes = release_notes((checkout / "CHANGELOG.md").read_text())
    if not dry_run and "images" not in skipped:
        images.require_docker()
    for name, wanted in CHECKS.items():
        if name not in skipped:
            _step(name, partial(run, "make", wanted, cwd=checkout))
    target = checkout / "dist" / version
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "NOTES.md").write_text(notes)
    with copy_of(checkout) as copy:
        copy.commit_release(version, datetime.now(UTC).date())
        _step("packages", lambda: _package(copy.folder, target))
        before = upgrade_from or copy.last_release()
        for name, work in _parts(copy, target, version, before, dry_run).items():
            if name not in skipped:
                _step(name, work)
        packages.write_sums(target)
        if not dry_run:
            copy.hand_over(checkout, version)
    return target


def _parts(
    copy: Copy, target: Path, version: str, before: str | None, dry_run: bool
) -> dict[str, Callable[[], None]]:
    return {
        "inventory": lambda: packages.write_inventories(copy.folder, target),
        "documentation": lambda: _document(copy.folder, target, version),
        "images": lambda: images.build(copy.folder, target, version, without_docker=dry_run),
        "upgrade": lambda: upgrade.try_out(copy, before, target),
    }


def _step(name: str, work: Callable[[], object]) -> None:
    click.echo(f"== {name}")
    began = time.monotonic()
    work()
    click.echo(f"== {name}: {time.monotonic() - began:.0f} s")


def _package(tree: Path, target: Path) -> None:
    run("python", "-m", "releasing.reference", cwd=tree)
    packages.build(tree, target)


def _document(tree: Path, target: Path, version: str) -> None:
    """The documentation of this version, as a site of files."""
    folder = target / f"anyshot-{version}-docs"
    run(
        "mkdocs",
        "build",
        "--quiet",
        "--strict",
        "--site-dir",
        str(folder),
        cwd=tree,
        ANYSHOT_RELEASE=f"Anyshot {version}",
    )
    shutil.make_archive(str(folder), "gztar", target, folder.name)
    shutil.rmtree(folder)


if __name__ == "__main__":
    release(prog_name="make release")
