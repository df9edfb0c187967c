"""Texts of messages come from the code of participants too."""

import pytest

from anyshot_core.wire.evidence import Evidence
from anyshot_core.wire.worker_api import Progress, Stage


@pytest.mark.parametrize("broken", ["\x00", "\ud800", "\udfff"])
def test_what_no_database_or_json_holds_is_replaced_wherever_it_stands(broken: str) -> None:
    progress = Progress(stage=Stage.SCORING, message=f"a{broken}b")
    assert Progress.model_validate_json(progress.model_dump_json()).message == "a\ufffdb"
    file = {"path": f"{broken}.npy", "bytes": 1, "sha256": "0" * 64, "kind": "numpy", "shapes": [broken]}
    counts = {"tensors": 1, "parameters": 1}
    (found,) = Evidence.model_validate({"complete": True, "files": [file | counts]}).files
    assert (found.path, list(found.shapes)) == ("\ufffd.npy", ["\ufffd"])


def test_every_other_text_stays_as_it_is() -> None:
    text = "é 漢字 😀 \t\n\x1b[31m"
    assert Progress(stage=Stage.SCORING, message=text).message == text
