"""Lets torchvision from the plain package index import beside a CPU-only torch."""

import importlib.util
from pathlib import Path

_kept: list[object] = []


def define_missing_operators() -> None:
    """Declare `torchvision::nms` and `qnms` where torchvision's own library does not load beside this torch.

    torchvision registers fake kernels for them when it is imported and fails where nobody declared the operators.
    Where its library loads, it declares them itself, and a second declaration would be the error.
    """
    import torch

    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None or _loads(Path(spec.origin).parent):
        return
    library = torch.library.Library("torchvision", "FRAGMENT")
    for operator in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, operator):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(library)  # the declarations go when the object does


def _loads(package: Path) -> bool:
    import torch

    for library in package.glob("_C*.so"):
        try:
            torch.ops.load_library(str(library))
        except OSError:
            continue
        return True
    return False
