"""Small data for the whole suite: generated packs and baseline zips."""

import zipfile
from pathlib import Path

import pytest

from anyshot_core.data.pack import pack_dataset
from anyshot_core.demo_data import make_demo_data
from tests.services.shared import once

BASELINES = Path(__file__).parents[2] / "baselines"
TRAIN, TEST = ("OCR_LAT", "SHP_FIL"), ("TXT_SQR", "SHP_LIN")


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four generated datasets of 8 classes x 30 images, in Meta-Album format."""

    def make() -> str:
        folder = tmp_path_factory.mktemp("demo-data")
        return str(make_demo_data(folder, classes=8, images=30, datasets=TRAIN + TEST))

    return Path(once(tmp_path_factory, "demo-data", make))


@pytest.fixture(scope="session")
def demo_packs(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Packs of those datasets, by name."""

    def make() -> dict[str, str]:
        target = tmp_path_factory.mktemp("packs")
        return {name: str(pack_dataset(demo_folder / name, target).path) for name in TRAIN + TEST}

    return {name: Path(path) for name, path in once(tmp_path_factory, "demo-packs", make).items()}


def zip_folder(folder: Path, target: Path) -> Path:
    """A bundle folder as the zip that a participant would upload."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(folder))
    return target
