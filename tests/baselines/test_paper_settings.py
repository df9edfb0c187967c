"""The baselines of the NeurIPS'22 competition's paper have its settings, across domains and within one."""

import json
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.baselines import find_baselines, merged_config, pack_baseline
from anyshot_core.bundle.config import read_config
from anyshot_starting_kit.training.schedules import make_schedule
from anyshot_starting_kit.training.settings import LoopSettings, declared_settings
from tests.baselines.trial import FOLDER

PUBLISHED = Path(__file__).parent / "published.toml"
COMMON = {"backbone": "resnet18", "width": 64, "stem_pool": 1}
LOOP = {"learning_rate": 0.001, "optimizer": "adam"}
CROSS = {"iterations": 30_000, "validate_every": 5_000, "validation_tasks": 300}
WITHIN = {"iterations": 4_290, "validate_every": 750, "validation_tasks": 100}
OF_WEIGHTS = {"backbone_rate": 0.0001, "frozen_statistics": True}  # of MetaDelta++, whose first layers stay
EPISODES = {
    "train_config": {"N": 5, "k": 10, "query_images_per_class": 20},
    "valid_config": {"N": 5, "k": 5, "query_images_per_class": 20},
}
AT_TEST = {"test_steps": 100, "test_batch": 4, "test_rate": 0.001, "zero_bias": True, "replacement": True}
METRIC = {"batch_statistics": True, "apart": True}
# The competition paper's section on baselines, and the starting kit that it used.
PAPER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "train_from_scratch": ({}, AT_TEST | {"batch_statistics": True}),
    "fine_tuning": (
        {"batch_size": 16, "valid_config": EPISODES["valid_config"]},
        LOOP | AT_TEST | {"last_statistics": True},
    ),
    "matching_networks": (EPISODES, LOOP | METRIC | {"summed": True}),
    "prototypical_networks": (EPISODES, LOOP | METRIC),
    "fo_maml": (
        EPISODES,
        LOOP | {"inner_rate": 0.01, "inner_steps": 5, "test_inner_steps": 5, "clip": 10.0, "meta_batch": 2},
    ),
    "metadelta": (
        {"batch_size": 64, "valid_config": {"N": 5, "k": 5, "query_images_per_class": 5}},
        LOOP
        | {"backbones": ["timm:resnet50.fb_swsl_ig1b_ft_in1k"], "image_size": 224, "exact_transport": True}
        | {"clip": 5.0, "validate_every": 50, "validation_tasks": 50},
    ),
}


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("settings", ["paper", "within"])
def test_the_baselines_of_the_paper_have_its_settings(name: str, settings: str) -> None:
    """Each of the six, whatever its own config.json says; within one domain nothing is held out."""
    config = merged_config(FOLDER / name, settings)
    keys, method = PAPER[name]
    assert {key: config[key] for key in keys} == keys
    wanted = method if name == "metadelta" else COMMON | method
    if name not in ("train_from_scratch", "metadelta"):
        wanted |= CROSS if settings == "paper" else WITHIN
    assert {key: config["method"][key] for key in wanted} == wanted
    held_out = 3 if settings == "paper" and name != "train_from_scratch" else 0
    assert config.get("validation_datasets", 0) == held_out
    if name == "metadelta":  # hours of five for both, minutes of two hours
        assert config["method"]["share_for_training"] == (0.7 if settings == "paper" else 0.25)
    read_config(json.dumps(config).encode())
    declared = declared_settings(FOLDER / name / "model.py")
    assert declared is not None
    declared.from_dict(config["method"])


def test_metadelta_from_pretrained_weights_trains_the_last_layers() -> None:
    """As the kit of 2022 does; all else is as with random weights."""
    paper, pretrained = (merged_config(FOLDER / "metadelta", name) for name in ("paper", "pretrained"))
    method = {"weights": "swsl_resnet50.pt", "trained_layers": ["layer3", "layer4"]} | OF_WEIGHTS
    assert pretrained == paper | {"method": paper["method"] | method}
    declared = declared_settings(FOLDER / "metadelta" / "model.py")
    assert declared is not None
    declared.from_dict(pretrained["method"])


def test_settings_that_were_not_chosen_stay_out_of_the_zip(tmp_path: Path) -> None:
    """So that a new overlay changes no zip, and no run that was kept is repeated."""
    for settings in ("", "paper"):
        pack_baseline(find_baselines(("metadelta",), FOLDER)[0], tmp_path / "one.zip", settings)
        names = set(zipfile.ZipFile(tmp_path / "one.zip").namelist())
        overlays = {f"{name}.json" for name in published()}
        assert "config.json" in names and not names & {*overlays, "expected.toml"}


def published() -> dict[str, dict[str, dict[str, Any]]]:
    """The papers' values, by settings file and baseline."""
    found = tomllib.loads(PUBLISHED.read_text())
    return {settings: rows for settings, rows in found.items() if settings != "gates"}


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the objects with their dots."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        parts = {f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
        flat.update(parts)
    return flat


@pytest.mark.parametrize(
    ("settings", "name"), [(settings, name) for settings, rows in published().items() for name in rows]
)
def test_settings_are_those_that_were_published(settings: str, name: str) -> None:
    """Value by value, each with its source; and the method takes them."""
    file = json.loads((FOLDER / name / f"{settings}.json").read_text())
    sources = file.pop("sources")
    assert flatten(file) == published()[settings][name]
    assert sources.keys() == flatten(file).keys() and all(len(source) > 10 for source in sources.values())
    config = merged_config(FOLDER / name, settings)
    assert "sources" not in config
    read_config(json.dumps(config).encode())
    declared = declared_settings(FOLDER / name / "model.py")
    assert declared is not None
    method = declared.from_dict(config["method"])
    if isinstance(method, LoopSettings):
        make_schedule(method)


def test_every_settings_file_of_a_paper_is_in_the_table() -> None:
    """And nothing else, but for the trials on a CPU."""
    files = {(path.stem, path.parent.name) for path in FOLDER.glob("*/*.json")}
    own = {(stem, name) for stem, name in files if stem not in ("config", "quick")}
    assert own == {(settings, name) for settings, rows in published().items() for name in rows}
    six = {name for stem, name in own if stem in ("paper", "pretrained", "within", "within-pretrained")}
    assert six == {*PAPER, "fo_maml_2022"}


def test_random_and_pretrained_settings_differ_in_the_weights_alone() -> None:
    for name in PAPER:
        for random, pretrained in (("paper", "pretrained"), ("within", "within-pretrained")):
            one, other = (flatten(merged_config(FOLDER / name, s)) for s in (random, pretrained))
            own = ("trained_layers", *OF_WEIGHTS) if name == "metadelta" else ()
            extra = {f"method.{key}" for key in ("weights", *own)}
            assert {
                key for key in other if other[key] != one.get(key)
            } == extra and one.keys() <= other.keys()
