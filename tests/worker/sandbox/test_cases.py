"""Submissions with one habit of real code each, from check to verdict: `shared/cases` above this checkout."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from anyshot_core.bundle import CheckOutcome, RunConditions, check_bundle
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Limits
from anyshot_worker.sandbox import Sandboxes
from tests.hostile.bench import Data, evaluate, make_data
from tests.hostile.cases import Expected
from tests.worker.sandbox.machine import sandbox_settings

THERE = (
    "cv2 numba pandas scipy sklearn timm torchvision PIL matplotlib tqdm einops yaml kornia albumentations"
)


class Case(NamedTuple):
    """The verdict of a submission, the checks that warn of it, and what it prints."""

    verdict: Verdict
    warned: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()


CASES = {
    "03-caches-and-home": Case(Verdict.OK),
    "04-torch-compile": Case(Verdict.OK),
    "06-names-like-others": Case(Verdict.RUNTIME_ERROR, ("names",)),
    "23-downloads-weights": Case(Verdict.RUNTIME_ERROR, ("downloads",)),
    "24-cuda-hard-coded": Case(Verdict.RUNTIME_ERROR, ("gpu",)),
    "26-jit-numba-opencv": Case(
        Verdict.OK, printed=(*(f"{name} there" for name in THERE.split()), "learn2learn absent")
    ),
}


@pytest.fixture(scope="module")
def boxes(sandbox_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    opened = Sandboxes.from_settings(sandbox_settings(tmp_path_factory.mktemp("boxes")))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


def folder_of(name: str) -> Path:
    places = (above / "shared/cases" / name for above in Path(__file__).parents)
    found = next((place for place in places if place.is_dir()), None)
    return found or pytest.skip(f"shared/cases/{name} is not beside this checkout")


def expected(verdict: Verdict) -> Expected:
    limits = Limits()
    return Expected(
        number=0,
        attack="none",
        verdict=[verdict],
        memory_mib=limits.memory_bytes >> 20,
        scratch_mib=limits.scratch_bytes >> 20,
        processes=limits.processes,
        run_seconds=900,
    )


@pytest.mark.rotating
@pytest.mark.slow("each submission runs in a box, and one compiles")
@pytest.mark.parametrize("name", CASES)
def test_a_submission_of_ordinary_people(name: str, boxes: Sandboxes, data: Data, tmp_path: Path) -> None:
    folder, case = folder_of(name), CASES[name]
    report = check_bundle(folder, conditions=RunConditions(gpus=0))
    assert report.ok
    warned = tuple(check.name for check in report.checks if check.outcome is CheckOutcome.WARNING)
    assert warned == case.warned
    seen = evaluate(boxes, data, folder, expected(case.verdict), tmp_path)
    assert seen.outcome.verdict == case.verdict, (seen.outcome.failure, seen.text)
    for line in case.printed:
        assert line in seen.text
    if name == "04-torch-compile":
        plain = tmp_path / "plain"
        plain.mkdir()
        lines = (folder / "model.py").read_text().splitlines()
        kept = [line for line in lines if "torch.compile" not in line and "allclose" not in line]
        (plain / "model.py").write_text("\n".join(kept))
        assert len(kept) == len(lines) - 2
        assert seen.scores == evaluate(boxes, data, plain, expected(Verdict.OK), tmp_path).scores != []
