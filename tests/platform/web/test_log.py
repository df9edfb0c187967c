"""The log of a submission: attempts apart, the earlier folded, and how many lines are not kept."""

import html
import re
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from anyshot_core.wire.worker_api import Stage
from anyshot_platform.judging.run_logs.models import EventCount, RunEvent
from anyshot_platform.judging.runs.models import Attempt, Run
from anyshot_platform.judging.workers.models import Worker, WorkerToken
from anyshot_platform.judging.workers.tokens import create_worker_token
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene


@pytest.fixture
def twice(visitor: Visitor, scene: Scene) -> Visitor:
    """The running submission is in its second attempt: the first worker was lost after `epoch 96`."""
    with visitor.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == scene.submissions["running"].id)).one()
        create_worker_token(session, "w", created_by=scene.organizer.id)
        worker = Worker(name="w", token_id=session.scalars(select(WorkerToken.id)).one())
        session.add(worker)
        session.flush()
        run.epoch = 2
        for number, outcome in ((1, "lease_lost"), (2, "")):
            session.add(
                Attempt(
                    run_id=run.id,
                    epoch=number,
                    number=number,
                    worker_id=worker.id,
                    worker_name="w",
                    ended_at=datetime.now(UTC) if outcome else None,
                    outcome=outcome,
                    private="the name of a machine",
                )
            )
        session.add(EventCount(run_id=run.id, epoch=2, lines=1, bytes=7, dropped=12_345))
        session.add(
            RunEvent(
                run_id=run.id,
                epoch=2,
                seq=0,
                at=datetime.now(UTC),
                stream="stdout",
                stage=Stage.META_TRAINING,
                text="epoch 0 again",
            )
        )
    visitor.sign_in(scene.ada)
    return visitor


def test_each_line_knows_its_time_and_how_the_log_looks_can_be_chosen(twice: Visitor, scene: Scene) -> None:
    page = twice.see(f"/submissions/{scene.submissions['running'].id}")
    times = [int(at) for at in re.findall(r'class="log__line[^>]*data-at="(\d+)"', page)]
    assert len(times) == page.count('class="log__line') and times[-1] > 1_700_000_000
    assert 'id="log-times"' in page and 'id="log-wrap" checked' in page


def test_an_attempt_that_another_one_follows_is_folded(twice: Visitor, scene: Scene) -> None:
    page = twice.see(f"/submissions/{scene.submissions['running'].id}")
    parts = re.findall(r'<details class="log__part"[^>]*?( open)?><summary>([^<]*)</summary>', page)
    assert parts == [("", "Attempt 1: the worker was lost"), (" open", "Attempt 2")]
    assert "the name of a machine" not in page
    assert page.index("step  2900") < page.index("Attempt 2<") < page.index("epoch 0 again")


def test_each_stage_of_an_attempt_has_a_heading_above_its_first_line(twice: Visitor, scene: Scene) -> None:
    run_id = scene.submissions["running"].id
    with twice.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == run_id)).one()
        for seq, (stage, text) in enumerate(
            [
                (Stage.META_TRAINING, "epoch 1"),
                (Stage.PREPARING, "late word of the start"),
                (Stage.META_TRAINING, "epoch 2"),
            ]
        ):
            session.add(
                RunEvent(
                    run_id=run.id,
                    epoch=2,
                    seq=seq + 1,
                    at=datetime.now(UTC),
                    stream="stderr",
                    stage=stage,
                    text=text,
                )
            )
    second = twice.see(f"/submissions/{run_id}").split(">Attempt 2<")[1].split("</details>")[0]
    shown = re.findall(r'<div class="log__(stage|line)[^>]*>([^<]*)<', second)
    assert shown == [
        ("stage", "Meta-training"),
        ("line", "epoch 0 again"),
        ("line", "epoch 1"),
        ("stage", "Preparing"),
        ("line", "late word of the start"),
        ("line", "epoch 2"),
    ]


def test_lines_that_are_not_kept_are_counted(twice: Visitor, scene: Scene) -> None:
    path = f"/submissions/{scene.submissions['running'].id}"
    page = twice.see(path)
    assert "Left out: 12,345 lines." in page and "Whole log" not in page  # the run has not ended
    text = twice.see(f"{path}/log.txt")
    assert "---- Attempt 2 ----\n" in text and text.rstrip().endswith("the end of a long log. ----")
    assert "Left out" not in twice.see(f"/submissions/{scene.submissions['failed'].id}")


def test_json_tells_attempts_apart(twice: Visitor, scene: Scene) -> None:
    lines = twice.client.get(f"/api/v1/submissions/{scene.submissions['running'].id}/log").json()
    assert {line["epoch"] for line in lines} == {1, 2}


def test_one_attempt_has_no_title(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/submissions/{scene.submissions['failed'].id}")
    assert 'class="log log--single"' in page and "33" in page


def _print_lines(visitor: Visitor, scene: Scene, lines: list[tuple[Stage, str]]) -> None:
    with visitor.services.database.writing() as session:
        query = select(Run).where(Run.submission_id == scene.submissions["running"].id)
        run = session.scalars(query).one()
        for seq, (stage, text) in enumerate(lines, 1):
            at = datetime.now(UTC)
            session.add(
                RunEvent(run_id=run.id, epoch=2, seq=seq, at=at, stream="stdout", stage=stage, text=text)
            )
        session.add(EventCount(run_id=run.id, epoch=1, lines=len(lines), bytes=7, dropped=0))


def test_every_line_that_is_kept_is_found_and_read_among_those_around_it(
    twice: Visitor, scene: Scene
) -> None:
    """Lines before the last 1,000 were in the file alone, and no search found them."""
    lines = [(Stage.META_TRAINING, f"iteration {number}") for number in range(1500)]
    lines[10] = (Stage.META_TRAINING, "A 100% Needle_ in the hay")
    lines[20] = (Stage.META_TESTING, "a needle of secret tasks")  # the policy shows meta-training alone
    _print_lines(twice, scene, lines)
    path = f"/submissions/{scene.submissions['running'].id}"
    page = twice.see(path)
    assert "Needle" not in page and f'action="{path}/log"' in page and "All lines" in page
    found = twice.see(f"{path}/log?q=100%25 needle_")
    assert "1 line with “100% needle_”." in html.unescape(found) and "secret tasks" not in found
    assert "No line has “x_”." in html.unescape(twice.see(f"{path}/log?q=x_")), "_ stands for itself"
    (href,) = re.findall(rf'href="({path}/log\?line=\d+#line-\d+)">A 100% Needle', found)
    around = twice.see(href.partition("#")[0])
    shown = re.findall(r'<div class="log__line[^>]*>(?:<a[^>]*>)?([^<]*)<', around)
    assert f'id="{href.partition("#")[2]}"' in around and shown.index("A 100% Needle_ in the hay") > 20
    assert "secret tasks" not in around and "Later lines" in around

    read: list[str] = []  # from the first line to the last, by the page's own links
    place = f"{path}/log"
    while place:
        page = twice.see(place)
        read += [one for one in re.findall(r'<div class="log__line[^>]*>([^<]*)<', page) if one not in read]
        place = next(iter(re.findall(r'href="([^"]+)">Later lines', page)), "")
    kept = [text for stage, text in lines if stage == Stage.META_TRAINING]
    assert [one for one in read if one in kept] == kept
    asked = twice.client.get(f"/api/v1{path}/log?q=NEEDLE").json()
    assert [line["text"] for line in asked] == ["A 100% Needle_ in the hay"]
