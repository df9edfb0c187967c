"""The notebook of `anyshot init --notebook` runs from its first cell to its last; the job script of the guide runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_core.command import main
from anyshot_core.demo_data import DATASETS, make_demo_data

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "starting_kit/anyshot_starting_kit/templates/tutorial.ipynb"
pytestmark = [
    pytest.mark.training,
    pytest.mark.slow("runs every cell, and a dry run in a process of its own"),
]
NAMES = tuple(dataset.name for dataset in DATASETS if dataset.variant < 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat  # here: reading its schemas takes every process of the run five seconds
    from nbclient import NotebookClient

    data = make_demo_data(tmp_path / "data", classes=6, images=32, datasets=NAMES)
    made = CliRunner().invoke(main, ["init", "--notebook", str(tmp_path / "bob's method")])
    assert made.exit_code == 0 and "bob's method.ipynb" in made.output
    monkeypatch.setenv("ANYSHOT_DATA", str(data))
    monkeypatch.setenv("ANYSHOT_TUTORIAL_QUICK", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    notebook = nbformat.read(tmp_path / "bob's method.ipynb", as_version=4)
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
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)


def test_a_notebook_that_is_there_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "mine.ipynb"
    kept.write_text("my work")
    said = CliRunner().invoke(main, ["init", "--notebook", str(tmp_path / "mine")])
    assert said.exit_code == 2 and "mine.ipynb exists" in said.output
    assert kept.read_text() == "my work" and not (tmp_path / "mine").exists()


def test_the_job_script_of_the_guide_runs_without_slurm(tmp_path: Path) -> None:
    """In a home of its own, where the guide says that the environment and the data lie."""
    guide = (ROOT / "docs/participants/machines.md").read_text()
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n.*?)```", guide, re.DOTALL)
    (tmp_path / "job.sh").write_text(script)
    make_demo_data(tmp_path / "meta_album", classes=6, images=32, datasets=NAMES)
    (programs := tmp_path / "anyshot-env/bin").mkdir(parents=True)
    (programs / "activate").write_text(f"export PATH={Path(sys.executable).parent}:$PATH\n")
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("ANYSHOT", "SLURM"))
    }
    done = subprocess.run(
        ["bash", "job.sh", str(ROOT / "baselines/random"), "--quick", "--tasks", "2"],
        cwd=tmp_path, env=variables | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results-local/report.html").is_file()
