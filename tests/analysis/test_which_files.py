"""An analysis takes each file that it is given or says which it does not, and leaves its own reports alone."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from anyshot_analysis.cli import analyse
from anyshot_core.results import write_results
from tests.analysis.test_jobs import write_snapshots
from tests.analysis.test_predictions_of_runs import write_runs
from tests.scoring.drawn import draw_table


def write_layers(path: Path) -> None:
    rng = np.random.default_rng(len(str(path)))
    images = {"image_dataset": np.repeat([0, 1, 2], 8), "image_class": np.tile([0, 1], 12)}
    np.savez(path, features=rng.normal(size=(24, 5)), **images)


def submission(name: str, runs: int, write: Callable[[Path], None], file: str) -> None:
    """A submission's files as `anyshot results -o` lays them out."""
    for run in range(runs):
        (folder := Path(name, f"run-{run}")).mkdir(parents=True)
        write(folder / file)


def call(*words: str) -> Result:
    return CliRunner().invoke(analyse, list(words), catch_exceptions=False)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_layers_of_two_runs_of_one_submission_are_not_taken_for_two_submissions() -> None:
    """It compared the first submission with itself, and never read the second."""
    for name in ("A", "B"):
        submission(name, 2, write_layers, "layers.npz")
    refused = call("representations", "A", "B")
    assert refused.exit_code == 1 and not Path("report").exists()
    files = ", ".join(f"{name}/run-{run}/layers.npz" for name in "AB" for run in range(2))
    assert f"2 of them, found {files}. Name the 2 that you mean" in refused.output, refused.output
    done = call("representations", "A/run-0", "B/run-0")
    assert done.exit_code == 0, done.output
    read = json.loads(Path("report/result.json").read_text())["manifest"]["inputs"]["arrays"]
    assert len(read) == 2


@pytest.mark.parametrize(
    ("analysis", "write", "file", "words"),
    [
        ("snapshots", write_snapshots, "snapshots.npz", ()),
        ("selection", write_snapshots, "snapshots.npz", ("--replicates", "200")),
        ("feature-diversity", write_layers, "layers.npz", ("--permutations", "100")),
    ],
)
def test_an_analysis_of_one_run_asks_which_one(
    analysis: str, write: Callable[[Path], None], file: str, words: tuple[str, ...]
) -> None:
    """It reported on run 0 alone, and its manifest named the files of all runs."""
    submission("A", 3, write, file)
    refused = call(analysis, "A", *words)
    assert refused.exit_code == 1 and not Path("report").exists()
    files = ", ".join(f"A/run-{run}/{file}" for run in range(3))
    assert f"1 of them, found {files}. Name the one that you mean" in refused.output, refused.output
    assert call(analysis, "A/run-2", *words).exit_code == 0


def test_of_very_many_files_the_first_are_named() -> None:
    submission("A", 14, write_snapshots, "snapshots.npz")
    told = call("snapshots", "A").output
    assert "A/run-7/snapshots.npz and 2 more. Name the one that you mean" in told, told


def test_the_same_command_twice_does_not_read_its_own_report() -> None:
    """The second one failed: 'The file holds something unmarked', and nobody could tell which file."""
    Path("runs").mkdir()
    write_runs(Path("runs"))
    pages = []
    for _ in range(2):
        done = call("compare", ".")
        assert done.exit_code == 0, done.output
        pages.append(Path("report/page.html").read_bytes())
    assert pages[0] == pages[1] and Path("report/table.parquet").exists()
    assert call("flips", ".", "--replicates", "1000", "--out", "other").exit_code == 0


def test_a_table_of_an_archive_in_a_folder_is_read() -> None:
    """It is marked no more than a report's."""
    parts = []
    for place, name in enumerate(("Ada", "Ben")):
        columns = draw_table(1, 30).columns()
        columns["normalized_accuracy"] = columns["normalized_accuracy"] - 0.01 * place
        site = {"team": name, "submission": name, "run": f"r{place}", "phase": "final"}
        numbers = {"version": 1, "generation": 1, "seed_index": 0}
        parts.append(pa.table(columns | {key: [value] * 30 for key, value in (site | numbers).items()}))
    Path("archive").mkdir()
    pq.write_table(pa.concat_tables(parts), "archive/results.parquet")
    done = call("compare", "archive")
    assert done.exit_code == 0 and "Ada" in done.output and "Ben" in done.output, done.output


@pytest.mark.parametrize("given", ["others/table.parquet", "others"])
def test_a_file_that_is_of_no_run_is_named(given: str) -> None:
    """Named by itself it is refused by its name; so is one in a folder that is damaged."""
    Path("others").mkdir()
    pq.write_table(pa.table({"a": [1]}), "others/table.parquet")
    write_results(Path("good.parquet"), draw_table(1, 9), {"who": "good"})
    if given == "others":
        Path("others/results.parquet").write_bytes(b"not Parquet")
    refused = call("compare", "good.parquet", given)
    named = "others/table.parquet: The file holds something unmarked"
    if given == "others":
        named = "others/results.parquet: The file is not readable as Parquet"
    assert refused.exit_code == 1 and named in refused.output, refused.output


def test_predictions_that_are_damaged_are_named() -> None:
    results, predictions = write_runs(Path())
    table = pq.read_table(predictions[0])
    pq.write_table(table.drop_columns(["labels"]), predictions[0])
    refused = call("flips", *map(str, [*results, *predictions]), "--replicates", "1000")
    assert refused.exit_code == 1 and f"{predictions[0]}: The file lacks the columns labels" in refused.output
