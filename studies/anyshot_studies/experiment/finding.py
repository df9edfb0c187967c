"""A finding: a sentence, whether it holds here by a rule, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyshot_studies
from anyshot_core.report.estimates import Estimate
from anyshot_core.report.published_values import (
    EXPERIMENT,
    BesidePublished,
    beside,
    conditions_from,
    read_published,
)
from anyshot_scoring.undefined import Undefined
from anyshot_studies.experiment.conditions import conditions_of_experiments

PUBLISHED = Path(anyshot_studies.__path__[0]) / "_reproductions/published.toml"  # a link to docs/
FINDINGS = "findings.json"
UNIT, OTHER_TASKS = "normalized accuracy", "other tasks of these datasets"


class FindingVerdict(StrEnum):
    """What the runs at hand say of a sentence: true, false, neither, or nothing."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"

    @classmethod
    def above_zero(cls, low: float, high: float) -> FindingVerdict:
        """Of the sentence that a quantity is above 0, by its 95 % interval: undecided where that contains 0."""
        return cls.HOLDS if low > 0 else cls.FAILS if high < 0 else cls.UNDECIDED


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of a paper or of our aims, what the runs say of it, and why.

    `estimate` is the quantity that the verdict follows from; None where it follows from several, or from none.
    """

    claim: str
    verdict: FindingVerdict
    evidence: str
    estimate: Estimate | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Finding:
        """As `to_dict` wrote it."""
        found = data["estimate"]
        estimate = None if found is None else Estimate.from_dict(found)
        return cls(data["claim"], FindingVerdict(data["verdict"]), data["evidence"], estimate)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        estimate = None if self.estimate is None else self.estimate.to_dict()
        return {"claim": self.claim, "verdict": self.verdict, "evidence": self.evidence, "estimate": estimate}


def sampled(
    name: str, value: float, interval: tuple[float, float] | None, unit: str = UNIT, selected: str = ""
) -> Estimate:
    """An estimate over other tasks; without an interval where a dataset has a single task."""
    undefined = Undefined("a dataset has a single task in a run")
    return Estimate(name, value, undefined if interval is None else interval, unit, OTHER_TASKS, selected)


def beside_published(
    findings: Sequence[Finding], facts: Sequence[Mapping[str, str]]
) -> list[BesidePublished]:
    """The printed rows that the findings have an estimate for, each with the rule's verdict; `facts`: what was run."""
    return beside_published_of([one.estimate for one in findings if one.estimate is not None], facts)


def beside_published_of(
    estimates: Sequence[Estimate], facts: Sequence[Mapping[str, str]]
) -> list[BesidePublished]:
    """The printed rows that one of the estimates stands for."""
    conditions = conditions_from(conditions_of_experiments(facts))
    return beside(EXPERIMENT, estimates, read_published(PUBLISHED), conditions)
