"""Snapshots of a training: those that the kit's loops take, and those of a submission's own loop."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from anyshot_starting_kit import snapshots
from anyshot_starting_kit.networks.backbones import make_backbone
from anyshot_starting_kit.training.clock import Clock
from anyshot_starting_kit.training.learners import ModelLearner
from anyshot_starting_kit.training.loop import optimise
from anyshot_starting_kit.training.settings import LoopSettings


class Learned(ModelLearner):
    def build(self) -> nn.Module:
        return nn.Linear(1, 1, bias=False)


@pytest.fixture(autouse=True)
def forget(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "taken"
    snapshots.begin(tmp_path, 0)


def train(model: nn.Module, steps: int, iterations: int = 12) -> None:
    """Each step moves the weight by one; the loss of step i is the weight, in two parts."""
    settings = LoopSettings(optimizer="sgd", learning_rate=1.0, iterations=iterations, meta_batch=1)

    def losses() -> Iterator[list[Tensor]]:
        for _ in range(steps):
            weight = model.get_parameter("weight").sum()
            yield [weight / 2, weight / 2]

    optimise(model, losses(), settings, Clock(1.0, of=1e6))


def weight_of(folder: Path) -> float:
    return torch.load(folder / "model.pt", weights_only=True)["weight"].item()


def taken(learner: ModelLearner) -> list[tuple[float, float]]:
    """Loss and weight of each snapshot."""
    return [
        (loss, weight_of(snapshots.folder_of(number)))
        for number, loss in enumerate(snapshots.finish(learner))
    ]


def test_the_loop_takes_as_many_as_are_wanted_at_equal_parts_of_training(forget: Path) -> None:
    snapshots.begin(forget, 3)
    learner = Learned()
    start = learner.model.weight.item()
    train(learner.model, 12)
    last = learner.model.weight.item()
    found = taken(learner)
    weights = [weight for _, weight in found]
    assert len(found) == 3 and weights == sorted(weights, reverse=True) and weights[-1] == last < start
    losses = [loss for loss, _ in found]
    assert start > losses[0] > weights[0] > losses[1] > weights[1] > losses[2] > weights[2], (
        "means on the way"
    )
    assert learner.model.weight.item() == last, "the learner is as it was"


def test_a_training_that_ends_early_ends_with_a_snapshot(forget: Path) -> None:
    snapshots.begin(forget, 3)
    learner = Learned()
    train(learner.model, 6)
    assert len(taken(learner)) == 2
    snapshots.begin(forget / "again", 3)
    train(learner.model, 2)
    assert len(taken(learner)) == 1


def test_a_training_of_two_loops_has_none(forget: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snapshots.begin(forget, 2)
    one, two = Learned(), Learned()
    train(one.model, 12)
    train(two.model, 12)
    assert taken(two) == [] and "has several, so none are kept" in capsys.readouterr().out


def test_a_loop_of_ones_own_keeps_the_last_ones(forget: Path) -> None:
    learner = Learned()
    snapshots.checkpoint(learner, 1.0)
    assert snapshots.finish(learner) == [], "nobody asked for any"
    snapshots.begin(forget, 2)
    for loss in (3.0, 2.0, 1.0):
        with torch.no_grad():
            learner.model.weight.fill_(loss)
        snapshots.checkpoint(learner, loss)
    assert taken(learner) == [(2.0, 2.0), (1.0, 1.0)] and len(list(forget.iterdir())) == 2
    with pytest.raises(snapshots.BadSnapshot, match="finite number"):
        snapshots.checkpoint(learner, float("nan"))


@pytest.mark.parametrize("name", ["conv4", "resnet12", "resnet18"])
def test_learners_of_the_kit_offer_the_layers_of_their_backbone(name: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = make_backbone(name, width=4, stem_pool=2)

    images = torch.rand(3, 3, 64, 64)
    found = ModelLearner(Model()).features(images)
    assert list(found)[-1] == "features" and len(found) > 3
    assert all(len(values) == 3 and values.numel() <= 3 * 16 * 4 * 16 for values in found.values())
