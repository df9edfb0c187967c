"""The `.npz` files of MedMNIST (Yang et al., Scientific Data 2023): images and labels of three splits.

The file holds numbers only. Names of classes and licences are those that MedMNIST publishes with the files
(github.com/MedMNIST/MedMNIST, `medmnist/info.py`).
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from anyshot_core.data.importing.images import CannotImport, Source, SourceImage

_ORGANS = (
    "bladder",
    "femur-left",
    "femur-right",
    "heart",
    "kidney-left",
    "kidney-right",
    "liver",
    "lung-left",
    "lung-right",
    "pancreas",
    "spleen",
)


@dataclass(frozen=True)
class MedMnistKind:
    """One of the datasets of MedMNIST."""

    content: str
    classes: tuple[str, ...]
    licence: str = "CC BY 4.0"


KINDS = {
    "pathmnist": MedMnistKind(
        "Tissue of colorectal cancer, haematoxylin and eosin",
        (
            "adipose",
            "background",
            "debris",
            "lymphocytes",
            "mucus",
            "smooth muscle",
            "normal colon mucosa",
            "cancer-associated stroma",
            "colorectal adenocarcinoma epithelium",
        ),
    ),
    "dermamnist": MedMnistKind(
        "Pigmented skin lesions, dermatoscopy",
        (
            "actinic keratoses and intraepithelial carcinoma",
            "basal cell carcinoma",
            "benign keratosis-like lesions",
            "dermatofibroma",
            "melanoma",
            "melanocytic nevi",
            "vascular lesions",
        ),
        "CC BY-NC 4.0",
    ),
    "octmnist": MedMnistKind(
        "Diseases of the retina, optical coherence tomography",
        ("choroidal neovascularization", "diabetic macular edema", "drusen", "normal"),
    ),
    "pneumoniamnist": MedMnistKind("Chest X-rays of children", ("normal", "pneumonia")),
    "retinamnist": MedMnistKind(
        "Grades of diabetic retinopathy, fundus images", tuple(f"grade {grade}" for grade in range(5))
    ),
    "breastmnist": MedMnistKind("Breast ultrasound", ("malignant", "normal, benign")),
    "bloodmnist": MedMnistKind(
        "Blood cells under the microscope",
        (
            "basophil",
            "eosinophil",
            "erythroblast",
            "immature granulocytes",
            "lymphocyte",
            "monocyte",
            "neutrophil",
            "platelet",
        ),
    ),
    "tissuemnist": MedMnistKind(
        "Cells of the kidney cortex, fluorescence microscopy",
        (
            "Collecting Duct, Connecting Tubule",
            "Distal Convoluted Tubule",
            "Glomerular endothelial cells",
            "Interstitial endothelial cells",
            "Leukocytes",
            "Podocytes",
            "Proximal Tubule Segments",
            "Thick Ascending Limb",
        ),
    ),
    "organamnist": MedMnistKind("Organs in CT, axial", _ORGANS),
    "organcmnist": MedMnistKind("Organs in CT, coronal", _ORGANS),
    "organsmnist": MedMnistKind("Organs in CT, sagittal", _ORGANS),
}
_SPLITS = ("train", "val", "test")


def read_medmnist(path: Path, kind: str | None = None) -> Source:
    """A file such as `bloodmnist.npz` or `bloodmnist_128.npz`; `kind` where its name does not tell.

    Raises:
        CannotImport: no file of MedMNIST, 3D images, several labels an image, or an unknown kind.
    """
    name = kind or re.sub(r"_\d+$", "", path.stem.casefold())
    if name not in KINDS:
        raise CannotImport(
            f"{path}: “{name}” is none of the datasets with one label an image: {', '.join(KINDS)}. Say which it is"
            " with --kind."
        )
    images, labels = _arrays(path)
    known = KINDS[name]
    if int(labels.max()) >= len(known.classes) or int(labels.min()) < 0:
        found = f"labels from {labels.min()} to {labels.max()}"
        raise CannotImport(
            f"{path}: found {found}; {name} has {len(known.classes)} classes. Is --kind right?"
        )
    return Source(
        _images(images, labels, known),
        description=f"{known.content} ({name} of MedMNIST)",
        licence=known.licence,
        origin="https://medmnist.com",
        domain="medical",
        notes=("The splits train, val, test were joined: tasks are drawn from all images of a class.",),
    )


def _arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 `[n, h, w]` or `[n, h, w, 3]`, labels int64 `[n]`, of all splits."""
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = [(file[f"{split}_images"], file[f"{split}_labels"]) for split in _SPLITS]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CannotImport(f"{path}: this is no file of MedMNIST ({error}).") from error
    images = np.concatenate([part for part, _ in parts])
    labels = np.concatenate([np.asarray(part).reshape(len(part), -1) for _, part in parts])
    if images.dtype != np.uint8 or images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[-1] != 3):
        raise CannotImport(
            f"{path}: found images of {images.dtype} {list(images.shape[1:])}; expected uint8 [h, w] or [h, w, 3]."
            " 3D datasets have no place in Meta-Album's format."
        )
    if labels.shape[1] != 1:
        raise CannotImport(f"{path}: found {labels.shape[1]} labels for each image; a task needs one.")
    return images, labels[:, 0].astype(np.int64)


def _images(images: np.ndarray, labels: np.ndarray, kind: MedMnistKind) -> Iterator[SourceImage]:
    for row, (pixels, label) in enumerate(zip(images, labels, strict=True)):
        yield SourceImage(Image.fromarray(pixels), kind.classes[int(label)], f"image {row}")
