"""What of an inspection's findings is suspicious: the one rule of the from-scratch league."""

from pathlib import Path
from typing import Any

import pytest

from anyshot_core.wire.evidence import (
    FEW_BYTES,
    FEW_NUMBERS,
    PIECES_BYTES,
    WIDE_BYTES,
    Evidence,
    FoundCode,
    FoundFile,
)


def file(**changes: Any) -> FoundFile:
    values = {"path": "a.npy", "bytes": 100, "sha256": "0" * 64, "kind": "numpy", "tensors": 1}
    return FoundFile.model_validate({**values, "parameters": 3, "shapes": ["3"], **changes})


def test_an_inspection_that_ended_and_found_nothing_is_clean() -> None:
    assert Evidence(complete=True).suspicious == []
    assert (
        Evidence(complete=True, files=[file(parameters=FEW_NUMBERS)], parameters=FEW_NUMBERS).suspicious == []
    )
    assert Evidence(complete=True, files=[file(tensors=0, bytes=FEW_BYTES)]).suspicious == []
    assert Evidence(complete=True, files=[file(bytes=WIDE_BYTES)] * 16).suspicious == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Evidence(), "The inspection did not end: no reason was given."),
        (Evidence(problem="no memory"), "The inspection did not end: no memory."),
        (Evidence.model_validate({}), "The inspection did not end: no reason was given."),
        (Evidence(complete=True, known=["vgg16"]), "The zip contains vgg16."),
        (Evidence(complete=True, known=["vgg16"], files=[file(known_as="vgg16")]), "a.npy is vgg16."),
        (Evidence(complete=True, files=[file(parameters=FEW_NUMBERS + 1)]), "a.npy holds 1,001 numbers (numpy)."),
        (
            Evidence(complete=True, files=[file(tensors=0, parameters=0, bytes=FEW_BYTES + 1, kind="opaque")]),
            "a.npy has 4,001 bytes that could not be read as arrays (opaque).",
        ),
        (
            Evidence(complete=True, files=[file(bytes=WIDE_BYTES + 1)]),
            "a.npy has 16,385 bytes, more than its numbers take (numpy).",
        ),
        (
            Evidence(complete=True, files=[file(bytes=PIECES_BYTES // 16 - 1)] * 17),
            "17 small files have 278,511 bytes together.",
        ),
        (
            Evidence(complete=True, code=[FoundCode(path="m.py", line=3, what="download: urlopen")]),
            "m.py, line 3: download: urlopen.",
        ),
        (
            Evidence(complete=True, code=[FoundCode(path="m.py", line=0, what="does not parse")]),
            "m.py: does not parse.",
        ),
    ],
)  # fmt: skip
def test_each_sign_is_told_in_words(found: Evidence, words: str) -> None:
    assert found.suspicious == [words]


def test_organizers_are_told_what_is_suspicious() -> None:
    page = (Path(__file__).parents[3] / "docs" / "organizers" / "running.md").read_text()
    assert FEW_NUMBERS == 1000 and f"a thousand numbers or {WIDE_BYTES >> 10} KiB" in page
    assert f"have {PIECES_BYTES >> 10} KiB together" in page


def test_a_reader_leaves_what_it_does_not_know() -> None:
    assert Evidence.model_validate({"complete": True, "of_a_later_release": 1}).suspicious == []
