"""Every failure of a run, as a real worker tells it and as the real platform shows it."""

from __future__ import annotations

import html
import re
import threading
import time
from typing import Any

import pytest

from anyshot_core.taskserver.job import Failure
from anyshot_core.wire.jobs import Evaluate
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Progress
from anyshot_core.wire.worker_api import Stage as RunStage
from anyshot_platform.judging import results
from anyshot_platform.phases.states import QueryOrder
from anyshot_platform.runs.models import Run
from anyshot_platform.site.submissions.words import blame
from anyshot_platform.sweeper import sweep
from anyshot_worker import carry_out
from anyshot_worker.announcement import announce
from anyshot_worker.attempt import Failed
from tests.contract.stage import Stage
from tests.contract.test_releases import OldSite, quota
from tests.platform.site import Person, make_zip
from tests.worker.test_query_order import COUNTING


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page)))


def submit(stage: Stage, name: str, code: str = COUNTING, **wishes: Any) -> tuple[Person, str]:
    person = stage.site.member(name)
    sent = person.submit(make_zip({"model.py": code.encode()}), **wishes)
    assert sent.status_code == 201, sent.text
    return person, sent.json()["id"]


FAILING = COUNTING.replace(
    "    def fit(self, support): return",
    "    seen = 0\n    def fit(self, support):\n        MyLearner.seen += 1\n"
    "        if MyLearner.seen == 4: raise ValueError('the fourth')\n        return",
)
NOT_A_NUMBER = COUNTING.replace("return np.eye", "return np.nan * np.eye")


@pytest.mark.parametrize(("code", "tasks"), [(FAILING, 3), (NOT_A_NUMBER, 0)])
def test_a_failure_in_the_first_seconds_is_shown_at_its_stage(stage: Stage, code: str, tasks: int) -> None:
    alice, shown = submit(stage, "alice", code)
    stage.worker().work()
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert "Stage Meta-testing" in page and "Stage Preparing" not in page
    run = stage.shown(alice, shown)["runs"][0]
    assert (run["tasks_done"], run["task_index"]) == (tasks, tasks)


def test_a_failure_can_be_told_to_a_site_of_the_last_release(stage: Stage) -> None:
    stage.site.set_version(query_order=QueryOrder.TEST_SEEDS)
    alice, shown = submit(stage, "alice", FAILING)
    stage.worker("new", OldSite(stage.site.client)).work()
    seen = stage.shown(alice, shown)
    assert (seen["status"], seen["cause"], seen["runs"][0]["verdict"]) == (
        "failed",
        "participant",
        "RUNTIME_ERROR",
    )


FAILURES = [verdict for verdict in Verdict if verdict.cause not in (None, Cause.USER)]


@pytest.mark.parametrize("verdict", FAILURES)
def test_every_verdict_is_shown_with_whose_fault_it_was_and_what_it_cost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    """What the sandbox found is put in its place; who says it, and all that follows, is real."""

    def end(attempt: Any) -> Any:
        attempt.lease.report(Progress(stage=RunStage.META_TESTING, tasks_done=2, tasks_total=6))
        raise Failed(Failure(verdict, "what the sandbox found", task_index=2))

    monkeypatch.setitem(carry_out.KINDS, Evaluate, end)
    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    alice, shown = submit(stage, "alice")
    stage.worker().work()
    seen = stage.shown(alice, shown)
    cause = Cause.PARTICIPANT if verdict.cause == Cause.UNCLEAR else verdict.cause
    assert (seen["status"], seen["cause"]) == ("failed", cause)
    charged = cause == Cause.PARTICIPANT
    assert (seen["counts_quota"], quota(alice)) == (charged, int(charged))
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert blame(Verdict(seen["runs"][0]["verdict"]), Cause(seen["cause"])).sentence in page
    assert "Stage Meta-testing" in page
    assert stage.site.board()["rows"] == []


MISCHIEF = {
    Verdict.TIME_LIMIT: "import time; time.sleep(60)",
    Verdict.RUNTIME_ERROR: "import os; os._exit(0)",
    Verdict.KILLED: "import os; os.kill(os.getpid(), 9)",
}


@pytest.mark.parametrize("verdict", MISCHIEF)
def test_what_code_does_is_shown_as_what_it_did(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    stage.site.set_version(task_seconds=2.0)
    code = COUNTING.replace("return Counts(", f"{MISCHIEF[verdict]}; return Counts(")
    alice, shown = submit(stage, "alice", code)
    stage.worker().work()
    seen = stage.shown(alice, shown)
    told = Verdict.RUNTIME_ERROR if verdict == Verdict.KILLED else verdict
    assert (seen["verdict"], seen["cause"], quota(alice)) == (told, Cause.PARTICIPANT, 1)
    assert seen["runs"][0]["attempt"] == (2 if verdict == Verdict.KILLED else 1)
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert blame(told, Cause.PARTICIPANT).sentence in page and "Stage Meta-testing" in page


def test_a_run_that_is_cancelled_while_it_runs_is_shown_as_cancelled(stage: Stage) -> None:
    code = COUNTING.replace("return MyLearner()", "print('begun', flush=True); import time; time.sleep(300)")
    alice, shown = submit(stage, "alice", code)
    work = threading.Thread(target=stage.worker().work)
    work.start()
    while "begun" not in alice.call("GET", f"/submissions/{shown}/log.txt").text:
        assert work.is_alive()
        time.sleep(0.1)
    assert alice.call("POST", f"/api/v1/submissions/{shown}/cancel").status_code == 200
    work.join(60)
    seen = stage.shown(alice, shown)
    assert (seen["status"], seen["cause"]) == ("cancelled", Cause.USER)
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert blame(Verdict.CANCELLED, Cause.USER).sentence in page


def test_a_worker_that_vanishes_three_times_is_our_fault(stage: Stage) -> None:
    alice, shown = submit(stage, "alice")
    worker = stage.worker()
    for attempt in (1, 2, 3):
        job = worker.client.claim(announce("real", "cpu", stage.sandboxes))
        assert job is not None and stage.shown(alice, shown)["runs"][0]["attempt"] == attempt
        with stage.site.services.database.writing() as session:
            run = session.get_one(Run, job.run_id)
            run.lease_expires_at = run.claimed_at  # time passes, and no word comes
        assert sweep(stage.site.services)["lost"] == 1
    seen = stage.shown(alice, shown)
    assert (seen["verdict"], seen["cause"], quota(alice)) == (Verdict.WORKER_LOST, Cause.INFRASTRUCTURE, 0)
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert blame(Verdict.WORKER_LOST, Cause.INFRASTRUCTURE).sentence in page


def test_a_worker_that_stops_gives_its_run_back_and_it_costs_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, shown = submit(stage, "alice")
    stopping = stage.worker("stopping")

    def end(attempt: Any) -> Any:
        stopping.site.draining.set()
        attempt.check()

    monkeypatch.setitem(carry_out.KINDS, Evaluate, end)
    stopping.work()
    seen = stage.shown(alice, shown)
    assert (seen["status"], seen["runs"][0]["verdict"]) == ("queued", None)
    monkeypatch.undo()
    stage.worker("going-on").work()
    assert (stage.shown(alice, shown)["status"], quota(alice)) == ("finished", 1)
