"""The loader of the 2022 kit in its steps: open with PIL, resize to 128, to float tensor, stack."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from anyshot_core.protocols import TaskSpec


def load_image(path: Path) -> torch.Tensor:
    """float32 [3, 128, 128] in [0, 1], as torchvision's Resize and ToTensor make it."""
    with Image.open(path) as image:
        resized = image.resize((128, 128), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(resized)).permute(2, 0, 1).contiguous().float().div(255)


def load_task(files: list[list[Path]], spec: TaskSpec) -> tuple[torch.Tensor, torch.Tensor]:
    """Support and query images of a task."""
    images = torch.stack([load_image(files[spec.dataset][row]) for row in spec.rows.tolist()])
    return images[: len(spec.support)], images[len(spec.support) :]
