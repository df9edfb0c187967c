"""The generated meta-dataset is what it says it is."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from anyshot_core.demo_data import ALPHABETS, DATASETS, character, fractal, make_demo_data, shape, texture


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_demo_data(tmp_path_factory.mktemp("demo"), classes=3, images=4)


def test_every_set_has_one_dataset_of_each_domain(made: Path) -> None:
    sets = json.loads((made / "info" / "sets.json").read_text())
    domains = {d.name: d.domain for d in DATASETS}
    assert {name: {domains[d] for d in members} for name, members in sets.items()} == {
        f"set-{v}": {"printed characters", "textures", "shapes", "fractals"} for v in range(3)
    }


@pytest.mark.parametrize("dataset", [d.name for d in DATASETS])
def test_a_dataset_is_in_meta_album_format(made: Path, dataset: str) -> None:
    rows = list(csv.DictReader((made / dataset / "labels.csv").read_text().splitlines()))
    assert len(rows) == 12 and len({row["CATEGORY"] for row in rows}) == 3
    with Image.open(made / dataset / "images" / rows[0]["FILE_NAME"]) as image:
        assert image.size == (128, 128) and image.mode == "RGB"
        assert np.asarray(image).std() > 1, "a blank image"


def test_made_again_it_is_the_same(made: Path, tmp_path: Path) -> None:
    again = make_demo_data(tmp_path, classes=3, images=4, datasets=("SHP_FIL",))
    name = "SHP_FIL/images/SHP_FIL_00003.jpg"
    assert (again / name).read_bytes() == (made / name).read_bytes()


@pytest.mark.parametrize("draw", [texture, shape, fractal])
@pytest.mark.parametrize("variant", range(3))
def test_an_image_is_of_its_class_and_of_its_numbers(draw: Callable[..., Image.Image], variant: int) -> None:
    def pixels(category: int, seed: int) -> np.ndarray:
        return np.asarray(draw(variant, category, np.random.default_rng(seed)))

    image = pixels(0, 0)
    assert image.shape == (128, 128, 3) and image.std() > 1
    assert np.array_equal(pixels(0, 0), image)
    assert not np.array_equal(pixels(0, 1), image) and not np.array_equal(pixels(7, 0), image)


@pytest.mark.seconds("draws many images")
@pytest.mark.parametrize("variant", range(3))
def test_every_letter_can_be_seen(variant: int) -> None:
    assert len(set(ALPHABETS[variant])) == 20
    for category in range(20):
        for seed in range(6):
            pixels = np.asarray(character(variant, category, np.random.default_rng(seed)))
            assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 5, ALPHABETS[variant][category]
