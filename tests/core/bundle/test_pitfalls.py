"""Warnings about code that fails, or finds something else, where it runs: by its syntax alone."""

from pathlib import Path

import pytest

from anyshot_core.bundle import CheckOutcome, RunConditions, check_bundle
from tests.core.bundle.archives import MODEL, usual


def warnings_of(tmp_path: Path, files: dict[str, bytes], gpus: int | None = 0) -> list[tuple[str, str]]:
    (tmp_path / "bundle.zip").write_bytes(usual({"model.py": MODEL, **files}))
    report = check_bundle(tmp_path / "bundle.zip", conditions=RunConditions(gpus=gpus))
    assert report.ok
    return [(one.found, one.remedy) for one in report.checks if one.outcome is CheckOutcome.WARNING]


def test_files_named_like_modules_of_python_are_named(tmp_path: Path) -> None:
    names = ("platform.py", "random/__init__.py", "utils.py", "net/types.py", "queue.txt")
    assert warnings_of(tmp_path, dict.fromkeys(names, b"")) == [
        (
            "Modules of Python have the same name as platform.py, random/__init__.py: `import` finds the one or the"
            " other.",
            "Rename platform.py, random/__init__.py and what imports it, for instance to my_platform.py.",
        )
    ]


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("x.cuda()", "cuda()"),
        ("x.to('cuda:0')", "to()"),
        ("torch.device('cuda')", "device()"),
        ("torch.zeros(3, device='cuda')", "zeros()"),
        ("torch.load(p, map_location='cuda')", "load()"),
    ],
)
def test_a_gpu_that_the_phase_has_not_is_warned_of(tmp_path: Path, code: str, call: str) -> None:
    source = f"import torch\n\ny = {code}\n".encode()
    ((found, remedy),) = warnings_of(tmp_path, {"net/a.py": source})
    assert found == f"`{call}` in net/a.py, line 3 asks for a GPU, and this phase has none."
    assert "torch.cuda.is_available()" in remedy
    assert warnings_of(tmp_path, {"net/a.py": source}, gpus=1) == []
    assert warnings_of(tmp_path, {"net/a.py": source}, gpus=None) == []
    asks = source + b"device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    assert warnings_of(tmp_path, {"net/a.py": asks}) == []


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("timm.create_model('resnet18', pretrained=True)", "create_model(pretrained=True)"),
        ("torch.hub.load('facebookresearch/dino', 'dino_vits16')", "load()"),
        ("torchvision.models.resnet18(weights=ResNet18_Weights.DEFAULT)", "resnet18()"),
        ("torchvision.models.resnet18(weights='DEFAULT')", "resnet18()"),
        ("hf_hub_download('a/b', 'w.pt')", "hf_hub_download()"),
        ("AutoModel.from_pretrained('bert-base')", "from_pretrained()"),
    ],
)
def test_weights_that_are_fetched_at_run_time_are_warned_of(tmp_path: Path, code: str, call: str) -> None:
    ((found, remedy),) = warnings_of(tmp_path, {"net.py": f"m = {code}\n".encode()})
    assert (
        found == f"`{call}` in net.py, line 1 fetches weights when it runs, and the sandbox has no network."
    )
    assert remedy.startswith(
        "Put the file into the zip, or take one of the weights that the site offers in /weights"
    )


@pytest.mark.parametrize(
    "code",
    [
        "timm.create_model('resnet18', pretrained=False)",
        "AutoModel.from_pretrained('bert-base')",  # a folder of the zip
        "torch.hub.load('hub', 'net', source='local')",
        "random.choices(names, weights=numbers)",
    ],
)
def test_weights_that_lie_in_the_zip_are_not(tmp_path: Path, code: str) -> None:
    assert warnings_of(tmp_path, {"net.py": f"m = {code}\n".encode(), "bert-base/config.txt": b""}) == []


def test_three_places_are_named_and_the_others_counted(tmp_path: Path) -> None:
    ((found, _),) = warnings_of(tmp_path, {"a.py": b"x.cuda()\n" * 5})
    assert found.startswith(
        "`cuda()` in a.py, line 1, `cuda()` in a.py, line 2, `cuda()` in a.py, line 3, and 2 more"
    )
