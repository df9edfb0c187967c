"""What papers printed beside what was found, and a rule that says whether it was reproduced.

A row of `published.toml` is one printed number (or one printed order of two numbers) with its paper, table, row and
place. It names the estimate of the stored report that stands for it, so a verdict follows from two data files.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from anyshot_core.report.estimates import Estimate
from anyshot_scoring.undefined import Undefined

HEADER = ("paper", "where", "row", "published", "found", "95 % interval", "unit", "verdict", "what differs")


class BadPublished(ValueError):
    """A row that does not say what was printed where, or that names no estimate."""


class Reproduced(StrEnum):
    """What found and published numbers say together."""

    YES = "reproduced"
    NO = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Published:
    """A printed number, or a printed order (`above` or `below` a number).

    Attributes:
        reproduction, estimate: the stored report, and its estimate of the same quantity.
        paper, where, row: the paper; its table or figure, with the section; the row or curve in it.
        page: the page as it is numbered in print; None of papers that we have as text without pages.
        value, half_width: as printed, in the unit of the estimate.
        above, below: instead of a value: the paper says that the quantity lies there.
        margin: differences up to it do not matter: half a printed digit, or what the paper calls small.
        differs: settings that are not the paper's, which may be the reason of a difference.
    """

    reproduction: str
    estimate: str
    paper: str
    where: str
    row: str
    value: float | None = None
    half_width: float = 0.0
    above: float | None = None
    below: float | None = None
    margin: float = 0.0
    differs: str = ""
    page: int | None = None

    def __post_init__(self) -> None:
        if [self.value, self.above, self.below].count(None) != 2:
            raise BadPublished(f"{self.estimate}: a row has one of value, above and below")
        if not (self.paper and self.where and self.row):
            raise BadPublished(f"{self.estimate}: a row says its paper, where in it, and which row")
        if self.value is not None and self.margin <= 0:
            raise BadPublished(f"{self.estimate}: a value has a margin, at least half of its last digit")

    @property
    def words(self) -> str:
        """What was printed."""
        if self.value is None:
            return f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"
        return f"{self.value:g}" + (f" ± {self.half_width:g}" if self.half_width else "")


@dataclass(frozen=True)
class BesidePublished:
    """A printed row, the estimate that stands for it, and what the rule says."""

    published: Published
    found: Estimate
    verdict: Reproduced


def decide(published: Published, found: Estimate) -> Reproduced:
    """The rule.

    A value is reproduced where the whole 95 % interval of found minus published (half widths add in squares) lies
    within the margin, and not reproduced where it lies wholly outside; an order, where the interval lies wholly on
    the printed side, or on the other. Everything else is undecided, as is an estimate that has no interval although
    it was sampled. An exact value is its own interval.
    """
    if isinstance(found.value, Undefined):
        return Reproduced.UNDECIDED
    low, high = _interval(found)
    if low is None or high is None:
        return Reproduced.UNDECIDED
    if published.value is None:
        limit, sign = (published.above, 1) if published.above is not None else (published.below, -1)
        assert limit is not None  # one of the three is given
        sides = sorted((sign * (low - limit), sign * (high - limit)))
        return _among(sides[0] > 0, sides[1] < 0)
    gap = found.value - published.value
    down = gap - ((found.value - low) ** 2 + published.half_width**2) ** 0.5
    up = gap + ((high - found.value) ** 2 + published.half_width**2) ** 0.5
    margin = published.margin
    return _among(-margin <= down and up <= margin, down > margin or up < -margin)


def _among(yes: bool, no: bool) -> Reproduced:
    return Reproduced.YES if yes else Reproduced.NO if no else Reproduced.UNDECIDED


def _interval(found: Estimate) -> tuple[float, float] | tuple[None, None]:
    if not isinstance(found.interval, Undefined):
        return found.interval
    if found.interval.reason.startswith("exact") and not isinstance(found.value, Undefined):
        return found.value, found.value
    return None, None


def read_published(path: Path) -> list[Published]:
    """All rows. Raises `BadPublished`."""
    try:
        rows = tomllib.loads(path.read_text(encoding="utf-8"))["row"]
        return [Published(**row) for row in rows]
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadPublished(f"{path}: {error}") from error


def verdicts_of(name: str, summary: Mapping[str, Any], rows: Sequence[Published]) -> list[BesidePublished]:
    """The rows of one reproduction beside its estimates. Raises `BadPublished` for one that it does not have."""
    estimates = {e["name"]: Estimate.from_dict(e) for e in summary["estimates"]}
    found = []
    for row in rows:
        if row.reproduction != name:
            continue
        if row.estimate not in estimates:
            raise BadPublished(
                f"{name} has no estimate {row.estimate!r}; it has {', '.join(map(repr, estimates))}"
            )
        found.append(BesidePublished(row, estimates[row.estimate], decide(row, estimates[row.estimate])))
    return found


def beside(name: str, estimates: Sequence[Estimate], rows: Sequence[Published]) -> list[BesidePublished]:
    """The rows of `name` that one of the estimates stands for; a report that can be smaller than the paper has few."""
    known = {one.name: one for one in estimates}
    return [
        BesidePublished(row, known[row.estimate], decide(row, known[row.estimate]))
        for row in rows
        if row.reproduction == name and row.estimate in known
    ]


def place_words(published: Published) -> str:
    """Table or figure, and the page where it is known."""
    return published.where + ("" if published.page is None else f", p. {published.page}")


def published_table(verdicts: Sequence[BesidePublished]) -> dict[str, Any]:
    """A table of plain cells: found beside published."""
    rows = []
    for one in verdicts:
        e, p = one.found.to_dict(), one.published
        interval = e["interval"]
        shown = (
            interval["undefined"] if isinstance(interval, Mapping) else "{:.4g} to {:.4g}".format(*interval)
        )
        rows.append(
            [
                p.paper,
                place_words(p),
                p.row,
                p.words,
                e["value"],
                shown,
                e["unit"],
                one.verdict.value,
                p.differs,
            ]
        )
    return {"title": "Published and found", "header": HEADER, "rows": rows}
