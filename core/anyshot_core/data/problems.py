"""What can be wrong with a dataset or a pack, said so that its owner knows what to do."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """An error stops reading or packing; a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class PackProblem:
    """One finding: where it is, what was found, what was expected, and what to do about it."""

    dataset: str
    file: str
    line: int | None
    found: str
    expected: str
    remedy: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{self.dataset}: {where}: found {self.found}; expected {self.expected}. {self.remedy}"

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        return asdict(self)


class DataError(Exception):
    """Base of everything that this package raises about data."""


class BadDataset(DataError):
    """A dataset folder breaks the format; `problems` lists every error found."""

    def __init__(self, problems: Sequence[PackProblem]) -> None:
        self.problems = tuple(problems)
        shown = [str(p) for p in self.problems[:20]]
        if len(self.problems) > 20:
            shown.append(f"... and {len(self.problems) - 20} more")
        super().__init__("\n".join(shown))


class BadPack(DataError):
    """A pack is truncated, altered, of another format or of another version; the message names its path."""


def bad_image(dataset: str, file: str, reason: str, wrong_mode: bool) -> PackProblem:
    """An image that cannot be used: damaged, or (`wrong_mode`) not 8-bit RGB."""
    if wrong_mode:
        expected, remedy = (
            "an 8-bit RGB image",
            "Convert it to 8-bit RGB, pack with --convert, or leave it out with --skip-bad.",
        )
    else:
        expected = "a readable image"
        remedy = "Replace the file, remove its line from labels.csv, or leave it out with --skip-bad."
    return PackProblem(dataset, f"images/{file}", None, reason, expected, remedy)


def errors(problems: Sequence[PackProblem]) -> list[PackProblem]:
    """Those problems that stop reading."""
    return [p for p in problems if p.severity is Severity.ERROR]
