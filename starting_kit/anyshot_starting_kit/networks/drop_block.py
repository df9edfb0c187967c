"""DropBlock (Ghiasi et al. 2018): in training, squares of a feature map are set to zero."""

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool2d

from anyshot_starting_kit.networks.resnet import Block12, ResNet12

SIZE = 5  # places on a side of a square (Lee et al. 2019, 4.1)


class DropBlock(nn.Module):
    """Drops about `rate` of each map in squares, and scales what is left so that the map's mean stays."""

    def __init__(self, rate: float, size: int = SIZE) -> None:
        super().__init__()
        self.rate, self.size = rate, size

    def forward(self, maps: Tensor) -> Tensor:
        """Maps `[n, channels, h, w]`; outside of training, themselves."""
        if not self.training:
            return maps
        size = min(self.size, *maps.shape[2:])
        corners = [side - size + 1 for side in maps.shape[2:]]  # where a square may begin
        share = self.rate / size**2 * maps.shape[2] * maps.shape[3] / (corners[0] * corners[1])  # eq. 1
        begins = (torch.rand(*maps.shape[:2], *corners, device=maps.device) < share).to(maps)
        kept = 1 - max_pool2d(nn.functional.pad(begins, [size - 1] * 4), size, stride=1)
        return maps * kept * (kept.numel() / kept.sum().clamp(min=1))


def add_drop_block(network: nn.Module, rate: float) -> None:
    """Behind the last two blocks of a ResNet-12, as Lee et al. 2019 (4.1) have it. Raises ValueError for others."""
    if not isinstance(network, ResNet12):
        raise ValueError("method.drop_block is for the backbone resnet12.")
    for block in list(network.blocks)[-2:]:
        assert isinstance(block, Block12)
        block.end.append(DropBlock(rate))
