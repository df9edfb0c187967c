"""Every failure of a run, as a real worker tells it and as the real platform shows it."""

import html
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anyshot_core.taskserver import server
from anyshot_core.wire.jobs import Evaluate
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.judging.execution import results
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.server.sweeper import sweep
from anyshot_platform.site.submissions.words import blame
from anyshot_worker import carry_out, chain, lease
from anyshot_worker import predictions as evaluate
from anyshot_worker.claiming import announce
from anyshot_worker.sandbox import Backend, Sandboxes, SandboxSettings, flavours
from anyshot_worker.sandbox.bubblewrap import BubblewrapBackend
from anyshot_worker.sandbox.docker import DockerBackend
from anyshot_worker.sandbox.gpu import Gpu, NvidiaDevices
from anyshot_worker.sandbox.slots import take_slot
from anyshot_worker.sandbox.trusted import TrustedBackend
from tests.contract.stage import RealWorker, Stage
from tests.contract.test_releases import quota
from tests.platform.site import Person, make_paper_pack, make_zip
from tests.worker.sandbox.machine import nobody_answers
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
def test_a_failure_in_the_first_seconds_is_shown_at_its_stage(
    stage: Stage, code: str, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "HEARTBEAT_SECONDS", 600.0)  # the first seconds are long on a busy machine
    monkeypatch.setattr(
        lease.Lease, "flush", lambda lease: None
    )  # its last measures may be lost, with the stage
    alice, shown = submit(stage, "alice", code)
    stage.worker().work()
    page = text_of(stage.page(f"/submissions/{shown}", alice))
    assert "Stage Meta-testing" in page and "Stage Preparing" not in page
    run = stage.shown(alice, shown)["runs"][0]
    assert (run["tasks_done"], run["task_index"]) == (tasks, tasks)


# What code does, and what becomes of it.
MISCHIEF = {
    Verdict.TIME_LIMIT: "import time; time.sleep(60)",
    Verdict.RUNTIME_ERROR: "import os; os._exit(0)",
    Verdict.KILLED: "import os; os.kill(os.getpid(), 9)",
    Verdict.MEMORY_LIMIT: "raise MemoryError",
    Verdict.OUTPUT_LIMIT: "import errno; raise OSError(errno.ENOSPC, 'no space left')",
    Verdict.PROTOCOL_ERROR: "import os, time\n        stream = max(map(int, os.listdir('/proc/self/fd')))\n"
    "        os.write(stream, b'no frame'); time.sleep(9)",
    Verdict.BAD_PREDICTION: "return NotNumbers(",
}


def misbehaving(verdict: Verdict) -> str:
    """Code that does in `fit` what the table says, or in `predict` what nobody can read."""
    if verdict == Verdict.BAD_PREDICTION:
        return NOT_A_NUMBER
    return COUNTING.replace(
        "def fit(self, support): return Counts(",
        f"def fit(self, support):\n        {MISCHIEF[verdict]}\n        return Counts(",
    )


@pytest.mark.rotating
@pytest.mark.parametrize("verdict", MISCHIEF)
def test_what_code_does_is_shown_as_what_it_did(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, verdict: Verdict
) -> None:
    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    stage.site.set_version(task_seconds=2.0)
    alice, shown = submit(stage, "alice", misbehaving(verdict))
    stage.worker().work()
    told = Verdict.RUNTIME_ERROR if verdict == Verdict.KILLED else verdict
    seen = require_told(stage, alice, shown, told)
    assert seen["runs"][0]["attempt"] == (2 if verdict == Verdict.KILLED else 1)
    assert "Stage Meta-testing" in text_of(stage.page(f"/submissions/{shown}", alice))


def test_a_login_node_of_a_cluster_is_told_how_many_runs_wait(stage: Stage) -> None:
    submit(stage, "alice")
    told = stage.worker().client.waiting("cpu")
    assert (told.waiting, told.running) == (1, 0)


def test_an_import_error_costs_nothing(stage: Stage) -> None:
    alice, shown = submit(stage, "alice", "import no_such_package\n" + COUNTING)
    stage.worker().work()
    seen = stage.shown(alice, shown)
    assert (seen["verdict"], seen["counts_quota"], quota(alice)) == ("RUNTIME_ERROR", False, 0)


def require_told(stage: Stage, person: Person, shown: str, verdict: Verdict) -> dict[str, Any]:
    """The page says what happened and whose fault it was; the quota pays for one's own faults alone."""
    seen = stage.shown(person, shown)
    assert (seen["status"], seen["verdict"], seen["cause"]) == ("failed", verdict, verdict.cause), seen
    charged = verdict.cause == Cause.PARTICIPANT
    assert (seen["counts_quota"], quota(person)) == (charged, int(charged))
    assert verdict.cause is not None
    sentence = blame(verdict, verdict.cause).sentence
    assert sentence in text_of(stage.page(f"/submissions/{shown}", person))
    assert stage.site.board()["rows"] == []
    return seen


def damage(content: bytes) -> bytes:
    """The zip with a byte of its stored weights changed."""
    assert content.count(b"weights!") == 1
    return content.replace(b"weights!", b"weightz!")


def test_a_zip_that_is_damaged_inside_is_its_teams_to_mend(stage: Stage) -> None:
    alice = stage.site.member("alice")
    content = damage(make_zip({"model.py": COUNTING.encode(), "weights.bin": b"weights!"}))
    sent = alice.submit(content)
    assert sent.status_code == 201, sent.text
    stage.worker().work()
    require_told(stage, alice, sent.json()["id"], Verdict.BAD_ARCHIVE)


def test_data_that_cannot_be_read_are_the_organizers_to_mend(stage: Stage) -> None:
    pack_id = make_paper_pack(stage.site.services, "paper")
    with stage.site.services.database.writing() as session:
        pool = create_pool(session, slug="paper", name="paper", owner_id=stage.site.owner_id)
        version = create_pool_version(
            session, pool, [session.get_one(Pack, pack_id)], created_by=stage.site.owner_id
        )
        paper = version.id
    stage.site.set_version(meta_test_pool_version_id=paper)
    alice, shown = submit(stage, "alice")
    stage.worker().work()
    require_told(stage, alice, shown, Verdict.BAD_POOL)


def test_a_protocol_that_the_data_do_not_allow_is_the_organizers_to_mend(stage: Stage) -> None:
    stage.site.set_version(protocol={"name": "attribute_pairs"})  # of data without attributes
    alice, shown = submit(stage, "alice")
    stage.worker().work()
    require_told(stage, alice, shown, Verdict.BAD_SETTINGS)


def put_in(stage: Stage, backend: Backend, settings: SandboxSettings, **said: Any) -> RealWorker:
    """A worker on other sandboxes, which announces of itself what it could before they broke."""
    sandboxes = Sandboxes(backend, settings)
    worker = stage.worker()
    worker.site = replace(worker.site, sandboxes=sandboxes)
    worker.announced = announce("real", "cpu", stage.sandboxes).model_copy(update=said)
    return worker


def work_blindly(worker: RealWorker) -> None:
    """Claim although the sandboxes are broken, as a worker does whose daemon dies after the claim."""
    while (job := worker.client.claim(worker.announced)) is not None:
        carry_out.carry_out(job, worker.site)


def broken(stage: Stage, verdict: Verdict, folder: Path) -> RealWorker:
    """A machine on which no box can be had, for the reason that is named."""
    settings = SandboxSettings(
        sandbox="trusted",
        trust_all_submissions=True,
        state_folder=folder,
        images_folder=folder / "none",
        docker_host=f"unix://{folder}/no.sock",
        slots=1,
        pool_size=0,
    )
    if verdict == Verdict.DOCKER_ERROR:
        return put_in(stage, DockerBackend(settings), settings)
    if verdict == Verdict.IMAGE_MISSING:
        return put_in(stage, BubblewrapBackend(settings), settings)
    trusted = TrustedBackend(settings)
    if verdict == Verdict.SANDBOX_START:
        take_slot(folder / "slots", settings.uid_base, settings.slots)  # the only one
        return put_in(stage, trusted, settings)
    if verdict == Verdict.GPU_UNHEALTHY:
        stage.site.set_version(gpus=1)
        return put_in(stage, trusted, settings, gpus=["a device that has fallen off the bus"])
    assert verdict == Verdict.BAD_IMAGE
    stage.site.set_version(image="gone")
    return put_in(stage, trusted, settings, images=["gone"])


NO_BOX = (
    Verdict.DOCKER_ERROR,
    Verdict.IMAGE_MISSING,
    Verdict.SANDBOX_START,
    Verdict.GPU_UNHEALTHY,
    Verdict.BAD_IMAGE,
)


@pytest.mark.seconds("a site and a worker for each verdict")
@pytest.mark.parametrize("verdict", NO_BOX)
def test_a_machine_without_a_box_costs_nobody_a_submission(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, verdict: Verdict
) -> None:
    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    with nobody_answers():
        worker = broken(stage, verdict, tmp_path / "broken")
        alice, shown = submit(stage, "alice")
        work_blindly(worker)
        del worker
    require_told(stage, alice, shown, verdict)


@pytest.mark.seconds("whole runs")
@pytest.mark.parametrize("found", [True, False])
def test_a_run_that_is_given_a_gpu_does_not_go_on_without(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: bool
) -> None:
    """The machine's driver tells of a card, and the submission's box finds none; or torch says that it has one."""
    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    monkeypatch.setattr(flavours, "version", lambda _: "2.15.0")  # a torch that can use GPUs
    monkeypatch.setattr(NvidiaDevices, "list", lambda _: [Gpu("GPU-a", "card")])
    if found:
        monkeypatch.setattr(server, "_versions", lambda payload: {"gpus": "1"})
    stage.site.set_version(gpus=1)
    settings = SandboxSettings(
        sandbox="trusted", trust_all_submissions=True, state_folder=tmp_path / "gpu", pool_size=0
    )
    worker = put_in(stage, TrustedBackend(settings), settings, gpus=["card (GPU-a)"])
    alice, shown = submit(stage, "alice")
    work_blindly(worker)
    if found:
        assert stage.shown(alice, shown)["status"] == "finished"
    else:
        seen = require_told(stage, alice, shown, Verdict.GPU_UNHEALTHY)
        assert seen["runs"][0]["attempt"] == 3, "another worker may have one that works"


@pytest.mark.seconds("whole runs")
def test_a_bug_of_ours_costs_nobody_a_submission(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bug is put in its place; what becomes of it is real."""

    def stumble(*_: Any) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(results, "back_off_seconds", lambda *_: 0.0)
    monkeypatch.setattr(evaluate, "collect", stumble)
    alice, shown = submit(stage, "alice")
    stage.worker().work()
    seen = require_told(stage, alice, shown, Verdict.TASK_SERVER_BUG)
    assert "a bug" not in str(seen), "operators read it, not participants"


@pytest.mark.seconds("whole runs")
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

    monkeypatch.setitem(chain.KINDS, Evaluate, end)
    stopping.work()
    seen = stage.shown(alice, shown)
    assert (seen["status"], seen["runs"][0]["verdict"]) == ("queued", None)
    monkeypatch.undo()
    stage.worker("going-on").work()
    assert (stage.shown(alice, shown)["status"], quota(alice)) == ("finished", 1)


# The test that plays each verdict; `test_recorded` holds that there is one for all.
PLAYED = {
    **dict.fromkeys(MISCHIEF, test_what_code_does_is_shown_as_what_it_did),
    **dict.fromkeys(NO_BOX, test_a_machine_without_a_box_costs_nobody_a_submission),
    Verdict.OK: test_a_worker_that_stops_gives_its_run_back_and_it_costs_nothing,
    Verdict.BAD_ARCHIVE: test_a_zip_that_is_damaged_inside_is_its_teams_to_mend,
    Verdict.BAD_POOL: test_data_that_cannot_be_read_are_the_organizers_to_mend,
    Verdict.BAD_SETTINGS: test_a_protocol_that_the_data_do_not_allow_is_the_organizers_to_mend,
    Verdict.TASK_SERVER_BUG: test_a_bug_of_ours_costs_nobody_a_submission,
    Verdict.CANCELLED: test_a_run_that_is_cancelled_while_it_runs_is_shown_as_cancelled,
    Verdict.WORKER_LOST: test_a_worker_that_vanishes_three_times_is_our_fault,
}
