"""One attempt, from the assignment to what the platform is told, with the submission in a plain child process."""

import io
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from anyshot_core.data.digests import digest_file
from anyshot_core.results import read_predictions, read_results
from anyshot_core.wire import jobs
from anyshot_core.wire.jobs import Budget, Evaluate, Limits, PackRef, Rescore, Smoke
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import LogPolicy, Series
from anyshot_core.wire.worker_api import Stage as Phase
from anyshot_worker import chain, predictions
from anyshot_worker.attempt import RunAttempt, Site
from anyshot_worker.carry_out import carry_out
from anyshot_worker.claiming import RunClaimer, announce
from anyshot_worker.client import PlatformUnreachable, RequestRefused, WorkerApiError, WorkerClient
from anyshot_worker.events import LogShipper
from anyshot_worker.materials import PACK_SUFFIX
from anyshot_worker.predictions import CollectedAnswers, collect_answers
from anyshot_worker.sandbox import Sandboxes, SandboxSettings
from anyshot_worker.workspace import Workspace
from tests.services.material import BASELINES, TEST, TRAIN, zip_folder
from tests.worker.paper_platform import PaperPlatform
from tests.worker.test_log_shipper import fill_disk

SLOW = """
import time
from api import *
class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        print("learning", flush=True)
        time.sleep(3600)
class MyLearner(Learner):
    def fit(self, s): pass
    def save(self, p): pass
    def load(self, p): pass
"""


LOGS = """
import numpy as np
from api import *
class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        for number, task in enumerate(train(8), 1):
            self.log(task, np.zeros(len(task.query_set[1]), dtype=int), loss=1.0 / number)
        return MyLearner()
class MyLearner(Learner):
    def fit(self, support): return MyPredictor()
    def save(self, p): pass
    def load(self, p): pass
class MyPredictor(Predictor):
    def predict(self, images): return np.zeros(len(images), dtype=int)
"""


@pytest.fixture(scope="module")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    settings = SandboxSettings(
        sandbox="trusted",
        trust_all_submissions=True,
        state_folder=tmp_path_factory.mktemp("state"),
        pool_size=0,
    )
    made = Sandboxes.from_settings(settings)
    yield made
    made.close()


class Stage:
    """A paper platform, a worker's site on it, and assignments to hand out."""

    def __init__(self, folder: Path, packs: dict[str, Path], sandboxes: Sandboxes) -> None:
        self.platform, self.packs, self.folder = PaperPlatform(), packs, folder
        client = cast(WorkerClient, self.platform)
        workspace = Workspace(folder / "workspace", 1 << 30, client)
        self.site = Site("tester", client, workspace, sandboxes, threading.Event())

    def assignment(self, bundle: Path, kind: type[jobs.Tested] = Evaluate, **changes: Any) -> jobs.Tested:
        values: dict[str, Any] = {
            "submission": self.platform.keep(bundle),
            "meta_train": self.refs(TRAIN),
            "meta_test": self.refs(TEST),
            "protocol": {"name": "any_way_any_shot", "ways": [2, 5], "shots": [1, 3], "query": 10},
            "tasks": 6,
            "query_key": "5e" * 32,
            "fingerprint": "f1" * 32,
            "budget": Budget(run_seconds=60),
        }
        return self.platform.job(kind.model_fields["kind"].default, **(values | changes))

    def refs(self, names: tuple[str, ...]) -> list[PackRef]:
        return [PackRef(name=n, domain="d-" + n[:3], blob=self.platform.keep(self.packs[n])) for n in names]

    def baseline(self, name: str) -> Path:
        return zip_folder(BASELINES / name, self.folder / f"{name}.zip")

    def code(self, text: str) -> Path:
        folder = self.folder / "code"
        folder.mkdir()
        (folder / "model.py").write_text(text)
        return zip_folder(folder, self.folder / "code.zip")


@pytest.fixture
def stage(tmp_path: Path, demo_packs: dict[str, Path], sandboxes: Sandboxes) -> Stage:
    return Stage(tmp_path, demo_packs, sandboxes)


def in_background(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_finished_attempt_announces_its_score_after_its_files(stage: Stage) -> None:
    carry_out(stage.assignment(stage.baseline("nearest_prototype")), stage.site)
    assert not stage.platform.failed
    (done,) = stage.platform.completed
    (summary,) = stage.platform.scored
    assert summary.tasks == 6 and summary.mean > 0.2
    assert {a.name for a in done.artifacts} >= {"results.parquet", "predictions.parquet", "log.txt"}
    table = read_results(io.BytesIO(stage.platform.artifacts["results.parquet"])).table
    assert table.normalized_accuracy.mean() == pytest.approx(summary.mean)
    assert set(table.dataset) == set(TEST)
    predictions = read_predictions(io.BytesIO(stage.platform.artifacts["predictions.parquet"])).predictions
    assert predictions.classes.min() >= 0
    assert done.usage.participant_seconds > 0
    assert {"prepare", "sandbox_start", "scoring"} <= set(done.usage.platform_seconds)
    assert done.provenance.protocol_digest and done.provenance.worker == "tester"


def test_a_smoke_test_of_isolated_tasks_is_scored(stage: Stage) -> None:
    """Its learner is kept by nobody: it crosses from box to box alone."""
    carry_out(stage.assignment(stage.baseline("nearest_prototype"), Smoke, isolated_tasks=True), stage.site)
    assert [one.tasks for one in stage.platform.scored] == [6], stage.platform.failed


def test_what_the_logger_says_goes_to_the_platform_while_the_attempt_lasts(stage: Stage) -> None:
    carry_out(stage.assignment(stage.code(LOGS)), stage.site)
    assert not stage.platform.failed, stage.platform.failed
    found = [one for one in stage.platform.measures if one.series == Series.TRAINING]
    assert sum(one.rows for one in found) == 8 and found[-1].step == 8
    assert {one.stage for one in found} == {Phase.META_TRAINING}
    total = sum((one.loss or 0.0) * one.rows for one in found)
    assert total == pytest.approx(sum(1 / number for number in range(1, 9)), rel=1e-5)
    used = [one for one in stage.platform.measures if one.series == Series.RESOURCES]
    assert {Phase.PREPARING, Phase.META_TRAINING, Phase.META_TESTING} >= {one.stage for one in used} != set()
    assert any(one.memory_bytes for one in used) and all((one.cpu_cores or 0) >= 0 for one in used)


def test_a_logger_is_not_heard_where_the_phase_shows_no_output(stage: Stage) -> None:
    carry_out(stage.assignment(stage.code(LOGS), log_policy=LogPolicy.NOTHING), stage.site)
    assert not stage.platform.failed, stage.platform.failed
    assert {one.series for one in stage.platform.measures} == {Series.RESOURCES}


def test_the_same_assignment_gives_the_same_predictions(stage: Stage) -> None:
    for _ in range(2):
        carry_out(stage.assignment(stage.baseline("nearest_prototype")), stage.site)
    first, second = stage.platform.scored
    assert first.by_dataset == second.by_dataset


def test_predictions_can_be_scored_again_without_the_submission(stage: Stage, tmp_path: Path) -> None:
    carry_out(stage.assignment(stage.baseline("nearest_prototype")), stage.site)
    answers = tmp_path / "predictions.parquet"
    answers.write_bytes(stage.platform.artifacts["predictions.parquet"])
    first_job = stage.assignment(stage.baseline("random")).model_dump(exclude={"kind"})
    carry_out(Rescore.model_validate({**first_job, "predictions": stage.platform.keep(answers)}), stage.site)
    first, second = stage.platform.scored
    assert second.mean == first.mean


def test_an_exception_in_the_submission_is_the_participants(stage: Stage) -> None:
    broken = stage.code(SLOW.replace("time.sleep(3600)", "raise ValueError('lost the plot')"))
    carry_out(stage.assignment(broken), stage.site)
    (failure,) = stage.platform.failed
    assert failure.verdict is Verdict.RUNTIME_ERROR
    assert "lost the plot" in failure.detail + failure.message
    assert "log.txt" in {a.name for a in failure.artifacts}
    assert not stage.platform.completed


@pytest.mark.seconds("waits for attempts, leases and daemons", each_time=True)
def test_the_budget_is_enforced_from_outside(stage: Stage) -> None:
    carry_out(stage.assignment(stage.code(SLOW), budget=Budget(run_seconds=3)), stage.site)
    assert stage.platform.failed[0].verdict is Verdict.TIME_LIMIT


@pytest.mark.seconds("waits for attempts, leases and daemons", each_time=True)
def test_a_cancel_ends_the_attempt(stage: Stage) -> None:
    thread = in_background(lambda: carry_out(stage.assignment(stage.code(SLOW)), stage.site))
    while not any("learning" in event.text for event in stage.platform.events):
        time.sleep(0.05)
    stage.platform.cancel = True
    thread.join()  # the submission itself sleeps for longer than a test may take
    assert stage.platform.failed[0].verdict is Verdict.CANCELLED


@pytest.mark.seconds("waits for attempts, leases and daemons", each_time=True)
def test_a_cancel_while_it_is_scored_leaves_no_score(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def collect(attempt: RunAttempt[Any], *arguments: Any) -> CollectedAnswers:
        stage.platform.cancel = True
        while attempt.lease.stop_reason is None:
            time.sleep(0.05)
        return collect_answers(attempt, *arguments)

    monkeypatch.setattr(chain, "collect_answers", collect)
    carry_out(stage.assignment(stage.baseline("nearest_prototype")), stage.site)
    assert stage.platform.failed[0].verdict is Verdict.CANCELLED
    assert not stage.platform.completed and "results.parquet" not in stage.platform.artifacts


def test_a_box_that_the_janitor_ends_is_not_the_participants_failure(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the outer limit: what the participant may take of it has ended long before."""
    monkeypatch.setattr(predictions, "outer_seconds", lambda assignment: -100.0)
    thread = in_background(lambda: carry_out(stage.assignment(stage.code(SLOW)), stage.site))
    while not any("learning" in event.text for event in stage.platform.events):
        time.sleep(0.05)
    stage.site.sandboxes.sweep()
    thread.join(300)
    (failure,) = stage.platform.failed
    assert failure.verdict.cause is Cause.INFRASTRUCTURE


def test_a_draining_worker_gives_its_lease_back(stage: Stage) -> None:
    thread = in_background(lambda: carry_out(stage.assignment(stage.code(SLOW)), stage.site))
    while not any("learning" in event.text for event in stage.platform.events):
        time.sleep(0.05)
    stage.site.draining.set()
    thread.join(300)
    assert stage.platform.released == ["run"] and not stage.platform.failed


@pytest.mark.seconds("waits for attempts, leases and daemons", each_time=True)
def test_an_attempt_that_lost_its_lease_says_nothing(stage: Stage) -> None:
    thread = in_background(lambda: carry_out(stage.assignment(stage.code(SLOW)), stage.site))
    while not any("learning" in event.text for event in stage.platform.events):
        time.sleep(0.05)
    stage.platform.stale = True
    thread.join(300)
    assert not (stage.platform.failed or stage.platform.completed or stage.platform.released)


@pytest.mark.parametrize("error", [PlatformUnreachable, RequestRefused])
@pytest.mark.parametrize("call", ["upload", "complete"])
def test_a_result_that_does_not_get_through_is_tried_again_and_nobody_is_called_lost(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, call: str, error: type[WorkerApiError]
) -> None:
    """The platform is there, as heartbeats tell: told, the run is put off; untold, a worker would count as lost."""
    real = getattr(stage.platform, call)

    def broken(*arguments: Any) -> Any:
        if "log.txt" in arguments:
            return real(*arguments)
        raise error("the connection was reset")

    monkeypatch.setattr(stage.platform, call, broken)
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    (failure,) = stage.platform.failed
    assert failure.verdict.cause is Cause.INFRASTRUCTURE and not stage.platform.completed
    assert "the connection was reset" in failure.private


def test_a_download_that_does_not_get_through_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> None:
        raise PlatformUnreachable("the connection was reset")

    monkeypatch.setattr(stage.platform, "fetch", broken)
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    assert [one.verdict.cause for one in stage.platform.failed] == [Cause.INFRASTRUCTURE]


def test_a_pool_larger_than_the_cache_is_tested_on(stage: Stage) -> None:
    workspace = Workspace(stage.folder / "small", 1, cast(WorkerClient, stage.platform))
    carry_out(stage.assignment(stage.baseline("random")), replace(stage.site, workspace=workspace))
    assert not stage.platform.failed and len(stage.platform.completed) == 1


def test_a_damaged_file_of_the_cache_is_ours_and_the_next_attempt_has_it_whole(stage: Stage) -> None:
    """The disk lost something: no organizer can mend that."""
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    pack = stage.site.workspace.path(digest_file(stage.packs[TEST[0]]), PACK_SUFFIX)
    content = bytearray(pack.read_bytes())
    content[:64] = bytes(64)
    pack.unlink()
    pack.write_bytes(content)
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    assert [one.verdict.cause for one in stage.platform.failed] == [Cause.INFRASTRUCTURE]
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    assert len(stage.platform.failed) == 1 and len(stage.platform.completed) == 2


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"meta_test": []}, Verdict.BAD_POOL),
        ({"tasks": 0}, Verdict.BAD_SETTINGS),
        ({"image": "not-offered"}, Verdict.BAD_IMAGE),
    ],
)
def test_what_the_organizer_set_wrong_is_the_organizers(
    stage: Stage, changes: dict[str, Any], verdict: Verdict
) -> None:
    carry_out(stage.assignment(stage.baseline("random"), **changes), stage.site)
    assert stage.platform.failed[0].verdict is verdict


def test_a_full_disk_is_ours_and_is_told_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was told when the time was up, as the participant's failure, or never."""

    def on_full_disk(*arguments: Any) -> LogShipper:
        shipper = LogShipper(*arguments)
        fill_disk(shipper)
        return shipper

    monkeypatch.setattr("anyshot_worker.carry_out.LogShipper", on_full_disk)
    printing = stage.code(SLOW.replace('"learning"', '"learning " * 10_000'))
    carry_out(stage.assignment(printing, budget=Budget(run_seconds=20)), stage.site)
    (failure,) = stage.platform.failed
    assert failure.verdict.cause is Cause.INFRASTRUCTURE
    assert "No space left on device" in failure.private


def test_an_attempt_that_cannot_even_begin_is_told(stage: Stage) -> None:
    """Untold, its lease ran out, three times, and the run counted as one that takes workers down."""
    stage.site.workspace.scratch.rmdir()
    carry_out(stage.assignment(stage.code(SLOW)), stage.site)
    (failure,) = stage.platform.failed
    assert failure.verdict.cause is Cause.INFRASTRUCTURE
    assert "FileNotFoundError" in failure.private


def test_a_run_may_print_as_much_as_its_phase_says(stage: Stage) -> None:
    printing = stage.code(SLOW.replace("time.sleep(3600)", "print('x' * 1_500_000); 1 / 0"))
    for most in (1 << 20, 2 << 20):
        carry_out(stage.assignment(printing, limits=Limits(output_bytes=most)), stage.site)
    much, right = stage.platform.failed
    assert (much.verdict, right.verdict) == (Verdict.OUTPUT_LIMIT, Verdict.RUNTIME_ERROR)
    assert much.message == "The submission produced more than 1 MiB of output; print or log less."


def test_nothing_is_left_behind(stage: Stage) -> None:
    carry_out(stage.assignment(stage.baseline("random")), stage.site)
    assert not list(stage.site.workspace.scratch.iterdir())


def test_a_desk_works_until_nothing_is_left(stage: Stage) -> None:
    stage.platform.queue += [stage.assignment(stage.baseline("random")) for _ in range(2)]
    claimer = RunClaimer(
        stage.site, announce("tester", "cpu", stage.site.sandboxes), slots=1, poll_seconds=60
    )
    claimer.work()
    assert not stage.platform.failed
    assert len(stage.platform.completed) == 2 and claimer.idle


def test_a_desk_claims_nothing_while_the_sandbox_cannot_be_used(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim would fail at once, and three of those give the run up."""
    stage.platform.queue.append(stage.assignment(stage.baseline("random")))
    claimer = RunClaimer(
        stage.site, announce("tester", "cpu", stage.site.sandboxes), slots=1, poll_seconds=60
    )
    monkeypatch.setattr(stage.site.sandboxes, "usable", lambda: False)
    claimer.work()
    assert len(stage.platform.queue) == 1
    monkeypatch.undo()
    claimer.work()
    assert not stage.platform.queue and len(stage.platform.completed) == 1
