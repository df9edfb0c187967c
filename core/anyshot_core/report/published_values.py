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

HEADER = (
    "paper",
    "where",
    "row",
    "published",
    "found",
    "95 % interval",
    "unit",
    "verdict",
    "why",
    "what differs",
)
EXPERIMENT = "experiment"  # reports of experiments, which have as many estimates as somebody ran
CONDITIONS = "conditions"  # in the result of a stored report
PaperConditions = Mapping[
    str, tuple[bool, object]
]  # of a paper: whether each is met here, and what it is here


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
        conditions: settings of the paper, by their names in the stored report, that make the number what it is.
        sizes: settings that only decide how wide an interval is, such as a number of test tasks.
        control: an estimate of the same report that lacks what the row is about, such as task noise alone.
        instead: an estimate of the same quantity at a setting that is thought to be the paper's.
        value, half_width: as printed, in the unit of the estimate.
        above, below: instead of a value: the paper says that the quantity lies there.
        margin: differences up to it do not matter: half a printed digit, or what the paper calls small.
        differs: what else is not as in the paper, in words.
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
    conditions: Sequence[str] = ()
    sizes: Sequence[str] = ()
    control: str = ""
    instead: str = ""

    def __post_init__(self) -> None:
        if [self.value, self.above, self.below].count(None) != 2:
            raise BadPublished(f"{self.estimate}: a row has one of value, above and below")
        if not (self.paper and self.where and self.row):
            raise BadPublished(f"{self.estimate}: a row says its paper, where in it, and which row")
        if self.value is not None and self.margin <= 0:
            raise BadPublished(f"{self.estimate}: a value has a margin, at least half of its last digit")

    @property
    def words(self) -> str:
        """The value or the bound as the paper prints it, with its half-width."""
        if self.value is None:
            return f"above {self.above:g}" if self.above is not None else f"below {self.below:g}"
        return f"{self.value:g}" + (f" ± {self.half_width:g}" if self.half_width else "")


@dataclass(frozen=True)
class BesidePublished:
    """A printed row, the estimate that stands for it, what the rule says and why, and which settings differ."""

    published: Published
    found: Estimate
    verdict: Reproduced
    why: str = ""
    differs: str = ""


@dataclass(frozen=True)
class Condition:
    """Something that a printed number stands under: whether it is met here, and what was found."""

    met: bool
    found: str


@dataclass(frozen=True)
class StoredReport:
    """The estimates of a stored report and the conditions that it was made under, by name."""

    estimates: Mapping[str, Estimate]
    conditions: Mapping[str, Condition]

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> StoredReport:
        """Read the estimates and conditions that a report stored in its `result.json`."""
        stored = summary.get("result", {}).get(CONDITIONS, {})
        return cls(
            {e["name"]: Estimate.from_dict(e) for e in summary["estimates"]},
            conditions_from(stored),
        )

    def unmet(self, names: Sequence[str]) -> list[str]:
        """Of some settings those that are not the paper's here, each with what it is here."""
        known = [(name, self.conditions[name]) for name in names]
        return [f"{name} (here {one.found})" for name, one in known if not one.met]


def conditions_from(stored: Mapping[str, Any]) -> dict[str, Condition]:
    """Of plain JSON data."""
    return {name: Condition(**one) for name, one in stored.items()}


def as_conditions(settings: PaperConditions) -> dict[str, Any]:
    """As plain data for the result of a stored report."""
    return {name: {"met": met, "found": str(found)} for name, (met, found) in settings.items()}


def judge(row: Published, numbers: Reproduced, evidence: StoredReport) -> Reproduced:
    """The verdict: what the numbers say, but a value that agrees under other settings is no reproduction of it.

    An order is the paper's claim beyond its own settings, so it stands wherever it is found; `differing` says where.
    """
    elsewhere = row.value is not None and evidence.unmet(row.conditions)
    return Reproduced.UNDECIDED if numbers is Reproduced.YES and elsewhere else numbers


def decide(published: Published, found: Estimate) -> Reproduced:
    """What the numbers alone say.

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
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        shared = data.get("settings", {})
        return [Published(**shared.get(row["reproduction"], {}) | row) for row in data["row"]]
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise BadPublished(f"{path}: {error}") from error


def verdicts_of(name: str, summary: Mapping[str, Any], rows: Sequence[Published]) -> list[BesidePublished]:
    """The rows of one reproduction beside its estimates. Raises `BadPublished` for one that it does not have."""
    evidence, found = StoredReport.of(summary), []
    for row in rows:
        if row.reproduction != name or (name == EXPERIMENT and row.estimate not in evidence.estimates):
            continue
        _require(
            name, "estimate", [row.estimate, *filter(None, (row.control, row.instead))], evidence.estimates
        )
        _require(name, "condition", [*row.conditions, *row.sizes], evidence.conditions)
        found.append(_beside(row, evidence))
    return found


def _require(report: str, kind: str, names: Sequence[str], known: Mapping[str, object]) -> None:
    if lacking := [name for name in names if name not in known]:
        has = ", ".join(map(repr, known)) or "none"
        raise BadPublished(f"{report} has no {kind} {', '.join(map(repr, lacking))}; it has {has}")


AGREES = {Reproduced.YES: "agrees", Reproduced.NO: "differs", Reproduced.UNDECIDED: "undecided"}


def explain(row: Published, found: Estimate, numbers: Reproduced, evidence: StoredReport) -> str:
    """Why a row that is not reproduced came out so, or is undecided, as far as stored data say it.

    In this order: settings that are not the paper's; the same at `instead`; a `control` that is as large; what the
    interval lacks. Where a row is not reproduced and none of these says why, it says that nothing stored does.
    """
    reasons = list[str]()
    if evidence.unmet(row.conditions):
        reasons.append(f"{'the numbers agree, but ' if numbers is Reproduced.YES else ''}settings differ")
    if row.instead:
        reasons.append(f"{row.instead}: {AGREES[decide(row, evidence.estimates[row.instead])]}")
    if row.control and _overlap(found, evidence.estimates[row.control]):
        reasons.append(f"no other than {row.control}")
    if numbers is Reproduced.UNDECIDED:
        reasons.append(_open(row, found))
    return "; ".join(reasons) or _unexplained(row.conditions)


def _unexplained(met: Sequence[str]) -> str:
    """Where no setting that decides differs."""
    if not met:
        return "nothing stored says why"
    return f"all conditions are met ({', '.join(met)}): nothing stored says why"


def differing(row: Published, evidence: StoredReport) -> str:
    """Each setting that is not the paper's, whatever the verdict, and what else differs."""
    return "; ".join([*evidence.unmet([*row.conditions, *row.sizes]), *filter(None, [row.differs])])


def _open(row: Published, found: Estimate) -> str:
    """What keeps an estimate from deciding."""
    if isinstance(found.value, Undefined):
        return f"no estimate: {found.value.reason}"
    if isinstance(found.interval, Undefined):
        return f"no interval: {found.interval.reason}"
    return (
        "the interval reaches over the margin"
        if row.value is not None
        else "the interval has both sides in it"
    )


def _overlap(one: Estimate, other: Estimate) -> bool:
    (low, high), (down, up) = _interval(one), _interval(other)
    if low is None or high is None or down is None or up is None:
        return False
    return low <= up and down <= high


def beside(
    name: str,
    estimates: Sequence[Estimate],
    rows: Sequence[Published],
    conditions: Mapping[str, Condition],
) -> list[BesidePublished]:
    """The rows of `name` that one of the estimates stands for; a report that can be smaller than the paper has few."""
    evidence = StoredReport({one.name: one for one in estimates}, conditions)
    return [
        _beside(row, evidence)
        for row in rows
        if row.reproduction == name and row.estimate in evidence.estimates
    ]


def _beside(row: Published, evidence: StoredReport) -> BesidePublished:
    found = evidence.estimates[row.estimate]
    numbers = decide(row, found)
    verdict = judge(row, numbers, evidence)
    why = "" if verdict is Reproduced.YES else explain(row, found, numbers, evidence)
    return BesidePublished(row, found, verdict, why, differing(row, evidence))


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
                one.why,
                one.differs,
            ]
        )
    return {"title": "Published and found", "header": HEADER, "rows": rows}
