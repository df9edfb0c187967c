"""What is kept of a benchmark's runs."""

import json
from pathlib import Path

import pytest

from benchmarks import figures
from benchmarks.figures import Figure, keep


def test_a_run_of_some_parts_leaves_the_other_figures_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a whole run drops what it did not measure."""
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    keep("workers", [_figure("claims", 1.0), _figure("throughput", 1.0)])
    keep("workers", [_figure("throughput", 2.0)], partly=True)
    assert _values(tmp_path) == {"claims": 1.0, "throughput": 2.0}
    keep("workers", [_figure("throughput", 3.0)])
    assert _values(tmp_path) == {"throughput": 3.0}


def _figure(name: str, value: float) -> Figure:
    return Figure(name, value, "s", "", None)


def _values(folder: Path) -> dict[str, float]:
    record = json.loads((folder / "workers.json").read_text())
    assert all(one["measured"] for one in record["figures"])
    return {one["name"]: one["value"] for one in record["figures"]}
