"""What of our own goes into a sandbox: scoring, core and what runs a submission; all of it is public."""

from collections.abc import Iterator
from pathlib import Path

from anyshot_core.installation import package_files, package_folder

_PACKAGES = ("anyshot_scoring", "anyshot_core", "anyshot_starting_kit")
_LEFT_OUT = {  # what a participant uses outside of a run
    "anyshot_core": (
        "baselines.py",
        "charts",
        "client.py",
        "command.py",
        "demo_data.py",
        "installed.py",
        "receipts.py",
        "report",
    ),
    "anyshot_starting_kit": ("cli", "dryrun", "templates"),
}


def package_folders() -> dict[str, Path]:
    """The packages that go into an image."""
    return {name: package_folder(name) for name in _PACKAGES}


def inside_files(name: str) -> Iterator[Path]:
    """The files of a package that go into an image, in order."""
    folder, left_out = package_folder(name), _LEFT_OUT.get(name, ())
    return (path for path in package_files(name) if path.relative_to(folder).parts[0] not in left_out)


def python_path() -> str:
    """PYTHONPATH of a process that runs a submission with the packages of this installation."""
    return ":".join(dict.fromkeys(str(folder.parent) for folder in package_folders().values()))
