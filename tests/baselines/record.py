"""Measures baselines and writes their expected.toml: `python -m tests.baselines.record [NAME]...`."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from tests.baselines.trial import FOLDER, NAMES, TASKS, try_baseline
from tests.services.material import TEST, TRAIN

_TEXT = """# With quick.json, on the generated packs of the test suite: {tasks} tasks of 2 to 8 ways and 1 to 8 shots.
seed = {seed}
score = [{low}, {high}]  # normalized accuracy; measured {measured:.3f}
seconds = {seconds}  # of the participant's time on one busy core; measured {took:.0f}
memory_mib = {memory}  # resident; measured {resident}
"""
MARGIN = 0.12  # other versions of torch and other CPUs round otherwise


def record(name: str, folder: Path) -> None:
    """Run one baseline and write what came of it, with room."""
    packs = {n: folder / "packs" / f"{n}.anyshot-pack" for n in TRAIN + TEST}
    with tempfile.TemporaryDirectory() as place:
        run = try_baseline(name, packs, Path(place))
    if run.summary is None:
        raise SystemExit(f"{name}: {run.outcome.failure}")
    took, score = run.outcome.time.participant_seconds, run.summary.mean
    resident = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    text = _TEXT.format(
        tasks=TASKS,
        seed=93,
        low=round(score - MARGIN, 2),
        high=round(score + MARGIN, 2),
        measured=score,
        seconds=max(20, int(took * 4)),
        took=took,
        memory=int(resident * 1.5),
        resident=resident,
    )
    (FOLDER / name / "expected.toml").write_text(text)
    print(name, f"{score:.3f}", f"{took:.1f} s", f"{resident} MiB", flush=True)


def main() -> None:
    """Make the packs, and measure each baseline in a process of its own, so that its memory is its own."""
    if sys.argv[1:2] == ["--one"]:
        return record(sys.argv[2], Path(sys.argv[3]))
    with tempfile.TemporaryDirectory() as folder:
        data = make_demo_data(Path(folder) / "data", classes=8, images=30, datasets=TRAIN + TEST)
        for name in TRAIN + TEST:
            pack_dataset(data / name, Path(folder) / "packs")
        for name in sys.argv[1:] or NAMES:
            subprocess.run(
                [sys.executable, "-m", "tests.baselines.record", "--one", name, folder], check=False
            )
    return None


if __name__ == "__main__":
    main()
