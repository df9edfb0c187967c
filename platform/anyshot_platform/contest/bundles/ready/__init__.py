"""Competitions that ship with the platform, each a bundle in a folder beside this file."""

from dataclasses import dataclass
from pathlib import Path

from anyshot_platform.contest.bundles.reading import CompetitionBundle, read_bundle

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class ReadyMade:
    """A competition that ships with Anyshot, and can be imported as it is."""

    name: str
    title: str
    summary: str


def ready_made() -> list[ReadyMade]:
    """What there is, by name."""
    return [
        ReadyMade(name, bundle.spec.title, bundle.spec.summary)
        for name in sorted(path.parent.name for path in _FOLDER.glob("*/competition.yaml"))
        if (bundle := read_ready_made(name))
    ]


def read_ready_made(name: str) -> CompetitionBundle:
    """The bundle of that name; raises `KeyError` for any other name."""
    folder = _FOLDER / name
    if folder.parent != _FOLDER or not (folder / "competition.yaml").is_file():
        raise KeyError(name)
    return read_bundle(folder)
