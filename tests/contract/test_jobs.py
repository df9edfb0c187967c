"""Every failure of a run, as a real worker tells it and as the real platform shows it."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from anyshot_core.taskserver.job import Failure
from anyshot_core.wire.jobs import Evaluate
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Progress
from anyshot_core.wire.worker_api import Stage as RunStage
from anyshot_platform.judging import results
from anyshot_platform.phases.states import QueryOrder
from anyshot_platform.site.submissions.words import blame
from anyshot_worker import carry_out
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
