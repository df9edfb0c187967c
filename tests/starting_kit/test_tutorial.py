"""The tutorial notebook runs from its first cell to its last."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from anyshot_core.demo_data import DATASETS, make_demo_data

NOTEBOOK = Path(__file__).parents[2] / "starting_kit" / "tutorial.ipynb"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(dataset.name for dataset in DATASETS if dataset.variant < 2)
    data = make_demo_data(tmp_path / "data", classes=6, images=32, datasets=names)
    monkeypatch.setenv("ANYSHOT_DATA", str(data))
    monkeypatch.setenv("ANYSHOT_TUTORIAL_QUICK", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    printed = "\n".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert "Normalized accuracy" in printed
    assert any(re.fullmatch(r"OK -?[0-9.]+", line) for line in printed.splitlines())
    pictures = [
        o for cell in notebook.cells for o in cell.get("outputs", []) if "image/png" in o.get("data", {})
    ]
    assert len(pictures) == 1


def test_tutorial_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)
