"""Of a log that is too long, beginning and end are kept, and what is gone is counted where it is missing."""

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from anyshot_core.command import main
from anyshot_core.taskserver import inbox
from anyshot_core.taskserver.inbox import Output
from anyshot_core.taskserver.job import OutputCaps, TaskServerJob
from anyshot_core.wire.frames import Frame, FrameType
from anyshot_core.wire.jobs import Budget
from anyshot_core.wire.messages import Stream
from anyshot_core.wire.worker_api import LogPolicy, Stage
from anyshot_platform.judging.run_logs.models import EventCount
from anyshot_platform.judging.run_logs.service import gap_words
from anyshot_platform.judging.run_logs.watching import read_marks
from anyshot_worker import events as shipping
from anyshot_worker.client import WorkerClient
from anyshot_worker.events import LogShipper
from tests.platform.site import PaperWorker, Person, Site
from tests.services.processes import free_port
from tests.services.sites import served

TRACEBACK = """\
Traceback (most recent call last):
  File "/scratch/run/program/model.py", line 2, in fit
RuntimeError: the loss is not a number"""
HTML = {"accept": "text/html"}


def capped(site: Site, **caps: int) -> None:
    """Let the site keep no more of an attempt's log."""
    settings = site.services.settings.model_copy(update=caps)
    object.__setattr__(site.services, "settings", settings)


def claimed(site: Site) -> tuple[Person, PaperWorker, dict[str, Any], str]:
    """Alice's submission, that is carried out."""
    alice, worker = site.member("alice"), site.worker()
    shown = alice.submit().json()
    job = worker.claim()
    assert job is not None
    return alice, worker, job, shown["id"]


def printed(first: int, past: int, **more: Any) -> list[dict[str, Any]]:
    """Lines that name their number."""
    return [_line(seq) | more for seq in range(first, past)]


def _line(seq: int) -> dict[str, Any]:
    return {"seq": seq, "stream": "stdout", "stage": "meta_training", "text": f"line {seq}"}


def read(person: Person, submission: str, after: int = 0) -> list[dict[str, Any]]:
    """The log as JSON."""
    path = f"/api/v1/submissions/{submission}/log"
    return person.call("GET", path, params={"after": after, "limit": 1000}).json()


def missing(person: Person, submission: str) -> int:
    """How many lines JSON says are not kept."""
    return person.call("GET", f"/api/v1/submissions/{submission}").json()["runs"][0]["log_lines_missing"]


@pytest.mark.seconds("floods of lines")
def test_beginning_and_end_are_kept_and_the_line_between_them_counts(site: Site) -> None:
    capped(site, events_max_lines=100)
    alice, worker, job, submission = claimed(site)
    for start in range(0, 252, 7):  # as a worker sends them: whatever is there, some of it again
        for _ in range(2):
            assert worker.tell(job, *printed(max(0, start - 3), start + 7)).is_success
        seen = read(alice, submission)
        numbers = [line["seq"] for line in seen]
        kept = [line["text"] for line in seen if line["stream"] != "platform"]
        said = [line["text"] for line in seen if line["stream"] == "platform"]
        gone = missing(alice, submission)
        assert numbers == sorted(numbers) and len(kept) <= 100 and len(kept) + gone == start + 7
        head = min(90, len(kept)) if gone else len(kept)
        tail = len(kept) - head
        assert kept == [f"line {seq}" for seq in [*range(head), *range(head + gone, head + gone + tail)]]
        if gone:
            lines = "1 line" if gone == 1 else f"{gone} lines"
            assert tail >= 5 and seen[head]["text"] == said[0] and len(said) == 1
            assert said[0] == gap_words(gone) and said[0].startswith(f"Left out here: {lines}.")
    assert missing(alice, submission) >= 252 - 100


def test_long_lines_are_capped_by_their_length_and_what_the_platform_says_stays(site: Site) -> None:
    capped(site, events_max_bytes=100_000)
    alice, worker, job, submission = claimed(site)
    for seq in range(0, 200, 20):
        lines = printed(seq, seq + 20, text="ü" * 9_000)
        lines[10] |= {"stream": "platform", "text": f"said {seq}"}
        assert worker.tell(job, *lines).is_success
    assert worker.tell(job, *printed(200, 201)).is_success
    seen = read(alice, submission)
    own = [line for line in seen if line["stream"] != "platform"]
    said = [line["text"] for line in seen if line["text"].startswith("said")]
    assert said == [f"said {seq}" for seq in range(0, 200, 20)]
    assert sum(len(line["text"]) for line in own) <= 100_000 and seen[-1]["text"] == "line 200"
    assert [line["seq"] for line in own][:21] == [*range(10), *range(11, 22)]
    assert len(own) + missing(alice, submission) == 191


def test_who_reads_along_meets_the_line_that_counts_wherever_they_have_come_to(site: Site) -> None:
    capped(site, events_max_lines=100)
    alice, worker, job, submission = claimed(site)
    worker.tell(job, *printed(0, 98))
    (*_, last) = read(alice, submission)
    worker.tell(job, *printed(98, 300))
    worker.tell(job, *printed(300, 500))
    later = read(alice, submission, last["id"])
    assert later[0]["text"].startswith("Left out here") and later[-1]["text"] == "line 499"
    assert all(line["text"].startswith("line") for line in later[1:])


def test_a_cut_is_news_to_who_reads_along(site: Site) -> None:
    """As many lines are kept after it as were before."""
    capped(site, events_max_lines=100)
    _, worker, job, submission = claimed(site)
    marks = list[object]()
    kept = list[int]()
    for start in range(0, 200, 5):
        worker.tell(job, *printed(start, start + 5))
        with site.services.database.reading() as session:
            marks.append(read_marks(session, [submission], 0)[submission])
            kept.append(session.scalars(select(EventCount.lines)).one())
    assert len(set(marks)) == len(marks) and len(set(kept)) < len(kept)


def test_attempts_are_cut_apart(site: Site) -> None:
    capped(site, events_max_lines=20)
    alice, worker, job, submission = claimed(site)
    worker.tell(job, *printed(0, 50))
    assert worker.release(job).is_success
    again = worker.claim()
    assert again is not None and again["epoch"] != job["epoch"]
    worker.tell(again, *printed(0, 15))
    texts = [line["text"] for line in read(alice, submission) if line["epoch"] == again["epoch"]]
    assert texts == [f"line {seq}" for seq in range(15)]
    before = [line["text"] for line in read(alice, submission) if line["epoch"] == job["epoch"]]
    assert before[-1] == "line 49" and before[18].startswith("Left out here: 31 lines")


@pytest.mark.seconds("a flood of lines")
@pytest.mark.parametrize(
    ("length", "scale"),
    [
        (20, 10),
        (300, 10),
        pytest.param(300, 1, marks=pytest.mark.slow("150,000 lines on their way to the platform")),
    ],
)
def test_a_run_that_floods_and_fails_shows_its_traceback_everywhere(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, scale: int
) -> None:
    """From what the code prints to page, text, JSON, command and zip, with the caps as they are set, or a part."""
    settings = site.services.settings
    capped(
        site,
        events_max_lines=settings.events_max_lines // scale,
        events_max_bytes=settings.events_max_bytes // scale,
    )
    monkeypatch.setattr(inbox, "TAIL_LINES", inbox.TAIL_LINES // scale)
    monkeypatch.setattr(shipping, "PATIENCE", 600)
    alice, worker, job, submission = claimed(site)
    with served(site.app, free_port(), lifespan="off") as address:
        whole = _flood(WorkerClient(address, worker.token), job, tmp_path / "log.txt", length, scale)
        assert worker.put(job, "log.txt", whole).is_success
        kept = {"name": "log.txt", "digest": hashlib.sha256(whole).hexdigest(), "size": len(whole)}
        answer = worker.fail(job, "RUNTIME_ERROR", "RuntimeError", artifacts=[kept])
        assert answer.is_success, answer.text
        gone = missing(alice, submission)
        options = ["--server", address, "--token", alice.token]
        told = CliRunner().invoke(main, ["log", submission, *options]).output
        rows = CliRunner().invoke(main, ["log", submission, "--json", *options]).output
    page = alice.call("GET", f"/submissions/{submission}", headers=HTML).text
    text = alice.call("GET", f"/submissions/{submission}/log.txt").text
    kept = len(re.findall(r" stdout: \d{6} ", text))
    assert gone == 150_000 // scale - kept > 0, "one sum, whoever left them out"
    for shown in (page, told, text):
        assert "RuntimeError: the loss is not a number" in shown
        assert " lines of stdout are left out here; these are the last ones:" in shown
        assert f"Left out: {gone:,} lines." in shown
    for shown in (told, text, rows):  # of short lines the platform keeps all that the task server does
        assert ("Left out here: " in shown) == (length == 300)
    assert json.loads(rows.splitlines()[-1])["text"] == TRACEBACK.splitlines()[-1]
    link = f"/api/v1/submissions/{submission}/runs/{job['run_id']}/artifacts/log.txt"
    assert link in page
    assert alice.call("GET", link).content == whole
    everything = alice.call("GET", f"/submissions/{submission}/everything.zip").content
    with zipfile.ZipFile(io.BytesIO(everything)) as archive:
        assert archive.read("runs/1/log.txt") == whole and archive.read("log.txt").decode() == text


def _flood(client: WorkerClient, job: dict[str, Any], file: Path, length: int, scale: int) -> bytes:
    """Print lines and a traceback, as the task server and the worker handle them; returns the worker's file."""
    held = SimpleNamespace(run_id=job["run_id"], epoch=job["epoch"])
    shipper = LogShipper(client, cast(Any, held), file)
    caps = OutputCaps(shown_lines=OutputCaps().shown_lines // scale)
    budget = Budget(run_seconds=60.0)
    wanted = TaskServerJob(Path("none.zip"), (), None, budget, log_policy=LogPolicy.META_TRAIN, caps=caps)
    output = Output(wanted, shipper.add, lambda _: None)
    output.stage = Stage.META_TRAINING
    lines = [f"{number:06} ".ljust(length, ".") for number in range(150_000 // scale)]
    for start in range(0, len(lines), 1_000 // scale):
        _print(output, Stream.STDOUT, "\n".join(lines[start : start + 1_000 // scale]))
    _print(output, Stream.STDERR, TRACEBACK)
    output.flush()
    content = shipper.close().read_bytes()
    client.close()
    return content


def _print(output: Output, stream: Stream, text: str) -> None:
    assert output.take(Frame(FrameType.LOG, bytes([stream]) + f"{text}\n".encode())) is None
