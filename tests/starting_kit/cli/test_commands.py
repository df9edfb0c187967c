"""init, check, pack, and the group itself."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
from click.testing import CliRunner

from anyshot_core.bundle import check_bundle
from anyshot_core.command import AS_PROCESS, main
from anyshot_core.demo_data import GENERATED_TEST_DATASETS, make_demo_data
from anyshot_core.dry_run_words import reproduce_command
from anyshot_core.protocols import Roles, WithinDomain
from anyshot_starting_kit.cli import COMMANDS
from anyshot_starting_kit.dryrun.publicdata import read_split
from tests.core.bundle.archives import MODEL


def test_help_lists_commands_without_importing_torch() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom anyshot_core.command import main\n"
        "result = CliRunner().invoke(main, ['--help'])\nprint(result.output)\nassert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    for name in ("init", "check", "pack", "dry-run", "submit", "status", "log", "results", "cancel", "login"):
        assert f"  {name} " in done.stdout


def test_a_process_of_the_command_takes_no_module_from_the_folder_it_starts_in(tmp_path: Path) -> None:
    for name in ("json", "torch", "anyshot_core"):
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the folder')\n")
    done = subprocess.run([*AS_PROCESS, "check", "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "Usage: anyshot check" in done.stdout, done.stdout + done.stderr


def test_every_command_has_help_and_every_option_is_explained() -> None:
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None and command.help, name
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{name} {option.name}"


def test_init_makes_a_bundle_that_passes(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    result = CliRunner().invoke(main, ["init", str(folder)])
    assert result.exit_code == 0 and "dry-run" in result.output
    assert check_bundle(folder).ok
    assert {path.name for path in folder.iterdir()} == {
        "model.py",
        "network.py",
        "config.json",
        "metadata",
        "README.md",
    }
    steps = [line.split() for line in result.output.split("Next:\n")[1].splitlines()]
    assert [" ".join(step[1:3]) for step in steps] == [
        "data get",
        *[f"dry-run {folder}"] * 2,
        *[f"submit {folder}"] * 2,
    ]
    for step in steps:
        helped = CliRunner().invoke(main, [*(step[1:3] if step[1] == "data" else step[1:2]), "--help"])
        assert helped.exit_code == 0
        assert all(word in helped.output for word in step if word.startswith("--") and word != "--data,")
    assert CliRunner().invoke(main, ["init", str(folder)]).exit_code == 2  # never over somebody's files


def test_check_and_pack(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.py").write_bytes(MODEL)
    assert CliRunner().invoke(main, ["check", str(folder)]).exit_code == 0
    packed = CliRunner().invoke(main, ["pack", str(folder)])
    assert packed.exit_code == 0 and (tmp_path / "mine.zip").is_file()
    assert "mine.zip: 1 file, " in packed.output
    (folder / "model.py").write_text("class MyLearner: pass")
    result = CliRunner().invoke(main, ["check", str(folder), "--json"])
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert [check["name"] for check in report["checks"] if check["outcome"] == "failed"] == ["classes"]
    text = CliRunner().invoke(main, ["check", str(folder)]).output
    assert "FAILED" in text and "-> model.py must define or import both" in text


def test_a_check_compares_validation_datasets_with_those_of_a_phase(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_bytes(MODEL)
    (tmp_path / "config.json").write_text('{"validation_datasets": 1}')
    asked = ["check", str(tmp_path)]
    assert CliRunner().invoke(main, asked).exit_code == 0
    assert CliRunner().invoke(main, [*asked, "--train-datasets", "2"]).exit_code == 0
    refused = CliRunner().invoke(main, [*asked, "--train-datasets", "1"])
    assert refused.exit_code == 1
    assert (
        "validation_datasets is 1; allowed is 0 or null, because meta-training has one dataset"
        in refused.output
    )


def test_reproduce_command_is_a_dry_run_that_parses() -> None:
    words = reproduce_command(
        "my method.zip", train_seed=5, ways=7, shots=3, task_seconds=2.5, isolated_tasks=True
    )
    assert (
        words
        == "anyshot dry-run 'my method.zip' --ways 7 --shots 3 --seed 5 --tasks 5 --task-seconds 2.5 --isolated"
    )
    bare = reproduce_command("m.zip", data="data/x", roles=Roles(WithinDomain()), memory_bytes=3 << 29)
    assert bare == "anyshot dry-run m.zip --data data/x --protocol within_domain --docker --memory 1.5"


def test_a_dry_run_divides_the_budget_of_its_command_by_its_datasets() -> None:
    """Each learner was given the time of a part, divided once more."""
    words = reproduce_command("m.zip", roles=Roles(WithinDomain()), learner_seconds=300, datasets=4)
    assert words == "anyshot dry-run m.zip --protocol within_domain --each-dataset --budget 1200"


def test_generated_data_have_as_many_datasets_to_test_on_as_the_platform_counts(tmp_path: Path) -> None:
    make_demo_data(tmp_path, classes=2, images=2)
    assert len(read_split(tmp_path)[1]) == GENERATED_TEST_DATASETS


def test_the_help_groups_every_command() -> None:
    said = CliRunner().invoke(main, ["--help"]).output
    groups = re.findall(r"^(\w[\w ]+):\n((?:  .*\n)+)", said, re.M)
    names = [name for name, _ in groups if name != "Options"]
    assert names == [
        *("Write a submission", "Submit and follow", "Look at results", "Take part"),
        *("Data", "Analyse here", "Organize", "Operate"),
    ]
    listed = dict(groups)
    assert "  submit " in listed["Submit and follow"] and "  weights " in listed["Data"]
