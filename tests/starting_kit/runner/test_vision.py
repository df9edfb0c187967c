"""torchvision beside a torch that it was not built for."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import torch
from anyshot_starting_kit.runner.vision import define_missing_operators
define_missing_operators()
define_missing_operators()
assert hasattr(torch.ops.torchvision, "nms") and hasattr(torch.ops.torchvision, "qnms")

@torch.library.register_fake("torchvision::nms")  # what torchvision does when it is imported
def fake(dets, scores, iou_threshold):
    return dets
"""


@pytest.mark.seconds("imports torch in a process of its own")
def test_operators_are_declared_where_the_library_does_not_load(tmp_path: Path) -> None:
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('not to be imported')")
    (package / "_C.so").write_bytes(b"no library")
    code = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n{CODE}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
