"""Conv-4 of Vinyals et al. 2016 and Snell et al. 2017: four blocks of convolution, batch norm, ReLU and pooling."""

from torch import Tensor, nn


class Conv4(nn.Module):
    """Images `[n, 3, h, w]` to features `[n, width]`: the last feature map, averaged over its places."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.width = width
        self.blocks = nn.Sequential(*[_block(3 if i == 0 else width, width) for i in range(4)])
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch of images."""
        return self.pool(self.blocks(images)).flatten(1)


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.MaxPool2d(2),  # before the ReLU, which gives the same maps and has a quarter of the work left
        nn.ReLU(inplace=True),
    )
