"""Whole runs with real runners: what goes right."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.taskserver.conversation import Conversation
from anyshot_core.taskserver.scores import collect
from anyshot_core.wire.verdicts import Verdict
from anyshot_core.wire.worker_api import Budget, LogPolicy, Stage
from tests.core.conftest import HONEST, Runs


def test_honest_submission_is_scored_by_its_labels(runs: Runs) -> None:
    outcome = runs.run()
    assert outcome.failure is None
    assert [result.index for result in outcome.results] == list(range(6))
    pool = runs.tasks.pool
    table = collect(outcome.results, runs.tasks, pool.names, [p.domain for p in pool]).score()
    assert table.normalized_accuracy.min() == 1.0  # colours are told apart without an error


def test_answers_come_back_in_the_order_of_the_protocol(runs: Runs) -> None:
    shown = runs.run()
    plain = runs.run(query_secret=None)
    for a, b in zip(shown.results, plain.results, strict=True):
        assert np.array_equal(a.predictions, b.predictions)
        assert np.array_equal(a.labels, runs.tasks.spec(a.index).query_labels)


def test_time_is_charged_to_whom_it_belongs(runs: Runs) -> None:
    slow = HONEST.replace(
        "        X, y, original_y", "        import time; time.sleep(0.05)\n        X, y, original_y"
    )
    time = runs.run(slow).time
    assert time.participant["fit"] >= 0.2  # of 0.3: what the scheduler takes from us counts as transport
    assert set(time.participant) == {"import", "meta_fit", "load", "fit", "predict"}
    assert {"start", "unpack", "transport", "draw"} <= set(time.platform)
    assert time.participant_seconds == pytest.approx(sum(time.participant.values()))


def test_fit_and_predict_seconds_of_each_task_are_kept(runs: Runs) -> None:
    slow = HONEST.replace(
        "        return -(query", "        import time; time.sleep(0.05)\n        return -(query"
    )
    outcome = runs.run(slow)
    # A server that the scheduler keeps off the processor while it sends counts that as transport: not every task.
    assert np.median([result.predict_seconds for result in outcome.results]) >= 0.05
    assert sum(r.predict_seconds for r in outcome.results) == pytest.approx(
        outcome.time.participant["predict"]
    )


def test_isolated_tasks_forget_and_score_the_same(runs: Runs) -> None:
    counting = (
        HONEST.replace("        X, y, original_y", "        _count()\n        X, y, original_y") + COUNTER
    )
    outcome = runs.run(counting, isolated=True)
    assert outcome.failure is None and len(outcome.results) == 6
    assert runs.run(counting).verdict is Verdict.RUNTIME_ERROR  # in one process the second task is noticed


COUNTER = """
_seen = []


def _count():
    _seen.append(1)
    assert len(_seen) == 1, "I have seen a task before"
"""


def test_saved_learner_is_exported_and_tested_elsewhere(runs: Runs, tmp_path: Path) -> None:
    model = HONEST.replace(
        'open(path_to_save + "/learner", "w").close()',
        'open(path_to_save + "/learner", "w").write("x" * 3_000_000)',
    )
    learner = tmp_path / "learner.bin"
    whole = runs.run(model, keep_learner=learner)
    assert whole.failure is None and learner.stat().st_size > 3_000_000
    shard = runs.run(model, learner=learner)
    assert shard.failure is None
    assert "meta_fit" not in shard.time.participant
    for a, b in zip(whole.results, shard.results, strict=True):
        assert np.array_equal(a.predictions, b.predictions)


def test_meta_training_alone(runs: Runs, tmp_path: Path) -> None:
    outcome = runs.run(tasks=None, keep_learner=tmp_path / "learner.bin")
    assert outcome.failure is None and outcome.results == ()
    assert (tmp_path / "learner.bin").stat().st_size > 0


LOGGING = """
    def meta_fit(self, meta_train_generator, meta_valid_generator):
        for step in range(2):
            for task in meta_train_generator(3):
                self.log(task, np.zeros(len(task.query_set[1])), loss=0.5)
            for task in meta_valid_generator(2):
                self.log(task, task.query_set[1].numpy(), meta_train=False)
        print("trained \\x1b[31mred\\x1b[0m \\x00 <script>")
        return MyLearner()
"""


def test_logger_rows_become_tables(runs: Runs) -> None:
    shape = {"k": 1, "query_images_per_class": 2}
    config = json.dumps(
        {"validation_datasets": 1, "train_config": {"N": 2} | shape, "valid_config": {"N": 3} | shape}
    )
    model = HONEST.replace(
        "    def meta_fit(self, meta_train_generator, meta_valid_generator):\n        return MyLearner()\n",
        LOGGING,
    )
    outcome = runs.run(model, files={"config.json": config})
    assert outcome.failure is None, outcome.failure
    train = outcome.logger_tables["meta_train.csv"].decode().splitlines()
    valid = outcome.logger_tables["meta_validation.csv"].decode().splitlines()
    assert train[0] == "step,iteration,dataset,ways,shots,loss,accuracy,normalized_accuracy"
    assert len(train) == 7 and train[1] == train[4].replace(",4,", ",1,", 1).replace("0,4", "0,1", 1)
    assert [row.split(",")[:2] for row in valid[1:]] == [["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"]]
    assert all(row.endswith(",1,1") for row in valid[1:])
    assert any(line.text == "trained red \u2400 <script>" for line in runs.lines)


TALKING = HONEST.replace(
    "        X, y, original_y",
    '        print("pixels", float(support_set[0][0, 0, 0, 0]))\n        X, y, original_y',
)


@pytest.mark.parametrize(("policy", "shown"), [(LogPolicy.EVERYTHING, True), (LogPolicy.META_TRAIN, False)])
def test_log_policy_hides_meta_testing(runs: Runs, policy: LogPolicy, shown: bool) -> None:
    runs.run("print('imported')\n" + TALKING, log_policy=policy)
    texts = [line.text for line in runs.lines]
    assert "imported" in texts
    assert any("pixels" in text for text in texts) is shown


def test_nothing_is_shown_where_nothing_may_be(runs: Runs) -> None:
    outcome = runs.run("print('imported')\n" + TALKING, log_policy=LogPolicy.NOTHING)
    assert outcome.failure is None and runs.lines == []


def test_progress_tells_stages_in_order(runs: Runs) -> None:
    runs.run()
    stages = [p.stage for p in runs.progress]
    assert stages == sorted(stages, key=list(Stage).index)
    # Where a runner takes 0.2 s to start or to unpack, its preparing is told too.
    assert set(stages) - {Stage.PREPARING} == {Stage.META_TRAINING, Stage.META_TESTING}
    assert runs.progress[-1].tasks_done == runs.progress[-1].tasks_total == 6


def test_budget_is_told_inside(runs: Runs) -> None:
    model = HONEST.replace(
        "        X, y, original_y",
        "        from anyshot_starting_kit import budget\n"
        "        left = budget.remaining()\n"
        "        assert 0 < left.task <= 7 and left.run <= 60 and left.least == left.task, left\n"
        "        X, y, original_y",
    )
    assert runs.run(model, budget=Budget(run_seconds=60, task_seconds=7)).failure is None


def test_inline_pixels_give_the_same(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = runs.run()
    monkeypatch.setattr(ChildChannel, "pixels", property(lambda self: None))
    inline = runs.run()
    assert inline.failure is None
    for a, b in zip(shared.results, inline.results, strict=True):
        assert np.array_equal(a.predictions, b.predictions)


def test_a_reply_that_comes_before_its_sender_goes_on_takes_no_time_back(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Conversation._command

    def send_and_be_held_up(*arguments: Any) -> Any:
        turn = send(*arguments)
        time.sleep(0.05)
        return turn

    monkeypatch.setattr(Conversation, "_command", send_and_be_held_up)
    used = runs.run().time.participant
    assert used["fit"] >= 0 and min(used.values()) >= 0, used
