"""The shared loop, FIX-ML and the settings."""

import copy
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from anyshot_core.baselines import find_baselines, merged_config
from anyshot_starting_kit import budget
from anyshot_starting_kit.networks.backbones import Backbone
from anyshot_starting_kit.networks.weights import WrongWeights
from anyshot_starting_kit.runner.generators import Task
from anyshot_starting_kit.training import (
    Classifier,
    EnsembleLearner,
    EpisodicModel,
    train_on_batches,
    validate,
)
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.ensembles import make_backbones
from anyshot_starting_kit.training.fixed_supports import FixedSupportGenerator
from anyshot_starting_kit.training.loop import optimise
from anyshot_starting_kit.training.settings import (
    GROUPS,
    BadSettings,
    EnsembleSettings,
    LoopSettings,
    MetricSettings,
    TaskSettings,
    declared_settings,
)
from tests.baselines.trial import FOLDER, NAMES, load_model


def draw_task(seed: int, shots: int = 2) -> Task:
    """A 3-way task of tiny images from 3 classes of 8 images each."""
    random = np.random.default_rng(seed)
    pictures = np.random.default_rng(0).integers(0, 256, (3, 8, 3, 4, 4)).astype(np.float32) / np.float32(255)
    classes, rows = random.permutation(3), np.stack([random.permutation(8) for _ in range(3)])
    labels = torch.arange(3).repeat_interleave(shots), torch.arange(3).repeat_interleave(8 - shots)
    originals = torch.from_numpy(classes)

    def images(columns: slice) -> torch.Tensor:
        return torch.from_numpy(
            np.concatenate([pictures[c][rows[i, columns]] for i, c in enumerate(classes)])
        )

    return Task(
        3,
        shots,
        (images(slice(shots)), labels[0], originals[labels[0]]),
        (images(slice(shots, None)), labels[1], originals[labels[1]]),
        classes,
        "D",
    )


def supports(task: Task) -> dict[int, torch.Tensor]:
    """Support images by original class."""
    return {int(c): task.support_set[0][task.support_set[2] == c] for c in task.original_class_idx}


def test_fixed_supports_stay() -> None:
    """Every task has the first task's support of a class, and its query holds none of it."""
    fixed = list(FixedSupportGenerator(lambda n: (draw_task(seed) for seed in range(n)))(5))
    first = supports(fixed[0])
    torch.testing.assert_close(first, supports(draw_task(0)))
    for task in fixed[1:]:
        torch.testing.assert_close(supports(task), first)
        for image in torch.cat(list(first.values())):
            assert not any(torch.equal(image, other) for other in task.query_set[0])
        assert len(task.query_set[0]) == len(task.query_set[1]) == len(task.query_set[2])
    assert not torch.equal(supports(draw_task(1))[0], first[0])


def test_best_snapshot_is_kept() -> None:
    """The model ends as it was at the best validation, not as it was last."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    settings = LoopSettings(iterations=6, validate_every=1, optimizer="sgd", learning_rate=0.1)
    scores = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.1])
    seen: list[float] = []

    def score(_: Clock) -> float:
        seen.append(model.weight.item())
        return next(scores)

    best = optimise(model, ([-model.weight.sum()] for _ in range(6)), settings, Clock(1.0), score)
    assert best.score == 0.5 and model.weight.item() == seen[1] < seen[-1]


def test_patience_ends_training() -> None:
    """Two rounds without a better one are enough."""
    model, steps = nn.Linear(1, 1), []

    def losses():
        for step in range(100):
            steps.append(step)
            yield [model.weight.sum()]

    settings = LoopSettings(validate_every=1, patience=2)
    optimise(model, losses(), settings, Clock(1.0), lambda _: 0.5)
    assert len(steps) == 3


class Hours:
    """A clock that a test turns on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, run: float, task: float = 10.0) -> None:
        self.now, self.spent, self.run, self.task = 0.0, {"steps": 0.0, "rounds": 0.0}, run, task
        monkeypatch.setattr("anyshot_starting_kit.training.clock.time.monotonic", lambda: self.now)
        monkeypatch.setattr("anyshot_starting_kit.training.clock.budget.remaining", self.remaining)

    def remaining(self) -> budget.Remaining:
        return budget.Remaining(self.run - self.now, self.run - self.now, self.task)

    def pass_by(self, what: str, seconds: float) -> None:
        self.now += seconds
        self.spent[what] += seconds


def test_training_leaves_time_for_its_last_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 100 s: rounds of 8 s after every 10 steps of 1 s; the last round ends in time, after the last step."""
    hours, model, ends = Hours(monkeypatch, run=100.0), nn.Linear(1, 1), []

    def losses():
        while True:
            hours.pass_by("steps", 1.0)
            yield [model.weight.sum()]

    def score(clock: Clock) -> float | None:
        hours.pass_by("rounds", 8.0)
        ends.append(hours.now)
        return None if clock.over else float(len(ends))

    best = optimise(model, losses(), LoopSettings(validate_every=10), Clock(0.5), score)
    assert ends == [18.0, 36.0, 48.0] and best.score == 3.0
    assert hours.spent == {"steps": 24.0, "rounds": 24.0}


def test_a_round_that_is_cut_short_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first round is too long for the time: the last weights are kept, and the run goes on to its tasks."""
    hours, model = Hours(monkeypatch, run=20.0), nn.Linear(3, 3)

    def tasks(count: int):
        for seed in range(count):
            hours.pass_by("rounds", 1.0)
            yield draw_task(seed)

    class Guess(nn.Module):
        def forward(
            self, support: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, ways: int
        ) -> torch.Tensor:
            return torch.zeros(len(queries), ways)

    def score(clock: Clock) -> float | None:
        return validate(Guess(), tasks, 300, lambda *_, **__: None, clock)

    settings = LoopSettings(validate_every=1, iterations=5)
    best = optimise(model, ([model.weight.sum()] for _ in range(5)), settings, Clock(0.5), score)
    assert hours.now == 10.0 and not best.state


def test_parts_of_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part is a share of what is left; without a limit nothing is ever used."""
    hours = Hours(monkeypatch, run=100.0)
    whole = Clock(0.8)
    first = whole.part(1 / 2)
    hours.now = 20.0
    assert (whole.left, first.left, first.used) == (60.0, 20.0, 0.5)
    second = whole.part(1.0)
    hours.now = 80.0
    assert first.over and second.over and whole.over and Clock.of_task().left == 5.0
    monkeypatch.undo()
    assert Clock(0.5).part(0.5).left == float("inf") and Clock(0.5).used == 0.0


def test_pretrained_weights_stay_where_training_spoils_them() -> None:
    """They are validated before the first step; random ones are not."""
    scores = iter([0.9, 0.5, 0.6])
    model = nn.Linear(1, 1, bias=False)
    before = model.weight.item()
    settings = LoopSettings(validate_every=1, weights="some.pt", optimizer="sgd")
    best = optimise(
        model, ([model.weight.sum()] for _ in range(2)), settings, Clock(1.0), lambda _: next(scores)
    )
    assert best.score == 0.9 and model.weight.item() == before


def test_rates_cool_and_differ() -> None:
    """With the cosine schedule the second half of the steps goes less far; the backbone has its own rate."""
    model: Any = nn.Module()
    model.backbone, model.head = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    start, seen = (model.backbone.weight.item(), model.head.weight.item()), []

    def losses():
        for _ in range(100):
            seen.append(model.head.weight.item())
            yield [model.backbone.weight.sum(), model.head.weight.sum()]

    settings = LoopSettings(iterations=100, schedule="cosine", learning_rate=0.01, backbone_rate=0.001)
    optimise(model, losses(), settings, Clock(1.0))
    moved = start[0] - model.backbone.weight.item(), start[1] - model.head.weight.item()
    assert moved[0] == pytest.approx(moved[1] / 10, rel=0.01)
    assert moved[1] == pytest.approx(0.5, rel=0.03) and (seen[0] - seen[50]) > 4 * (seen[50] - seen[99])
    with pytest.raises(ValueError, match=r"method\.schedule is 'steps'"):
        optimise(model, losses(), LoopSettings(schedule="steps"), Clock(1.0))


SMALL = {"backbone": "conv4", "width": 4, "stem_pool": 1, "optimizer": "sgd"}


def settings_of(**method: object) -> EnsembleSettings:
    return EnsembleSettings.from_dict({**SMALL, **method})


def batches(count: int):
    draw = torch.Generator().manual_seed(0)
    for _ in range(count):
        yield [torch.rand(8, 3, 16, 16, generator=draw), torch.arange(8) % 3]


def test_only_named_layers_learn() -> None:
    """A name that the backbone lacks is an error."""
    settings = settings_of(trained_layers=["blocks.3"])
    classifier = Classifier(settings.make_backbone(), 4, 3)
    before = {name: value.clone() for name, value in classifier.named_parameters()}
    train_on_batches(classifier, batches, replace(settings, iterations=3), lambda *_: None)
    changed = {name for name, value in classifier.named_parameters() if not torch.equal(value, before[name])}
    assert {name.split(".")[0] for name in changed} == {"backbone", "linear"}
    assert all("blocks.3" in name for name in changed if name.startswith("backbone"))
    with pytest.raises(BadSettings, match=r"names layer9, which"):
        train_on_batches(classifier, batches, settings_of(trained_layers=["layer9"]), lambda *_: None)


@pytest.mark.parametrize("still", [True, False])
def test_batch_norm_of_frozen_layers_keeps_its_statistics_where_it_should(still: bool) -> None:
    """As the kit of 2022 has it; and it works by them in training, as its layers do at test time."""
    settings = settings_of(trained_layers=["blocks.3"], iterations=3, frozen_statistics=still)
    classifier = Classifier(settings.make_backbone(), 4, 3)
    before = {name: value.clone() for name, value in classifier.named_buffers() if "running" in name}
    train_on_batches(classifier, batches, settings, lambda *_: None)
    changed = {
        name for name, value in classifier.named_buffers() if not torch.equal(value, before.get(name, value))
    }
    moved = {name.split("blocks.")[1][0] for name in changed}
    assert moved == ({"3"} if still else {"0", "1", "2", "3"})
    norms = {
        name: part
        for name, part in classifier.train().named_modules()
        if isinstance(part, torch.nn.BatchNorm2d)
    }
    assert {name for name, part in norms.items() if part.training} == {
        name for name in norms if "blocks.3" in name or not still
    }


def test_turns_are_learned_one_by_one() -> None:
    """The gradient is that of the mean over the four turns, of which one at a time is in memory."""
    settings = settings_of(rotations=True, iterations=1, learning_rate=1.0, weight_decay=0.0)
    torch.manual_seed(0)
    classifier = Classifier(settings.make_backbone(), 4, 3)
    other = copy.deepcopy(classifier)
    (batch,) = batches(1)
    train_on_batches(classifier, batches, settings, lambda *_: None)
    losses = []
    for turn in range(4):
        features = other.backbone(batch[0].rot90(turn, dims=(2, 3)))
        losses.append(cross_entropy(other.linear(features), batch[1]))
        losses.append(cross_entropy(other.rotation(features), torch.full((8,), turn)))
    (torch.stack(losses).sum() / 4).backward()
    weight = other.rotation.weight
    assert weight.grad is not None
    torch.testing.assert_close(classifier.rotation.weight, weight - (1 + 0.9) * weight.grad)


def test_large_tasks_pass_in_chunks() -> None:
    """At test time, unless batch norm wants the task as one batch."""
    seen: list[int] = []

    class Head(nn.Module):
        def forward(
            self, support: torch.Tensor, labels: torch.Tensor, queries: torch.Tensor, ways: int
        ) -> torch.Tensor:
            return queries[:, :ways]

    for joint, wanted in ((False, [128, 128, 44]), (True, [300])):
        model = EpisodicModel(MetricSettings.from_dict({**SMALL, "batch_statistics": joint}), Head()).eval()
        model.backbone.network.register_forward_hook(lambda _, images, __: seen.append(len(images[0])))
        with torch.no_grad():
            model(
                torch.rand(100, 3, 16, 16), torch.zeros(100, dtype=torch.long), torch.rand(200, 3, 16, 16), 2
            )
        assert seen == wanted
        seen.clear()


@pytest.mark.parametrize("name", ["fo_maml", "maml"])
def test_more_inner_steps_at_test_time(name: str) -> None:
    """They fit the support better; training takes as many as it did."""
    task, losses = draw_task(0), {}
    images, labels = task.support_set[0].repeat(1, 1, 4, 4), task.support_set[1]
    for steps in (0, 30):
        torch.manual_seed(0)
        module = load_model(name, **SMALL, inner_steps=2, inner_rate=0.1, test_inner_steps=steps)
        model = module.GradientLearner()
        for mode in (True, False):
            losses[steps, mode] = cross_entropy(model.train(mode)(images, labels, images, 3), labels).item()
    assert losses[0, True] == losses[30, True] == pytest.approx(losses[0, False])
    assert losses[30, False] < 0.5 * losses[0, False]


def test_an_ensemble_has_the_backbones_that_its_weights_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that they do not fit is left out, and said so; a file for each is found by the backbone's name."""
    folder = str(tmp_path)
    for name in ("conv4", "resnet12"):
        network = settings_of().make_backbone(name).network
        torch.save(network.state_dict(), tmp_path / f"{name}.pt")
    both = {"backbones": ["resnet12", "conv4"], "folder": folder}
    assert [net.name for net in make_backbones(settings_of(weights="conv4.pt", **both))] == ["conv4"]
    assert "resnet12 is left out: conv4.pt does not belong" in capsys.readouterr().out
    made = make_backbones(settings_of(weights="{backbone}.pt", **both))
    assert [net.name for net in made] == ["resnet12", "conv4"]
    with pytest.raises(WrongWeights):
        make_backbones(settings_of(weights="conv4.pt", backbones=["resnet12"], folder=folder))

    class Joint(nn.Module):
        def __init__(self, backbones: Sequence[Backbone]) -> None:
            super().__init__()
            self.backbones = nn.ModuleList(backbones)

    class Learner(EnsembleLearner):
        settings = settings_of(weights="conv4.pt", **both)

        def assemble(self, backbones: Sequence[Backbone]) -> Joint:
            return Joint(backbones)

    trained = make_backbones(settings_of(backbones=["conv4"]))
    Learner(Joint(trained)).save(folder)
    loaded = Learner()
    loaded.load(folder)
    weight = next(trained[0].parameters())
    torch.testing.assert_close(next(loaded.model.parameters()), weight)


@pytest.mark.parametrize(
    ("method", "words"),
    [({"bakbone": "conv4"}, "bakbone is unknown"), ({"iterations": "many"}, 'iterations is "many"')],
)
def test_bad_settings_are_named(method: dict[str, Any], words: str) -> None:
    """A typing error does not pass for a default."""
    with pytest.raises(BadSettings, match=words):
        LoopSettings.from_dict(method)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_has_its_own_settings(name: str) -> None:
    """Those of the parts of the kit that it uses and a few of its own; what another method has is unknown to it."""
    declared = declared_settings(FOLDER / name / "model.py")
    known = set() if declared is None else {field.name for field in fields(declared)}
    theirs = {"slack", "folds", "sharpness", "inner_rate", "strength"}
    own = known - {field.name for group in GROUPS.values() for field in fields(group)}
    assert len(own) <= 5 and len(known & theirs) <= 1
    if declared is None:
        assert "method" not in merged_config(FOLDER / name)
        return
    for overlay in ("", *find_baselines((name,), FOLDER)[0].overlays()):
        declared.from_dict(merged_config(FOLDER / name, overlay)["method"])
    assert type(load_model(name).SETTINGS).__name__ == declared.__name__


def test_settings_are_found_without_running_a_bundle(tmp_path: Path) -> None:
    """Of somebody's own bundle too; one that reads config.json by itself declares none."""
    module = tmp_path / "model.py"
    module.write_text(
        "import not_installed\nfrom dataclasses import dataclass\n\n\n@dataclass(frozen=True, kw_only=True)\n"
        "class Mine(TaskSettings):\n    depth: int = 3\n\n\nSETTINGS = Mine.read(__file__)\n"
    )
    declared = declared_settings(module)
    assert declared is not None
    assert asdict(declared.from_dict({"depth": 4})) == asdict(TaskSettings()) | {"depth": 4}
    with pytest.raises(
        BadSettings, match=r"inner_rate is unknown; known are .*depth.* field of the settings class"
    ):
        declared.from_dict({"inner_rate": 0.1})
    module.write_text("import json\nSETTINGS = json.loads('{}')\n")
    assert declared_settings(module) is None
