"""The from-scratch league: what the real inspection finds in a zip decides who stands on the board."""

import hashlib
import html
import io
import re
import zipfile
from typing import Any

import numpy as np
import pytest

from anyshot_worker import evidence
from tests.contract.stage import BASELINES, Stage
from tests.services.material import zip_folder

INSPECTOR = evidence.INSPECTOR()
MODEL = (BASELINES / "random" / "model.py").read_text()


def bundle(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in {"model.py": MODEL.encode(), **files}.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def weights(numbers: int) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(numbers, dtype=np.float32))
    return buffer.getvalue()


def read_page(stage: Stage) -> str:
    return html.unescape(re.sub("<[^>]+>", " ", stage.page("/competitions/small/leaderboard?league=scratch")))


def enter(stage: Stage, name: str, content: bytes) -> str:
    """A submission to the from-scratch league, run by a real worker; its id."""
    sent = stage.site.member(name).submit(content, leagues=["scratch", "free"])
    assert sent.status_code == 201, sent.text
    stage.worker(f"worker-of-{name}").work()
    return sent.json()["id"]


def organizers_see(stage: Stage, submission_id: str) -> dict[str, Any]:
    rows = stage.site.owner().call("GET", "/api/v1/competitions/small/manage/leagues/entries").json()
    return next(row for row in rows if row["submission"] == submission_id)


def ranked(stage: Stage, league: str) -> set[str]:
    return {row["team"] for row in stage.site.board(league)["rows"]}


def test_a_clean_zip_stands_in_the_from_scratch_league(stage: Stage) -> None:
    found = enter(stage, "alice", bundle({"mean.npy": weights(3)}))
    assert ranked(stage, "scratch") == {"alice"} and "alice" in read_page(stage)
    assert organizers_see(stage, found)["suspicious"] == []


SMUGGLED = {
    "weights behind the numbers of a file": (
        {"mean.npy": weights(3) + bytes(2 << 20)},
        "mean.npy has 2,097,292 bytes, more than its numbers take (numpy).",
    ),
    "a known ImageNet ResNet-18": (
        {"net.npy": (known := weights(50))},
        "net.npy is torchvision resnet18 (ImageNet).",
    ),
    "a download": (
        {"backbone.py": b"from torch.hub import *\nnet = load_state_dict_from_url('https://x')\n"},
        "backbone.py, line 2: download: load_state_dict_from_url.",
    ),
    "an inspection that breaks": (
        {"inner.zip": b"PK this is no zip"},
        "The inspection did not end: BadZipFile",
    ),
}


@pytest.mark.parametrize("what", SMUGGLED)
def test_a_suspicious_zip_waits_for_the_organizers(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    digest = hashlib.sha256(known).hexdigest()[:8]
    monkeypatch.setattr(evidence, "INSPECTOR", lambda: INSPECTOR.replace("f37072fd", digest))
    files, words = SMUGGLED[what]
    mallory = enter(stage, "mallory", bundle(files))
    assert ranked(stage, "scratch") == set() and "mallory" not in read_page(stage)
    assert ranked(stage, "free") == {"mallory"}, "it finished, and other leagues do not ask"
    entry = organizers_see(stage, mallory)
    assert (entry["status"], words in " ".join(entry["suspicious"])) == ("declared", True), entry[
        "suspicious"
    ]
    page = stage.page("/competitions/small/manage/leagues", stage.site.owner())
    assert words in html.unescape(page)


def test_weights_of_unknown_origin_are_suspicious_whole_or_in_pieces(stage: Stage) -> None:
    pieces = {f"piece{n}": bytes([200, n]) * 40_000 for n in range(4)}
    path = stage.folder / "zip"
    path.write_bytes(bundle({"mine.npy": weights(50_000), "few.npy": weights(1000), **pieces}))
    found = evidence.inspect(stage.sandboxes, path)
    assert found.complete and found.suspicious == [
        "mine.npy holds 50,000 numbers (numpy).",
        *(f"piece{n} has 80,000 bytes that could not be read as arrays (opaque)." for n in range(4)),
    ]


def test_baselines_that_learn_from_scratch_are_clean(stage: Stage) -> None:
    path = zip_folder(BASELINES, stage.folder / "all.zip")
    flagged = {line.split("/")[0] for line in evidence.inspect(stage.sandboxes, path).suspicious}
    assert flagged == set()


def test_an_inspection_that_does_not_end_is_the_organizers_to_decide(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "INSPECTOR", lambda: "import time; time.sleep(600)")
    monkeypatch.setattr(evidence, "PATIENCE", 1.0)
    slow = enter(stage, "mallory", bundle({}))
    assert ranked(stage, "scratch") == set()
    assert "did not end" in organizers_see(stage, slow)["suspicious"][0]
    decision = {"entries": [{"submission": slow, "league": "scratch"}], "admit": True, "reason": "looked"}
    owner = stage.site.owner()
    decided = owner.call("POST", "/api/v1/competitions/small/manage/leagues/entries/decide", json=decision)
    assert decided.status_code == 200, decided.text
    assert ranked(stage, "scratch") == {"mallory"}
