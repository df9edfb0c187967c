import torch
import torch.nn.functional as F


def shrink(images, side):
    return F.interpolate(images, size=(side, side), mode="area").flatten(1)


class Embedding(torch.nn.Module):
    """Pixels beside a small learned projection; saved whole, under the name of this top-level module."""

    def __init__(self, side, classes):
        super().__init__()
        self.side = side
        self.project = torch.nn.Linear(3 * side * side, 32)
        self.head = torch.nn.Linear(3 * side * side + 32, classes)

    def forward(self, images):
        pixels = shrink(images, self.side)
        return torch.cat([pixels, 0.1 * torch.tanh(self.project(pixels))], dim=1)
