"""Images changed at random in training: other crops, other colours, mirrored; each image by draws of its own."""

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, pad

from anyshot_starting_kit.training.settings import LoopSettings

GREY = (0.2989, 0.587, 0.114)  # of red, green and blue, as torchvision weighs them
LONGEST = (
    4 / 3
)  # the sides of a resized crop are at most so far from the image's (Szegedy et al. 2015, section 6)


def augmented(images: Tensor, settings: LoopSettings) -> Tensor:
    """Images `[n, 3, h, w]` in [0, 1] as the settings change them; without such a setting, themselves."""
    if settings.crops:
        images = shifted(images, settings.crops)
    if settings.resized_crops:
        images = resized(images, settings.resized_crops)
    if settings.colours:
        images = coloured(images, settings.colours)
    return mirrored(images) if settings.flips else images


def shifted(images: Tensor, border: int) -> Tensor:
    """Parts of the images' size out of the images with a black border (Lee et al. 2019, 4.1)."""
    count, channels, height, width = images.shape
    framed = pad(images, [border] * 4)
    first = torch.randint(2 * border + 1, (2, count, 1), device=images.device)
    rows = first[0] + torch.arange(height, device=images.device)
    columns = first[1] + torch.arange(width, device=images.device)
    at = torch.arange(count, device=images.device)[:, None, None, None]
    band = torch.arange(channels, device=images.device)[None, :, None, None]
    return framed[at, band, rows[:, None, :, None], columns[:, None, None, :]]


def resized(images: Tensor, least: float) -> Tensor:
    """Parts of at least that share of the images' area, resized to the images' size (Chen et al. 2019, 4.1)."""
    area = torch.empty(len(images), device=images.device).uniform_(least, 1.0)
    stretch = torch.empty_like(area).uniform_(1 / LONGEST, LONGEST).sqrt()
    sides = torch.stack([(area.sqrt() * stretch).clamp(max=1.0), (area.sqrt() / stretch).clamp(max=1.0)], 1)
    middle = (1 - sides) * (2 * torch.rand_like(sides) - 1)
    places = torch.cat([torch.diag_embed(sides), middle[:, :, None]], dim=2)
    return grid_sample(
        images, affine_grid(places, list(images.shape), False), padding_mode="border", align_corners=False
    )


def coloured(images: Tensor, most: float) -> Tensor:
    """Brightness, contrast and saturation, each times a factor of 1 - `most` to 1 + `most` (Chen et al. 2019, 4.1)."""
    bright, contrast, colour = torch.empty(3, len(images), 1, 1, 1, device=images.device).uniform_(
        1 - most, 1 + most
    )
    images = (bright * images).clamp(0, 1)
    images = _from(_grey(images).mean(dim=(2, 3), keepdim=True), images, contrast)
    return _from(_grey(images), images, colour)


def mirrored(images: Tensor) -> Tensor:
    """Half of the images, left for right."""
    chosen = torch.rand(len(images), device=images.device) < 0.5
    return torch.where(chosen[:, None, None, None], images.flip(3), images)


def _grey(images: Tensor) -> Tensor:
    weights = torch.tensor(GREY, device=images.device).view(1, 3, 1, 1)
    return (weights * images).sum(dim=1, keepdim=True)


def _from(plain: Tensor, images: Tensor, factor: Tensor) -> Tensor:
    return (plain + factor * (images - plain)).clamp(0, 1)
