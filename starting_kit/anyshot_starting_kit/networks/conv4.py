"""Conv-4 of Vinyals et al. 2016 and Snell et al. 2017: four blocks of convolution, batch norm, ReLU and pooling."""

from __future__ import annotations

from torch import Tensor, nn


class Conv4(nn.Module):
    """Images `[n, 3, h, w]` to features `[n, width]`: the last feature map, averaged over its places.

    `stem_pool` shrinks the image before the first block, which is what makes 128 x 128 affordable on a CPU.
    """

    def __init__(self, width: int = 64, stem_pool: int = 1) -> None:
        super().__init__()
        self.width = width
        self.stem = nn.AvgPool2d(stem_pool) if stem_pool > 1 else nn.Identity()
        self.blocks = nn.Sequential(*[_block(3 if i == 0 else width, width) for i in range(4)])
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch of images."""
        return self.pool(self.blocks(self.stem(images))).flatten(1)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
