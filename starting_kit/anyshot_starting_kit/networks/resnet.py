"""ResNet-12 as few-shot papers have it, and ResNet-18, whose weights are named as torchvision and timm name them."""

from itertools import pairwise

from torch import Tensor, nn


class ResNet12(nn.Module):
    """Images `[n, 3, h, w]` to features `[n, 10 * width]` (Lee et al. 2019, section 4.1, without DropBlock).

    Four residual blocks of three convolutions with width, 2.5, 5 and 10 times width channels; 64 in the paper.
    """

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.width = 10 * width
        sizes = [3, width, 5 * width // 2, 5 * width, 10 * width]
        self.blocks = nn.Sequential(*[Block12(a, b) for a, b in pairwise(sizes)])
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch of images."""
        return self.pool(self.blocks(images)).flatten(1)


class Block12(nn.Module):
    """Three convolutions beside a 1 x 1 convolution, then pooling."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_conv_bn(inputs, outputs),
            nn.LeakyReLU(0.1),
            *_conv_bn(outputs, outputs),
            nn.LeakyReLU(0.1),
            *_conv_bn(outputs, outputs),
        )
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.end = nn.Sequential(nn.LeakyReLU(0.1), nn.MaxPool2d(2))

    def forward(self, maps: Tensor) -> Tensor:
        """Feature maps of half the size."""
        return self.end(self.body(maps) + self.shortcut(maps))


class ResNet18(nn.Module):
    """Images `[n, 3, h, w]` to features `[n, 8 * width]` (He et al. 2016); width 64 is the ImageNet one."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.width = 8 * width
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = _stage(width, width, 1)
        self.layer2 = _stage(width, 2 * width, 2)
        self.layer3 = _stage(2 * width, 4 * width, 2)
        self.layer4 = _stage(4 * width, 8 * width, 2)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, images: Tensor) -> Tensor:
        """Features of a batch of images."""
        maps = self.maxpool(self.relu(self.bn1(self.conv1(images))))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return self.pool(maps).flatten(1)


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, maps: Tensor) -> Tensor:
        """Feature maps, smaller by the stride."""
        shortcut = maps if self.downsample is None else self.downsample(maps)
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(maps))))) + shortcut)


def _conv_bn(inputs: int, outputs: int) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs)


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))
