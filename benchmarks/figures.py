"""One printed line a figure: name, value, unit, target, `ok` or `short`."""

import json
import platform
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """One measured value and what it should reach; `met` is None where there is no target."""

    name: str
    value: float
    unit: str
    target: str
    met: bool | None

    def line(self) -> str:
        """The printed form, tab-separated."""
        verdict = {True: "ok", False: "short", None: "-"}[self.met]
        return f"{self.name}\t{self.value:.4g}\t{self.unit}\t{self.target}\t{verdict}"


def figure(name: str, value: float, unit: str, target: str = "", ok: bool | None = None) -> Figure:
    """Print one figure at once and return it, for `keep`."""
    made = Figure(name, float(value), unit, target, ok)
    print(made.line(), flush=True)
    return made


def keep(
    name: str, figures: list[Figure], notes: str = "", *, partly: bool = False, **more: list[str]
) -> Path:
    """Write the figures of one run to `benchmarks/results/<name>.json`, with `more` lists of lines beside them.

    With `partly`, a run of some parts alone, figures and lists that it did not measure stay as they were.
    """
    RESULTS.mkdir(exist_ok=True)
    before = _read(name) if partly else {}
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    earlier = {one["name"]: {"measured": before.get("measured"), **one} for one in before.pop("figures", [])}
    fresh = {one.name: {**asdict(one), "measured": moment} for one in figures}
    record = before | {
        "benchmark": name,
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "notes": notes,
        "figures": list((earlier | fresh).values()),
        **more,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def _read(name: str) -> dict[str, Any]:
    """The record of the last run that was kept; empty before the first."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}
