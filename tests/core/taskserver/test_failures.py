"""Whole runs with real runners: each way to fail, its verdict, and what the participant is told."""

import threading

import pytest

from anyshot_core.taskserver.channel import Death
from anyshot_core.taskserver.failures import FailureMoment, of_death
from anyshot_core.taskserver.job import OutputCaps
from anyshot_core.wire.verdicts import Cause, Verdict
from anyshot_core.wire.worker_api import Budget, LogPolicy, Stage
from tests.core.conftest import HONEST, Runs

FIT = "        X, y, original_y"
META_FIT = "        return MyLearner()\n"
ANSWER = "        return -(query_set.mean((1, 2, 3))[:, None] - self.means[None]).abs().numpy()"


def at_fit(code: str) -> str:
    return HONEST.replace(FIT, f"        {code}\n{FIT}")


def at_meta_fit(code: str) -> str:
    return HONEST.replace(META_FIT, f"        {code}\n{META_FIT}")


def answering(expression: str) -> str:
    return HONEST.replace(ANSWER, f"        n = len(query_set)\n        return {expression}")


def test_exception_in_fit_of_a_hidden_task_shows_type_file_and_line_only(runs: Runs) -> None:
    failure = runs.run(at_fit('raise KeyError("secret " + str(support_set[0][0, 0, 0, 0]))')).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR
    assert failure.message == "KeyError in fit (model.py, line 14)."
    assert failure.detail == "model.py, line 14"
    assert "secret" not in failure.message + failure.detail
    assert (failure.task_index, failure.ways) == (0, runs.tasks.spec(0).ways)


def test_exception_in_meta_training_shows_the_traceback(runs: Runs) -> None:
    failure = runs.run(at_meta_fit('raise KeyError("colour")')).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR
    assert failure.message == "KeyError in meta-training: 'colour'"
    assert 'File "model.py", line 9, in meta_fit' in failure.detail
    assert "taskserver" not in failure.detail and "runner/" not in failure.detail


def test_a_missing_wheel_is_not_called_a_missing_class(runs: Runs) -> None:
    failure = runs.run("import no_such_package\n" + HONEST).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR
    assert (
        failure.message
        == "ModuleNotFoundError while model.py was imported: No module named 'no_such_package'"
    )


@pytest.mark.parametrize(
    ("model", "free"),
    [
        ("import no_such_package\n" + HONEST, True),
        (HONEST.replace("(MetaLearner):\n", "(MetaLearner):\n    def __init__(self): pass\n\n"), True),
        (at_meta_fit("raise KeyError('early')"), True),
        (at_meta_fit("import os; os._exit(3)"), True),
        (at_meta_fit("next(meta_train_generator(1)); raise KeyError('late')"), False),
        (at_meta_fit("next(meta_valid_generator(1)); import os; os._exit(3)"), False),
        (at_fit("raise KeyError('tested')"), False),
    ],
)
def test_what_fails_before_meta_fit_asked_for_anything_is_told_apart(
    runs: Runs, model: str, free: bool
) -> None:
    config = '{"train_config": {"N": 2, "k": 1, "query_images_per_class": 2}, "validation_datasets": 1}'
    failure = runs.run(model, files={"config.json": config}).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR
    assert failure.before_training is free


def test_missing_class_is_named(runs: Runs) -> None:
    failure = runs.run(
        HONEST.replace("class MyLearner(", "class OurLearner(").replace("MyLearner()", "OurLearner()")
    ).failure
    assert failure is not None and "model.py defines no MyLearner." in failure.message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "np.full((n, 2), np.nan)[:, : len(self.means)] if len(self.means) == 2 else np.full((n, 3), np.nan)",
            "NaN",
        ),
        ("np.zeros((n, 7))", "predict returned an array of shape [{n}, 7]; expected [{n}, {ways}]"),
        ("np.zeros(n + 1)", "predict returned an array of shape [{more}]; expected"),
        (
            "np.full(n, 5)",
            "the label 5 at position 0; expected [{n}, {ways}] (logits or probabilities) or [{n}]",
        ),
        ("np.arange(n) + 10**9", "a label outside the task's classes; expected [{n}, {ways}]"),
        ("np.zeros((n, 12345))", "predict returned an array of a wrong shape; expected [{n}, {ways}]"),
        ("np.full(n, -1)", "predict returned the label -1 at position 0"),
        ("np.full(n, np.inf)", "predict returned the label inf at position 0"),
        ("np.array(['a'] * n)", "predict returned values of type <U1; expected [{n}, {ways}]"),
        ("None", "predict returned None"),
        ("[[1], [1, 2]]", "predict returned something that cannot be scored."),
    ],
)
def test_bad_predictions_name_what_was_found(runs: Runs, expression: str, message: str) -> None:
    failure = runs.run(answering(expression)).failure
    assert failure is not None and failure.verdict is Verdict.BAD_PREDICTION
    ways = runs.tasks.spec(0).ways
    wanted = message.format(n=3 * ways, more=3 * ways + 1, ways=ways)
    assert wanted in failure.message
    assert (failure.task_index, failure.detail) == (0, "")


@pytest.mark.parametrize(
    "expression",
    [
        "torch.zeros(n, len(self.means))",
        "np.full((n, len(self.means)), -np.inf)",
        "np.zeros(n)",
        "np.full(n, 1.9, dtype=np.float32)",
        "torch.ones(n, dtype=torch.int32)",
        "[0] * n",
        "torch.zeros(n, len(self.means), dtype=torch.bfloat16, requires_grad=True)",
        "np.zeros(n) if len(self.means) == 2 else np.zeros((n, 3))",
    ],
)
def test_accepted_forms_of_predictions(runs: Runs, expression: str) -> None:
    assert runs.run(answering(expression)).failure is None


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os; os._exit(0)", "ended by itself (exit code 0) in fit"),
        ("import sys; sys.exit(0)", "SystemExit in fit"),
        ("import ctypes; ctypes.string_at(0)", "died of SIGSEGV in fit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt in fit"),
    ],
)
def test_endings_are_never_a_score(runs: Runs, code: str, told: str) -> None:
    outcome = runs.run(at_fit(code))
    assert outcome.failure is not None and outcome.verdict is Verdict.RUNTIME_ERROR
    assert told in outcome.failure.message
    assert outcome.results == ()


def test_an_exit_after_the_last_answer_changes_nothing(runs: Runs) -> None:
    model = HONEST + "\nimport atexit, os\natexit.register(os._exit, 9)\n"
    assert runs.run(model).verdict is Verdict.OK


def test_killed_from_outside_is_unclear(runs: Runs) -> None:
    failure = runs.run(at_fit("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")).failure
    assert failure is not None and failure.verdict is Verdict.KILLED
    assert failure.verdict.cause is Cause.UNCLEAR


def test_out_of_memory_as_python_sees_it(runs: Runs) -> None:
    failure = runs.run(at_meta_fit("raise MemoryError")).failure
    assert failure is not None and failure.verdict is Verdict.MEMORY_LIMIT


@pytest.mark.seconds("waits for time limits of the runner", each_time=True)
@pytest.mark.parametrize(
    ("model", "budget", "told"),
    [
        (
            at_meta_fit("import time; time.sleep(600)"),
            Budget(run_seconds=5),  # its import takes of it, too
            "The run used up its 5 seconds in meta-training.",
        ),
        (
            at_meta_fit("import time; time.sleep(600)"),
            Budget(run_seconds=500, meta_train_seconds=0.5),
            "Meta-training used up its 0.5 seconds in meta-training.",
        ),
        (
            at_fit("import time; time.sleep(600)"),
            Budget(run_seconds=500, task_seconds=0.5),
            "The task used up its 0.5 seconds in fit.",
        ),
        (
            "import time; time.sleep(600)\n" + HONEST,
            Budget(run_seconds=0.5),
            "The run used up its 0.5 seconds while model.py was imported.",
        ),
    ],
)
def test_time_limits_are_kept_from_outside(runs: Runs, model: str, budget: Budget, told: str) -> None:
    outcome = runs.run(model, budget=budget)
    assert outcome.failure is not None and outcome.verdict is Verdict.TIME_LIMIT
    assert outcome.failure.message == told
    assert outcome.time.participant_seconds >= 0.5


def test_patched_clock_changes_nothing(runs: Runs) -> None:
    model = (
        "import time\nreal = time.sleep\ntime.time = time.monotonic = time.perf_counter = lambda: 0.0\n"
        + at_fit("real(0.05)")
    )
    assert runs.run(model).time.participant["fit"] >= 0.2  # of 0.3: see test_serve.py on transport


def test_ignoring_signals_does_not_help(runs: Runs) -> None:
    stubborn = at_fit(
        "import signal; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 14, 15)]\n        while True: pass"
    )
    assert runs.run(stubborn, budget=Budget(run_seconds=1)).verdict is Verdict.TIME_LIMIT


def test_cancel_frees_the_runner_at_once(runs: Runs) -> None:
    flag = threading.Event()
    runs.cancelled = flag.is_set
    threading.Timer(1.0, flag.set).start()
    # The submission itself sleeps for longer than a test may take.
    failure = runs.run(at_meta_fit("import time; time.sleep(3600)")).failure
    assert failure is not None and failure.verdict is Verdict.CANCELLED


def test_log_flood_is_stopped(runs: Runs) -> None:
    flood = at_meta_fit("while True: print('x' * 1000)")
    failure = runs.run(flood, caps=OutputCaps(log_bytes=1 << 20)).failure
    assert failure is not None and failure.verdict is Verdict.OUTPUT_LIMIT
    assert failure.message == "The submission produced more than 1 MiB of output; print or log less."


def test_a_flood_of_lines_is_counted_and_not_kept(runs: Runs) -> None:
    caps = OutputCaps(log_lines=20_000, shown_lines=500)
    failure = runs.run(at_meta_fit("while True: print('spam')"), caps=caps).failure
    assert failure is not None and failure.verdict is Verdict.OUTPUT_LIMIT
    assert failure.message == "The submission produced more than 20,000 lines of output; print or log less."
    shown = [line.text for line in runs.lines]
    assert 500 <= shown.count("spam") <= 1_000
    assert "More than 500 lines: of what is printed from here on, the end is kept." in shown


@pytest.mark.parametrize("policy", [LogPolicy.META_TRAIN, LogPolicy.EVERYTHING])
def test_of_a_flood_head_and_end_are_kept_where_they_were_printed(runs: Runs, policy: LogPolicy) -> None:
    """Both before what meta-testing says, with the number of lines between them; a line without an end too."""
    printing = at_meta_fit("print(*(f'line {n}' for n in range(20_000)), 'the end', sep='\\n', end='')")
    model = printing.replace(FIT, f"        print('tested')\n{FIT}")
    assert runs.run(model, caps=OutputCaps(shown_lines=500), log_policy=policy).failure is None
    told = [line for line in runs.lines if line.text.startswith(("line ", "the end"))]
    kept = [line.text for line in told[:-1]]
    assert kept[:500] == [f"line {n}" for n in range(500)] and kept[-400:] == [
        f"line {n}" for n in range(19_600, 20_000)
    ]
    assert told[-1].text == "the end" and {line.stage for line in told} == {Stage.META_TRAINING}
    (gap,) = [line for line in runs.lines if line.left_out and line.stage is Stage.META_TRAINING]
    assert gap.left_out + len(kept) == 20_000 and len(kept) < 1_100
    assert gap.text.startswith(f"{gap.left_out:,} lines of stdout are left out here")
    stages = [line.stage for line in runs.lines]
    assert stages == sorted(stages, key=list(Stage).index) and stages[-1] is Stage.META_TESTING
    assert ("tested" in [line.text for line in runs.lines]) == (policy is LogPolicy.EVERYTHING)


def test_a_line_of_many_megabytes_is_shown_once_and_cut(runs: Runs) -> None:
    assert runs.run(at_meta_fit("print('x' * 20_000_000); print('after')")).failure is None
    texts = [line.text for line in runs.lines]
    assert "after" in texts
    assert max(map(len, texts)) < 70_000
    assert sum(text.startswith("xxx") for text in texts) == 1


def test_logger_flood_is_stopped(runs: Runs) -> None:
    flood = at_meta_fit(
        "task = next(meta_train_generator(1))\n        while True: self.log(task, np.zeros(len(task.query_set[1])))"
    )
    config = '{"train_config": {"N": 2, "k": 1, "query_images_per_class": 2}}'
    failure = runs.run(flood, files={"config.json": config}, caps=OutputCaps(logger_rows=50)).failure
    assert failure is not None and failure.verdict is Verdict.OUTPUT_LIMIT


def test_an_enormous_error_text_is_cut(runs: Runs) -> None:
    failure = runs.run(at_meta_fit("raise ValueError('x' * 50_000_000)")).failure
    assert failure is not None and failure.verdict is Verdict.RUNTIME_ERROR
    assert len(failure.message) < 1_000 and len(failure.detail) < 20_000


def test_an_error_whose_text_fails_is_still_an_error(runs: Runs) -> None:
    code = "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()"
    failure = runs.run(at_meta_fit(code)).failure
    assert failure is not None and failure.message.startswith("Odd in meta-training")


def test_network_and_installs_are_explained_at_once(runs: Runs) -> None:
    failure = runs.run(
        at_meta_fit("import urllib.request; urllib.request.urlopen('http://example.invalid')")
    ).failure
    assert failure is not None and "There is no network where submissions run." in failure.detail
    failure = runs.run(at_meta_fit("import subprocess; subprocess.run(['pip', 'install', 'x'])")).failure
    assert failure is not None and "Nothing can be installed" in failure.message
    assert runs.run("import os\nos.system('pip install POT')\n" + HONEST).failure is None
    assert any("Nothing can be installed" in line.text for line in runs.lines)


def test_a_learner_that_refers_to_what_the_sandbox_replaces_can_be_saved(runs: Runs) -> None:
    """By pickle, by name: it finds the same function again where it is loaded, elsewhere as well."""
    saving = """
    calls = None

    def save(self, path_to_save):
        import os, pickle, socket, subprocess
        calls = [os.system, socket.getaddrinfo, socket.create_connection, socket.socket.connect, subprocess.Popen]
        with open(path_to_save + "/learner", "wb") as file:
            pickle.dump(calls, file)

    def load(self, path_to_load):
        import os, pickle
        with open(path_to_load + "/learner", "rb") as file:
            assert pickle.load(file)[0] is os.system
"""
    before, rest = HONEST.split("    def save(", 1)
    model = before + saving + "\n\nclass MyPredictor(" + rest.split("class MyPredictor(", 1)[1]
    assert runs.run(model).failure is None


def test_bad_config_that_only_the_pool_shows(runs: Runs) -> None:
    failure = runs.run(files={"config.json": '{"validation_datasets": 2}'}).failure
    assert failure is not None and failure.verdict is Verdict.BAD_ARCHIVE
    assert "validation_datasets is 2; allowed is a whole number from 0 to 1" in failure.message


def test_daemon_left_behind_is_killed(runs: Runs) -> None:
    model = at_meta_fit(
        "import os, time\n        if os.fork() == 0:\n            time.sleep(300)\n            os._exit(0)"
    )
    assert runs.run(model).verdict is Verdict.OK


def test_helper_process_cannot_speak_for_the_runner(runs: Runs) -> None:
    model = at_meta_fit(
        "import subprocess, sys\n"
        "        code = 'import os\\nfor d in range(3, 400):\\n  try: os.write(d, b\"garbage\" * 9)\\n'\n"
        "        code += '  except OSError: pass'\n"
        "        subprocess.run([sys.executable, '-c', code], check=True)"
    )
    assert runs.run(model).verdict is Verdict.OK


def test_a_policy_that_shows_everything_shows_the_traceback_of_test_tasks(runs: Runs) -> None:
    failure = runs.run(at_fit('raise KeyError("colour")'), log_policy=LogPolicy.EVERYTHING).failure
    assert failure is not None and "KeyError: 'colour'" in failure.detail


@pytest.mark.parametrize(
    "death",
    [
        Death(killed_by_us=True, signal=9),
        Death(killed_by_us=True, exit_code=137),
        Death(killed_by_us=True, exit_code=0),
        Death(killed_by_us=True, out_of_memory=True),
    ],
)
def test_a_box_that_we_ended_is_never_the_participants_failure(death: Death) -> None:
    moment = FailureMoment("fit", Stage.META_TESTING, LogPolicy.EVERYTHING)
    assert of_death(moment, death, "").failure.verdict.cause is Cause.INFRASTRUCTURE
