"""What a report claims in numbers: estimate, interval, unit, population, and whether it was selected, as one type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from anyshot_scoring.intervals import t_interval
from anyshot_scoring.undefined import Undefined

Value = float | Undefined
LEVEL = 0.95


class BadEstimate(ValueError):
    """An estimate that leaves out what a reader needs, or whose interval does not hold it."""


@dataclass(frozen=True)
class Estimate:
    """One number of a report with all that it needs to be read.

    Attributes:
        name: what is estimated, unique within the report.
        value: the estimate, or why there is none.
        interval: its 95 % interval, or why there is none ("nothing is sampled", "one seed").
        unit: of value and interval, such as `points` (hundredths of an accuracy) or `probability`.
        population: what the interval is about: other tasks, other datasets, other seeds, ...
        selected: how it was picked out of several on the same data, which makes it look better than it is; empty
            where it was fixed beforehand.
    """

    name: str
    value: Value
    interval: tuple[float, float] | Undefined
    unit: str
    population: str
    selected: str = ""

    def __post_init__(self) -> None:
        if not (self.name and self.unit and self.population):
            raise BadEstimate(f"an estimate has a name, a unit and a population: {self}")
        if isinstance(self.value, Undefined) or isinstance(self.interval, Undefined):
            return
        low, high = self.interval
        if not low <= high:
            raise BadEstimate(f"the interval of {self.name} is empty: {low} to {high}")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        interval = self.interval
        return {
            "name": self.name,
            "value": _plain(self.value),
            "interval": {"undefined": interval.reason}
            if isinstance(interval, Undefined)
            else [float(v) for v in interval],
            "unit": self.unit,
            "population": self.population,
            "selected": self.selected,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Estimate:
        """Read what `to_dict` wrote; raises `KeyError` where a field is missing."""
        value, interval = data["value"], data["interval"]
        return cls(
            data["name"],
            Undefined(value["undefined"]) if isinstance(value, Mapping) else float(value),
            Undefined(interval["undefined"])
            if isinstance(interval, Mapping)
            else (float(interval[0]), float(interval[1])),
            data["unit"],
            data["population"],
            data["selected"],
        )


def exact(
    name: str, value: float, unit: str, population: str, why: str = "exact: nothing is sampled"
) -> Estimate:
    """A number without sampling error, or one that a single draw gives; `why` says which."""
    return Estimate(name, float(value), Undefined(why), unit, population)


def undefined(name: str, reason: str, unit: str, population: str) -> Estimate:
    """What cannot be estimated."""
    return Estimate(name, Undefined(reason), Undefined(reason), unit, population)


def mean(
    name: str, values: ArrayLike, unit: str, population: str, *, scale: float = 1.0, selected: str = ""
) -> Estimate:
    """Mean of independent values with its t interval, both times `scale` (100 for points)."""
    found, half = t_interval(scale * np.asarray(values, np.float64))
    return around(name, found, half, unit, population, selected=selected)


def around(
    name: str,
    value: float,
    half_width: float | Undefined | None,
    unit: str,
    population: str,
    *,
    selected: str = "",
) -> Estimate:
    """An estimate with the half width of its interval; None where one value has none."""
    half = Undefined("a single value has no spread") if half_width is None else half_width
    if not isinstance(half, Undefined) and half == 0:  # an interval of no width would call that certain
        half = Undefined("all values are equal: they show no spread")
    interval = half if isinstance(half, Undefined) else (float(value - half), float(value + half))
    return Estimate(name, float(value), interval, unit, population, selected)


def share(name: str, hits: float, of: int, population: str, *, selected: str = "") -> Estimate:
    """A probability by the share of independent draws, with Wilson's interval (Wilson 1927)."""
    if of < 1:
        return undefined(name, "nothing was drawn", "probability", population)
    z = float(special.ndtri(0.5 + LEVEL / 2))
    p, n = hits / of, float(of)
    middle, width = p + z * z / (2 * n), z * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    scale = 1 + z * z / n
    low, high = max(0.0, (middle - width) / scale), min(1.0, (middle + width) / scale)
    return Estimate(name, p, (min(low, p), max(high, p)), "probability", population, selected)


def resampled(
    name: str,
    value: Value,
    redraws: Iterable[Value],
    unit: str,
    population: str,
    *,
    scale: float = 1.0,
    selected: str = "",
) -> Estimate:
    """An estimate with the percentile interval of its bootstrap redraws; undefined ones are left out if few."""
    drawn = list(redraws)
    known = np.array([v for v in drawn if not isinstance(v, Undefined)], np.float64)
    if isinstance(value, Undefined):
        return Estimate(name, value, value, unit, population, selected)
    if len(known) < max(20, 0.9 * len(drawn)):
        why = Undefined("undefined in more than a tenth of the redraws")
        return Estimate(name, scale * value, why, unit, population, selected)
    low, high = np.percentile(scale * known, [50 - 50 * LEVEL, 50 + 50 * LEVEL])
    return Estimate(name, scale * float(value), (float(low), float(high)), unit, population, selected)


def check(estimates: Sequence[Estimate]) -> None:
    """Raises `BadEstimate` for a report without estimates, or with two of one name."""
    names = [one.name for one in estimates]
    if not names:
        raise BadEstimate("a report says at least one estimate, with its interval, unit and population")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadEstimate(f"two estimates are called {', '.join(twice)}")


def _plain(value: Value) -> Any:
    return {"undefined": value.reason} if isinstance(value, Undefined) else float(value)
