"""The checkout that a release starts from, and the copy that it is made of."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from packaging.version import InvalidVersion, Version

from releasing import changelog
from releasing.commands import Refused, run


def refuse_unfit(checkout: Path, version: str) -> None:
    """Raise `Refused` for a version that cannot come next, and for a checkout with changes."""
    found = (checkout / "about/version.txt").read_text().strip()
    try:
        wanted = Version(version)
    except InvalidVersion:
        raise Refused(
            f"{version!r} is no version; one looks like 1.4.0, a candidate like 1.4.0rc1."
        ) from None
    if str(wanted) != version or wanted.local or wanted < Version(found):
        raise Refused(f"{version} cannot follow {found}: give a higher one, in its shortest form.")
    if run("git", "tag", "--list", f"v{version}", cwd=checkout).strip():
        raise Refused(f"v{version} is released already: a released version never changes.")
    if changed := run("git", "status", "--porcelain", cwd=checkout):
        raise Refused(f"The checkout has changes that are in no commit; commit or remove them:\n{changed}")


NAMES_OUR_IMAGES = ("docker-compose.yml", "docker/kubernetes/anyshot.yaml", "docker/kubernetes/workers.yaml")


@dataclass(frozen=True)
class Copy:
    """A work tree of its own, on no branch, which shares the checkout's repository."""

    folder: Path

    def commit_release(self, version: str, day: date) -> None:
        """Write version, the images that are named by it, and changelog, and commit them here."""
        (self.folder / "about/version.txt").write_text(f"{version}\n")
        for file in NAMES_OUR_IMAGES:
            place = self.folder / file
            if place.exists():
                place.write_text(
                    re.sub(r"(image: anyshot/(?:platform|worker)):\S+", rf"\1:{version}", place.read_text())
                )
        path = self.folder / "CHANGELOG.md"
        path.write_text(changelog.close(path.read_text(), version, day))
        run("git", "commit", "--quiet", "--all", "--message", f"Release {version}", cwd=self.folder)

    def last_release(self) -> str | None:
        """The tag of the newest release among the ancestors; None before the first."""
        tags = run(
            "git", "tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname", cwd=self.folder
        )
        return next(iter(tags.split()), None)

    def hand_over(self, checkout: Path, version: str) -> None:
        """Give the checkout's branch the commit, and the commit its tag."""
        commit = run("git", "rev-parse", "HEAD", cwd=self.folder).strip()
        run("git", "merge", "--quiet", "--ff-only", commit, cwd=checkout)
        run(
            "git", "tag", "--annotate", f"v{version}", "--message", f"Anyshot {version}", commit, cwd=checkout
        )


@contextmanager
def copy_of(checkout: Path, ref: str = "HEAD") -> Iterator[Copy]:
    """A copy of a commit for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="anyshot-release-") as name:
        folder = Path(name, "tree")
        run("git", "worktree", "add", "--quiet", "--detach", str(folder), ref, cwd=checkout)
        try:
            yield Copy(folder)
        finally:
            run("git", "worktree", "remove", "--force", str(folder), cwd=checkout)
