"""A new participant's way in a real browser: from signing up to the row on the leaderboard."""

import io
import os
import zipfile
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import select

from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from tests.contract.recording import play, recorded
from tests.platform.site import summary
from tests.platform.web.conftest import LiveSite
from tests.platform.web.scene import TASKS
from tests.services.browsing import arrive, fill, press, text_of, until

HOSTILE = "<script>alert(1)</script>"
CODE = b"class MyMetaLearner: pass\nclass MyLearner: pass\n"


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())
    return path


@pytest.mark.seconds("a journey in a browser")
def test_from_sign_up_to_queue(live: LiveSite, browser: webdriver.Chrome, tmp_path: Path) -> None:
    slug = live.scene.competition.slug
    browser.get(f"{live.address}/competitions/{slug}/join")
    press(browser, "Create an account")
    arrive(browser, "/sign-up")
    fill(browser, username="grace", email="grace@example.org", password="four quiet blue whales")
    press(browser, "Sign up")
    arrive(browser, f"/competitions/{slug}/join")
    fill(browser, team_name="COBOL Learners")
    browser.find_element(By.NAME, "accept").click()
    press(browser, "Join the competition")
    until(browser, lambda b: "You have joined. The first steps below tick themselves off." in text_of(b))

    press(browser, "Submit")
    arrive(browser, f"/competitions/{slug}/phases/")
    wrong = write_zip(tmp_path / "wrong.zip", {"readme.txt": b"nothing here"})
    (tmp_path / "empty.zip").touch()
    browser.find_element(By.ID, "file").send_keys(str(tmp_path / "empty.zip"))
    until(browser, lambda b: "empty.zip is empty (0 bytes)." in text_of(b))
    browser.find_element(By.ID, "file").send_keys(str(wrong))
    until(browser, lambda b: "would be refused" in text_of(b))
    assert "Failed: Presence of model.py" in text_of(browser) and "`" not in text_of(browser)
    label = browser.find_element(By.CSS_SELECTOR, "[data-progress-label]").text
    assert (
        label == "Uploaded"
        and not browser.find_element(By.CSS_SELECTOR, "[data-upload-pause]").is_displayed()
    )
    assert not browser.find_element(By.CSS_SELECTOR, "button[value=entry]").is_enabled()
    press(browser, "Choose another file")

    good = write_zip(tmp_path / "good.zip", {"model.py": CODE, "weights.bin": os.urandom(9_000_000)})
    browser.find_element(By.ID, "file").send_keys(str(good))
    until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "button[value=entry]").is_enabled())
    assert browser.find_elements(By.CSS_SELECTOR, "#check-list .check--good")
    fill(browser, comment="hand made")
    press(browser, "Submit for scoring")
    arrive(browser, "/submissions/")
    assert "good.zip" in text_of(browser)
    assert "in the queue" in text_of(browser).lower()
    with live.services.database.reading() as session:
        row = session.scalars(select(Submission).where(Submission.comment == "hand made")).one()
        assert row.size > 9_000_000 and row.counts_quota
    browser.get(f"{live.address}/competitions/{slug}/submissions")
    assert "1 of 2 left" in text_of(browser)


@pytest.mark.seconds("a journey in a browser")
def test_without_scripts_the_same_form_submits(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        slug = live.scene.competition.slug
        browser.get(f"{live.address}/competitions/{slug}/phases/feedback/submit")
        good = write_zip(tmp_path / "plain.zip", {"model.py": CODE})
        browser.find_element(By.ID, "file").send_keys(str(good))
        press(browser, "Smoke test first")
        arrive(browser, "/submissions/")
        assert "smoke test" in text_of(browser)
        browser.get(f"{live.address}/competitions/{slug}/phases/feedback/submit")
        bad = write_zip(tmp_path / "bad.zip", {"model.py": b"class MyMetaLearner: pass\n"})
        browser.find_element(By.ID, "file").send_keys(str(bad))
        press(browser, "Smoke test first")
        until(browser, lambda b: "was refused. It cost no quota." in text_of(b))
        assert "MyLearner" in text_of(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.seconds("a journey in a browser")
def test_live_page_follows_the_run_to_its_score(live: LiveSite, browser: webdriver.Chrome) -> None:
    """Queue, stages, progress, log lines and the end, without a reload by hand; then the row on the board."""
    from anyshot_core.wire.worker_api import Events
    from anyshot_platform.judging.execution.scores import combine_scores, record_score
    from anyshot_platform.judging.run_logs.service import keep_events
    from anyshot_platform.judging.runs.states import RunState
    from anyshot_platform.judging.runs.transitions import write_state
    from anyshot_scoring.summary import RunSummary

    live.sign_in(browser, live.scene.ada)
    submission_id = live.scene.submissions["queued"].id
    browser.get(live.path("queued"))
    assert "in the queue" in text_of(browser).lower()

    def change(state: RunState, **values: object) -> Run:
        with live.services.database.writing() as session:
            run = session.scalars(select(Run).where(Run.submission_id == submission_id)).one()
            write_state(session, run, state, **values)
            return run

    change(RunState.CLAIMED, epoch=1)
    change(RunState.META_TRAINING, seconds_used=3.0)
    until(browser, lambda b: "Meta-training: your code learns" in text_of(b))
    (line, *_) = recorded("events")["events"]
    line |= {"at": 1.8e9, "stream": "stdout", "stage": "meta_training"}
    told = [line | {"seq": seq, "text": f"epoch {seq} <script>alert(1)</script>"} for seq in range(300)]
    lines = Events.model_validate(play("events", events=told)).events
    with live.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == submission_id)).one()
        keep_events(session, live.services.settings, run, lines)
    until(browser, lambda b: f"epoch 299 {HOSTILE}" in b.find_element(By.ID, "log").text)
    headings = [one.text for one in browser.find_elements(By.CSS_SELECTOR, ".log__stage")]
    assert headings == ["Meta-training"]
    change(RunState.META_TESTING, tasks_done=50, seconds_used=9.0)
    until(browser, lambda b: f"50 of {TASKS}" in text_of(b))
    with live.services.database.writing() as session:
        run = session.scalars(select(Run).where(Run.submission_id == submission_id)).one()
        record_score(session, run, RunSummary.from_dict(summary(0.7, TASKS)))
        write_state(session, run, RunState.FINISHED)
        submission = session.get_one(Submission, submission_id)
        submission.status = "finished"  # pyright: ignore[reportAttributeAccessIssue]
        combine_scores(session, submission, run.phase_version_id, [run])
    until(browser, lambda b: b.find_elements(By.ID, "results-title") and "0.700" in text_of(b))
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/leaderboard")
    assert "0.700" in browser.find_element(By.ID, f"row-{live.scene.team.id}").text


@pytest.mark.seconds("a journey in a browser")
def test_cancel_asks_once_and_says_what_it_costs(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("queued"))
    press(browser, "Cancel")
    assert "counts towards" in browser.find_element(By.CSS_SELECTOR, "dialog[open]").text
    press(browser, "Cancel the submission")
    until(browser, lambda b: "This submission was cancelled" in text_of(b))


def test_a_failure_says_whose_fault_it_was(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("failed"))
    page = text_of(browser)
    assert "Your code raised an error." in page
    assert "number 42, 5 ways, 3 shots" in page
    assert "It counts towards your quota, because the error was in your code." in page
    own = [line.text for line in browser.find_elements(By.CSS_SELECTOR, ".trace__line--own")]
    assert any("model.py" in line for line in own) and not any("dist-packages" in line for line in own)
    assert "anyshot dry-run" in browser.find_element(By.ID, "reproduce").text
    browser.get(live.path("lost"))
    assert "This was our fault, not yours." in text_of(browser)


def test_theme_and_menu_by_keyboard(live: LiveSite, browser: webdriver.Chrome) -> None:
    browser.get(live.address)
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    )
    light = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element(By.CSS_SELECTOR, "[data-theme-toggle]").click()
    dark = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert light != dark
    browser.get(f"{live.address}/competitions")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    browser.execute_script("localStorage.clear()")
