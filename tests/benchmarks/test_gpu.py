"""`make gpu`: on the processor every part runs; without a GPU, or without a package, it says so."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from benchmarks.gpu import carried
from benchmarks.gpu.carried import Missing, unpack, wheel_of

ROOT = Path(__file__).parents[2]


def measure(*words: str) -> subprocess.CompletedProcess[str]:
    """`make gpu` on a machine whose GPUs, if there are any, nobody sees."""
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "benchmarks.gpu", *words]
    return subprocess.run(command, cwd=ROOT, env=hidden, capture_output=True, text=True)


@pytest.mark.training
@pytest.mark.slow("trains three baselines for a task or two each, and starts two runners")
def test_every_part_runs_on_the_processor(tmp_path: Path) -> None:
    done = measure("--device", "cpu", "--tiny", "--results", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads((tmp_path / "gpu.json").read_text())
    found = {one["name"]: one for one in record["figures"]}
    for name in (
        "tasks to the device, bytes of pixels",
        "tasks from a pool on the device, bytes of pixels",
        "fo maml",
        "prototypical networks, pool on the device",
        "prototypical networks, read ahead",
        "prototypical networks, bfloat16",
        "prototypical networks at its quickest, ratio to the manner of 2022",
        "prototypical networks in the manner of 2022",
        "tasks to the device, ratio to files that are decoded and copied",
    ):
        assert found[name]["value"] > 0
    plain, ahead = (f"prototypical networks, {way}, accuracy" for way in ("pool on the device", "read ahead"))
    assert found[plain]["value"] == found[ahead]["value"]
    for name in (
        "images that arrive changed",
        "the same with deterministic algorithms",
        "too much memory of the device is told as such",
        "the submission after it runs",
    ):
        assert found[name]["met"] is True
    assert (
        record["left_out"] == []
        and record["not_tried"] == ["leases", "sandbox"]
        and "in place of a GPU" in record["notes"]
    )


@pytest.mark.training
@pytest.mark.slow("begins a benchmark in a process of its own")
def test_what_does_not_begin_in_time_is_named_and_fails(tmp_path: Path) -> None:
    done = measure("--device", "cpu", "--tiny", "--seconds", "0", "--results", str(tmp_path))
    assert done.returncode == 1 and "Left out, because the time was over: leases" in done.stdout


@pytest.mark.slow("begins a benchmark in a process of its own")
def test_without_a_gpu_it_says_so_and_measures_nothing() -> None:
    done = measure()
    assert done.returncode == 3, done.stderr
    assert "There is no GPU here" in done.stdout and "GPU_PYTHON=" in done.stdout


def test_what_is_missing_comes_from_the_folder_brought_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(carried.NEEDED, "not_here_at_all", "not-here-at-all")
    assert carried.missing() == ["not_here_at_all"]
    assert "docker" not in carried.missing()
    monkeypatch.delitem(sys.modules, "docker", raising=False)
    monkeypatch.setattr(
        sys, "path", [str(ROOT)]
    )  # without the package, the project's own folder has its name
    assert "docker" in carried.missing()
    monkeypatch.undo()
    monkeypatch.setitem(carried.NEEDED, "not_here_at_all", "not-here-at-all")
    (site := tmp_path / "site").mkdir()
    with pytest.raises(Missing, match=r"lacks not-here-at-all.*python -m benchmarks\.gpu\.carried"):
        unpack(carried.missing(), tmp_path, site)
    other = tmp_path / "not_here_at_all-2.0-cp39-cp39-manylinux_2_28_x86_64.whl"
    other.touch()
    assert wheel_of("not-here-at-all", tmp_path) is None, "a wheel of another Python is none"
    with zipfile.ZipFile(tmp_path / "not_here_at_all-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("not_here_at_all.py", "pass\n")
    unpack(carried.missing(), tmp_path, site)
    assert (site / "not_here_at_all.py").is_file()
