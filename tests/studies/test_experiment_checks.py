"""What an experiment refuses or leaves out before its first run, and the names of bundles."""

import io
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from rich.console import Console

from anyshot_core.baselines import (
    BadBaselineConfig,
    NoBaseline,
    find_baselines,
    merged_config,
    overlay,
)
from anyshot_core.protocols import ClassSide, Range, Roles
from anyshot_core.taskserver.job import ServerProgress
from anyshot_core.wire.worker_api import Stage
from anyshot_starting_kit.dryrun.publicdata import PublicData
from anyshot_studies.experiment import command
from anyshot_studies.experiment.arms import make_arms
from anyshot_studies.experiment.checks import BadExperiment, check
from anyshot_studies.experiment.command import experiment
from anyshot_studies.experiment.plan import Experiment
from tests.baselines.trial import FOLDER
from tests.services.material import TEST, TRAIN

TWO, ONE = Range(2, 2), Range(1, 1)


def own(folder: Path, name: str, config: str = '{"method": {}}', model: str = "Settings.read") -> Path:
    """A bundle of somebody's own that is never run."""
    (folder / name).mkdir(parents=True)
    (folder / name / "config.json").write_text(config)
    (folder / name / "model.py").write_text(f"# {model}")
    return folder / name


@pytest.fixture
def make_plan(demo_packs: dict[str, Path], tmp_path: Path) -> Callable[..., Experiment]:
    """An experiment with bundles by name or path on the demo packs."""
    train = (demo_packs[TRAIN[0]],) * 4  # baselines hold out three of them
    data = PublicData(train, tuple(demo_packs[name] for name in TEST), generated=True)

    def make(*names: object, **others: Any) -> Experiment:
        found = tuple(find_baselines(tuple(map(str, names)), FOLDER))
        return Experiment(found, data, tmp_path / "out", (1,), 4, **{"query": 5, **others})

    return make


@pytest.mark.seconds("trains and tests small networks")
def test_overlays_that_are_not_there(make_plan: Callable[..., Experiment], tmp_path: Path) -> None:
    """A name that no bundle has is an error that lists those that exist; bundles without it are named."""
    with pytest.raises(
        BadExperiment,
        match=r"has qiuck\.json; there are lessons, paper, pretrained, quick, two-sides, within",
    ):
        check(make_plan("fo_maml", "random", settings="qiuck"))
    notes = check(make_plan("fo_maml", own(tmp_path, "mine"), settings="quick"))
    assert notes == ("With config.json alone, as they have no quick.json: mine.",)


def test_options_that_change_nothing_are_said(make_plan: Callable[..., Experiment], tmp_path: Path) -> None:
    """Arms run where they mean something; a key that no bundle takes is an error."""
    weights, changes = tmp_path / "weights.pt", {"iterations": 5}
    torch.save({"a": torch.zeros(1)}, weights)
    (tmp_path / "old.zip").write_bytes(b"")
    plan = make_plan(
        "random", "fo_maml", "metadelta", tmp_path / "old.zip", arms=make_arms(changes, weights, True)
    )
    assert [run.name for run in plan.runs()] == [
        *("random", "fo_maml", "metadelta", "old", "fo_maml (pretrained)", "metadelta (pretrained)"),
        "fo_maml (FIX-ML)",
    ]
    assert check(plan) == (
        "Without settings, so that --set changes nothing: random.",
        "Zips are run as they are, without --settings and --set: old.",
        "Not run as pretrained: random (it has no settings), old (a zip is run as it is).",
        "Not run as FIX-ML: random (it has no settings), metadelta (it does not train on tasks), old (a zip is run as"
        " it is).",
    )
    with pytest.raises(
        BadExperiment, match="--set iteration: no chosen bundle takes it; known are backbone, "
    ):
        check(make_plan("fo_maml", arms=make_arms({"iteration": 5}, None, False)))
    with pytest.raises(BadExperiment, match=r"--set iterations: .* known are none"):
        check(make_plan("random", arms=make_arms(changes, None, False)))


def test_mistakes_are_found_before_the_first_run(
    make_plan: Callable[..., Experiment], tmp_path: Path
) -> None:
    """Settings, weights, config.json, ways, shots, the output folder."""
    with pytest.raises(
        BadExperiment, match=r"fo_maml: config\.json: method\.iterations is 1\.5; expected a int"
    ):
        check(make_plan("fo_maml", arms=make_arms({"iterations": 1.5}, None, False)))
    weights = tmp_path / "weights.pt"
    weights.write_text("no weights")
    with pytest.raises(BadExperiment, match=r"--weights: weights\.pt is no state dict"):
        check(make_plan("fo_maml", arms=make_arms({}, weights, False)))
    with pytest.raises(BadBaselineConfig, match=r"broken/config\.json: not JSON"):
        check(make_plan(own(tmp_path, "broken", "{"), arms=make_arms({}, None, True)))
    with pytest.raises(BadBaselineConfig, match=r"list/config\.json: expected an object"):
        check(make_plan(own(tmp_path, "list", "[]"), arms=make_arms({}, None, True)))
    for ways in (Range(1, 5), Range(30, 30)):
        with pytest.raises(BadExperiment, match=r"two classes or more|--ways 30: .* more than 8 classes"):
            check(make_plan("random", ways=ways))
    with pytest.raises(BadExperiment, match=r"--shots 26: no test dataset has more than 30 images in each"):
        check(make_plan("random", shots=Range(26, 500)))
    (tmp_path / "out").write_text("a file")
    with pytest.raises(BadExperiment, match="the results cannot be written there"):
        check(make_plan("random"))


def test_names_that_are_not_there(tmp_path: Path) -> None:
    """A folder without model.py, a path, a plain name without a folder of bundles: each says what is missing."""
    with pytest.raises(NoBaseline, match=r"there is no model\.py in this folder"):
        find_baselines((str(tmp_path),), FOLDER)
    with pytest.raises(NoBaseline, match="there is no such file or folder"):
        find_baselines((str(tmp_path / "absent.zip"),), FOLDER)
    with pytest.raises(NoBaseline, match="There are no baselines in that folder"):
        find_baselines(("random",), None)
    mine = own(tmp_path, "mine")
    assert find_baselines((str(mine),), None)[0].name == "mine"


def test_methods_keep_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the whole name of their folder; what tables could not tell apart is refused."""
    for name in ("mine.v1", "mine.v2", "a/proto", "b/proto"):
        shutil.copytree(FOLDER / "random", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert [b.name for b in find_baselines(("./mine.v1", "./mine.v2"), FOLDER)] == ["mine.v1", "mine.v2"]
    (tmp_path / "old.entry.zip").write_bytes(b"")
    assert find_baselines(("old.entry.zip",), FOLDER)[0].name == "old.entry"
    with pytest.raises(NoBaseline, match=r"a/proto and .*b/proto are both called proto"):
        find_baselines(("a/proto", "b/proto"), FOLDER)
    with pytest.raises(NoBaseline, match="fo_maml is named twice"):
        find_baselines(("fo-maml", "fo_maml"), FOLDER)
    monkeypatch.chdir(tmp_path / "a" / "proto")
    assert find_baselines((".",), FOLDER)[0].name == "proto"


def test_baselines_are_found_by_name() -> None:
    """With hyphens as competition bundles write them; an unknown one lists those that there are."""
    assert find_baselines(("fo-maml",), FOLDER)[0].source == FOLDER / "fo_maml"
    assert len(find_baselines((), FOLDER)) == 18
    with pytest.raises(NoBaseline, match="there are baseline_cv"):
        find_baselines(("absent",), FOLDER)


def test_overlays_merge() -> None:
    """Objects key by key; a bundle without settings gets none."""
    assert overlay({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}, "d": 4}) == {"a": {"b": 1, "c": 3}, "d": 4}
    paper = merged_config(FOLDER / "prototypical_networks", "paper")
    assert paper["train_config"] == {"N": 5, "k": 10, "query_images_per_class": 20}
    assert paper["method"]["backbone"] == "resnet18" and paper["method"]["iterations"] == 30_000
    assert "method" not in merged_config(FOLDER / "random", "", {"method": {"iterations": 1}})


def test_bundles_ship_with_the_package_or_lie_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever one stands; a name that is none says which there are."""
    monkeypatch.chdir(tmp_path)
    words = ["unknown", "-o", str(tmp_path / "out")]
    assert "prototypical_networks" in " ".join(
        CliRunner().invoke(experiment, ["baselines", *words]).output.split()
    )
    own(tmp_path / "own", "mine")
    there = ["baselines", *words, "--folder", str(tmp_path / "own")]
    assert "there are mine" in " ".join(CliRunner().invoke(experiment, there).output.split())


def test_a_long_run_tells_how_far_it_is(
    make_plan: Callable[..., Experiment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line when a stage begins, and every thirty seconds."""
    now, console = [0.0], Console(record=True, file=io.StringIO(), width=100)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    hooks = command._announce(console)(1, 1, make_plan("random").runs()[0])
    for at in (0.0, 10.0, 29.0, 31.0):
        now[0] = at
        hooks.on_progress(ServerProgress(Stage.META_TESTING, int(at), 100, at))
    assert console.export_text().splitlines() == [
        "[1/1] random, seed 1",
        "    meta_testing, 0 s used",
        "    meta_testing, 31 of 100 tasks, 31 s used",
    ]


@pytest.mark.parametrize("ways", ["²", "2-²"])
def test_ways_are_whole_numbers(ways: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(experiment, ["baselines", "random", "--ways", ways, "-o", str(tmp_path)])
    assert found.exit_code == 2 and "neither a number nor a range" in found.output


def test_datasets_that_cannot_be_held_out_are_said_before_the_first_run(
    make_plan: Callable[..., Experiment], tmp_path: Path
) -> None:
    """Each run of the bundle would fail by it; a validation protocol asks for no dataset."""
    bundle = own(tmp_path, "mine", '{"validation_datasets": 9}')
    with pytest.raises(BadExperiment, match=r"mine: .*validation_datasets is 9; .* --validation-protocol"):
        check(make_plan(bundle))
    sides = {role: ClassSide(TWO, ONE, 2, side=role, images="all") for role in ("novel", "valid")}
    roles = Roles(sides["novel"], ClassSide(TWO, ONE, 2), sides["valid"])
    check(make_plan(bundle, roles=roles))
