"""What the conversion of a foreign bundle has to say, and its values as people write them."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anyshot_platform.contest.bundles.codabench_keys import PLACES
from anyshot_platform.contest.bundles.yaml_lines import FileProblem, Marked, Path
from anyshot_platform.foundation.filters import join_texts


class Flavour(StrEnum):
    CODABENCH_2 = "Codabench 2"
    CODALAB_15 = "CodaLab 1.5"


@dataclass(frozen=True)
class Notice:
    """Something of the source that has no equivalent here, or was read in one of several ways.

    `place` is the organizers' page on which something has to be done about it; empty: nothing can be. Line 0 means that
    it is about a file of the bundle, which `path` names then.
    """

    line: int
    path: str
    message: str
    place: str = ""

    def __str__(self) -> str:
        return str(self.words)

    @property
    def words(self) -> str:
        """The remark with its place before it, for people."""
        place = f"line {self.line}" if self.line else ""
        return join_texts((place, self.path, self.message), by=": ")


@dataclass
class Reporter:
    """The source, and what was found wrong or without equivalent in it."""

    marked: Marked
    flavour: Flavour
    notices: list[Notice] = field(default_factory=list)
    problems: list[FileProblem] = field(default_factory=list)

    @property
    def data(self) -> dict[Any, Any]:
        """The definition of the foreign bundle, as it was read."""
        return self.marked.data

    def notice(self, path: Path, message: str, place: str = "") -> None:
        """Something that the organizer should know, or has to do on the page `place`."""
        problem = self.marked.problem(path, message)
        self.notices.append(Notice(problem.line, problem.path, message, place or PLACES.get(message, "")))

    def problem(self, path: Path, message: str) -> None:
        """Something without which the bundle cannot be imported."""
        self.problems.append(self.marked.problem(path, message))


def entries(value: Any) -> list[tuple[int, dict[Any, Any]]]:
    """The entries of a list that are mappings, with their places."""
    return [
        (i, item) for i, item in enumerate(value if isinstance(value, list) else []) if isinstance(item, dict)
    ]


def mapping(value: Any) -> dict[Any, Any]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def is_true(value: Any) -> bool:
    """A flag as people write it."""
    return value.strip().lower() in ("true", "yes", "1", "on") if isinstance(value, str) else bool(value)


def number_of(value: Any, default: float = 0.0) -> float:
    """A number, or `default` for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def whole_of(value: Any) -> int | None:
    """A whole number; None for anything else."""
    number = number_of(value, default=-0.5)
    return int(number) if float(number).is_integer() else None
