"""The mutants: small wrong changes to code that decides, each with the tests that must fail under it."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Mutant:
    """One wrong change: in `file`, `find` (occurring once) becomes `replace`; one of `tests` must fail."""

    area: str
    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    @property
    def source(self) -> str:
        """The file as it is."""
        return (ROOT / self.file).read_text()

    def as_setting(self) -> str:
        """What `startup/sitecustomize.py` reads."""
        return json.dumps(
            {"file": str((ROOT / self.file).resolve()), "find": self.find, "replace": self.replace}
        )


def read_mutants() -> Iterator[Mutant]:
    """All of them, area by area; an area is one TOML file."""
    for path in sorted(FOLDER.glob("*.toml")):
        for row in tomllib.loads(path.read_text())["mutant"]:
            yield Mutant(path.stem, **{**row, "tests": tuple(row["tests"])})
