"""Wide residual networks of 16 layers (Zagoruyko and Komodakis 2016), such as WRN-16-10."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn.functional import relu


class WideResNet16(nn.Module):
    """Images `[n, 3, h, w]` to features `[n, 4 * width]`: three stages of two blocks (Table 1).

    `width` is the channels of the first stage: 160 for WRN-16-10.
    """

    def __init__(self, width: int = 160) -> None:
        super().__init__()
        self.width = 4 * width
        sizes = [16, width, 2 * width, 4 * width]
        self.first = nn.Conv2d(3, sizes[0], 3, padding=1, bias=False)
        self.stages = nn.Sequential(
            *[
                nn.Sequential(WideBlock(a, b, 1 if number == 0 else 2), WideBlock(b, b, 1))
                for number, (a, b) in enumerate(pairwise(sizes))
            ]
        )
        self.last = nn.Sequential(nn.BatchNorm2d(self.width), nn.ReLU(), nn.AdaptiveAvgPool2d(1))

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch of images."""
        return self.last(self.stages(self.first(images))).flatten(1)


class WideBlock(nn.Module):
    """Two convolutions, each after batch norm and ReLU, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.shortcut = (
            None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Feature maps, smaller by the stride."""
        shown = relu(self.norm1(maps))
        passed = maps if self.shortcut is None else self.shortcut(shown)
        return passed + self.conv2(relu(self.norm2(self.conv1(shown))))
