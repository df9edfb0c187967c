"""One printed line a figure: name, value, unit, target, `ok` or `short`."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

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


def keep(name: str, figures: list[Figure], notes: str = "", **more: list[str]) -> Path:
    """Write the figures of one run to `benchmarks/results/<name>.json`, with `more` lists of lines beside them."""
    RESULTS.mkdir(exist_ok=True)
    record = {
        "benchmark": name,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "notes": notes,
        "figures": [asdict(f) for f in figures],
        **more,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path


def kept(name: str) -> list[Figure]:
    """The figures of the last run that was kept; none before the first."""
    path = RESULTS / f"{name}.json"
    return [Figure(**values) for values in json.loads(path.read_text())["figures"]] if path.exists() else []
