"""The embedding: four convolutions on images of half the size."""

import torch
import torch.nn.functional as F


def block(channels_in, channels_out):
    """A convolution that halves the image."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(channels_in, channels_out, 3, padding=1),
        torch.nn.BatchNorm2d(channels_out),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
    )


class Embedding(torch.nn.Module):
    """Images [n, 3, 128, 128] to features [n, 512]."""

    def __init__(self, width=32):
        super().__init__()
        self.blocks = torch.nn.Sequential(
            block(3, width), block(width, width), block(width, width), block(width, width)
        )

    def forward(self, images):
        small = F.avg_pool2d(images, 2)  # 64 x 64: four times quicker
        return self.blocks(small).flatten(1)
