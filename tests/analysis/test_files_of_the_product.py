"""Every analysis of results takes the files that dry runs write, and shows whose they are."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse
from anyshot_core.command import AS_PROCESS
from anyshot_core.results import BadResultsFile, Identity, find_runs, write_results
from tests.core.conftest import HONEST
from tests.core.tinydata import write_dataset
from tests.scoring.drawn import draw_table

pytestmark = pytest.mark.seconds("four dry runs as commands")

COMMANDS = (("flips", "--replicates", "1000"), ("difficulty",), ("plan",))
OTHERS = ("third", "fourth", "fifth")


@pytest.fixture(scope="module")
def dry_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dry runs of five submissions, two seeds each, in folders of one name for all.

    `bright` and `guess` were run; the files of three others are those of `bright` under other names, a little worse.
    """
    folder = tmp_path_factory.mktemp("dry")
    for number in range(4):
        write_dataset(folder / "data" / f"SET_{number}", classes=3, images=8, seed=number)
    (folder / "data" / "info").mkdir()
    splits = {"meta-train": ["SET_0"], "meta-test": ["SET_1", "SET_2", "SET_3"]}
    (folder / "data" / "info" / "meta_splits.txt").write_text(json.dumps(splits))
    guess = HONEST.replace("return -(query_set.mean((1, 2, 3))", "return (query_set.std((1, 2, 3))")
    assert guess != HONEST
    for name, code in (("bright", HONEST), ("guess", guess)):
        (folder / name).mkdir()
        (folder / name / "model.py").write_text(code)
        for seed in (1, 2):
            dry_run(folder, name, seed)
    for seed in (1, 2):
        for place, name in enumerate(OTHERS, 1):
            copy_as(folder / "out" / f"bright-{seed}", folder / "out" / f"{name}-{seed}", name, 0.01 * place)
    return folder


def copy_as(source: Path, target: Path, name: str, worse: float) -> None:
    """What a dry run of another submission would have left, with scores lower by `worse`."""
    shutil.copytree(source, target)
    ((run,),) = find_runs([source / "results.parquet"]).values()
    columns = run.table.columns()
    table = type(run.table).from_columns(
        columns | {"normalized_accuracy": columns["normalized_accuracy"] - worse}
    )
    identity = run.identity.model_copy(update={"who": name, "code": name.ljust(64, "0")})
    write_results(target / "results.parquet", table, identity)


def dry_run(folder: Path, name: str, seed: int) -> None:
    words = ["--data", "data", "--tasks", "6", "--ways", "2", "--shots", "1", "--query", "4"]
    words += ["--seed", str(seed), "-o", f"out/{name}-{seed}", "--json"]
    environment = {"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(folder / "cache"), "LANG": "C.UTF-8"}
    command = [*AS_PROCESS, "dry-run", name, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr


def page_of(command: tuple[str, ...], files: list[Path], out: Path) -> str:
    name, *options = command
    done = CliRunner().invoke(analyse, [name, *map(str, files), *options, "--out", str(out)])
    assert done.exit_code == 0, done.output
    return (out / "page.html").read_text()


@pytest.mark.rotating
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_dry_runs_straight_from_their_folders(
    command: tuple[str, ...], dry_runs: Path, tmp_path: Path
) -> None:
    """Two seeds of five submissions; the two that a comparison takes."""
    files = sorted((dry_runs / "out").iterdir())
    assert len(files) == 10
    page = page_of(command, files, tmp_path / "report")
    shown = ("bright", "third") if command[0] == "plan" else ("bright", "guess", *OTHERS)
    assert all(name in page for name in shown)
    if command[0] == "difficulty":
        pair = [path for path in files if path.name.startswith(("bright", "guess"))]
        assert "by 6 tasks" in page_of(("compare",), pair, tmp_path / "pair")


@pytest.mark.slow("a dry run in a process of its own")
def test_a_dry_run_says_all_that_it_was(dry_runs: Path) -> None:
    found = find_runs(sorted((dry_runs / "out").rglob("results.parquet")))
    assert {name: [run.identity.run_key for run in runs] for name, runs in found.items()} == {
        name: ["1/93", "2/93"] for name in ("bright", "fifth", "fourth", "guess", "third")
    }
    identity = found["bright"][0].identity
    assert (identity.maker, identity.tasks, len(identity.code)) == ("dry run", 6, 64)
    assert identity.protocol["ways"] == [2, 2]
    assert (len(identity.train_pool), len(identity.test_pool)) == (1, 3)
    assert "torch" in identity.versions
    assert identity.code != found["guess"][0].identity.code


def test_two_codes_of_one_name_are_two_submissions(tmp_path: Path) -> None:
    for number, code in enumerate(("a" * 64, "b" * 64)):
        write_results(tmp_path / f"{number}.parquet", draw_table(number, 9), Identity(who="mine", code=code))
    assert list(find_runs(sorted(tmp_path.glob("*")))) == ["mine (aaaaaaaa)", "mine (bbbbbbbb)"]


def test_what_a_file_does_not_say_of_its_run_is_read_from_its_place(tmp_path: Path) -> None:
    for place, meta in {
        "a/results.parquet": {"who": "proto", "train_seed": 7, "test_seed": 93, "tasks": 9},
        "ours/run-1/results.parquet": {"run": "", "protocol_digest": "d1"},
        "ours/run-0/results.parquet": {"protocol_digest": "d1"},
        "maml.parquet": {"train_seed": 3, "seconds": 2.5},
        "theirs.parquet": {},
    }.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        write_results(tmp_path / place, draw_table(len(place), 9), meta)
    found = find_runs(sorted(tmp_path.rglob("*.parquet")))
    assert {name: [run.identity.run_key for run in runs] for name, runs in found.items()} == {
        "proto": ["7/93"],
        "ours": ["0", "1"],
        "maml": ["3"],
        "theirs": [""],
    }
    assert found["ours"][0].identity.protocol_digest == "d1"


def test_parts_of_a_run_are_put_together_and_a_run_given_twice_counts_once(tmp_path: Path) -> None:
    table = draw_table(0, 12)
    for part, rows in enumerate((slice(0, 5), slice(5, 12))):
        columns = {name: column[rows] for name, column in table.columns().items()}
        identity = Identity(who="mine", run="1", part=str(part))
        write_results(tmp_path / f"{part}.parquet", type(table).from_columns(columns), identity)
    shutil.copy(tmp_path / "1.parquet", tmp_path / "copy.parquet")
    (run,) = find_runs(sorted(tmp_path.glob("*")))["mine"]
    assert sorted(run.table.task.tolist()) == list(range(12))
    assert len(run.sources) == 3


def test_a_run_that_is_told_in_two_ways_is_refused(tmp_path: Path) -> None:
    for number in (1, 2):
        write_results(tmp_path / f"{number}.parquet", draw_table(number, 9), Identity(who="mine", run="1"))
    with pytest.raises(BadResultsFile, match="both say that they are run 1 of mine, and differ"):
        find_runs(sorted(tmp_path.glob("*")))
