"""Training images are changed as the papers say, each by itself; validation and test images are not."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torchvision.transforms.v2 import functional as torchvision

from anyshot_starting_kit.training import Classifier, train_on_batches, train_on_tasks
from anyshot_starting_kit.training.augmentation import augmented, coloured, mirrored, resized, shifted
from anyshot_starting_kit.training.settings import BatchSettings, LoopSettings, TaskSettings
from tests.baselines.test_methods import large


def test_without_such_settings_images_and_draws_stay() -> None:
    images, before = torch.rand(2, 3, 8, 8), torch.get_rng_state()
    assert augmented(images, LoopSettings()) is images
    assert torch.equal(torch.get_rng_state(), before)


def test_a_shifted_image_is_a_part_of_it_with_a_black_border() -> None:
    """Every offset of at most the border comes, to both sides; what shows is the image's, place by place."""
    torch.manual_seed(0)
    image = torch.arange(1.0, 37.0).view(1, 1, 6, 6).expand(1, 3, 6, 6)
    framed, seen = torch.nn.functional.pad(image[0], [2] * 4), set()
    for one in shifted(image.expand(400, 3, 6, 6), 2):
        places = [
            (r, c) for r in range(5) for c in range(5) if torch.equal(one, framed[:, r : r + 6, c : c + 6])
        ]
        assert len(places) == 1
        seen.add(places[0])
    assert len(seen) == 25


def test_a_resized_crop_shows_a_part_of_at_least_that_share() -> None:
    """Of an image whose values are its places: the part's sides are its slopes, and it lies within the image."""
    torch.manual_seed(0)
    size = 32
    ramp = (torch.arange(size) + 0.5) / size
    image = torch.stack([ramp.expand(size, size), ramp[:, None].expand(size, size), torch.zeros(size, size)])
    found = resized(image.expand(300, 3, size, size), 0.25)
    middle = slice(8, 24)  # away from the rim, where an image has no neighbours to read between
    across = (found[:, 0, 16, middle].diff(dim=1).mean(dim=1)) * size
    down = (found[:, 1, middle, 16].diff(dim=1).mean(dim=1)) * size
    area = across * down
    assert 0.249 < area.min() < 0.35 and 0.85 < area.max() <= 1.001
    assert (across / down).min() > 0.74 and (across / down).max() < 1.34
    assert found[:, :2].min() >= 0 and found[:, :2].max() <= 1 and found[:, 0].std(dim=0).max() > 0.05


def test_colours_are_changed_as_torchvision_changes_them() -> None:
    """By the same factors: brightness, then contrast, then saturation."""
    images = torch.rand(5, 3, 8, 8)
    torch.manual_seed(3)
    factors = torch.empty(3, 5, 1, 1, 1).uniform_(0.6, 1.4).flatten(1)
    torch.manual_seed(3)
    found = coloured(images, 0.4)
    for image, changed, bright, contrast, colour in zip(images, found, *factors.tolist(), strict=True):
        wanted = torchvision.adjust_contrast(torchvision.adjust_brightness(image, bright), contrast)
        torch.testing.assert_close(
            changed, torchvision.adjust_saturation(wanted, colour), atol=1e-3, rtol=1e-3
        )


def test_half_of_the_images_are_mirrored() -> None:
    torch.manual_seed(0)
    images = torch.rand(200, 3, 4, 4)
    turned = [not torch.equal(a, b) for a, b in zip(images, mirrored(images), strict=True)]
    assert 70 < sum(turned) < 130
    for image, found in zip(images, mirrored(images), strict=True):
        assert torch.equal(found, image) or torch.equal(found, image.flip(2))


class Watching(torch.nn.Module):
    """Keeps the images that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.shown = torch.nn.Parameter(torch.zeros(3)), []

    def forward(self, support: Any, labels: Any = None, queries: Any = None, ways: int = 0) -> torch.Tensor:
        """Logits that do not depend on them."""
        images = support if queries is None else torch.cat([support, queries])
        self.shown.append(images)
        return self.weight.expand(len(support if queries is None else queries), 3)


@pytest.mark.parametrize("setting", [{"crops": 3}, {"resized_crops": 0.1}, {"colours": 0.4}, {"flips": True}])
def test_training_changes_its_images_and_validation_does_not(setting: dict[str, Any]) -> None:
    """On tasks, support and query; on batches."""
    task, watching = large(0), Watching()
    settings = TaskSettings(iterations=1, validate_every=1, validation_tasks=1, **setting)

    def tasks(count: int) -> Iterator[Any]:
        return iter([task] * count)

    torch.manual_seed(1)
    train_on_tasks(watching, tasks, tasks, settings, lambda *_, **__: None)
    plain = torch.cat([task.support_set[0], task.query_set[0]])
    trained, validated = watching.shown[0], watching.shown[-1]
    count = len(task.support_set[0])
    assert not torch.equal(trained[:count], plain[:count]) and not torch.equal(trained[count:], plain[count:])
    assert torch.equal(validated, plain)
    batches, backbone = BatchSettings(iterations=1, **setting), Watching()
    classifier = Classifier(backbone, 3, 3)
    train_on_batches(
        classifier, lambda count: iter([task.support_set[:2]] * count), batches, lambda *_, **__: None
    )
    assert not torch.equal(backbone.shown[0], plain[:count])
