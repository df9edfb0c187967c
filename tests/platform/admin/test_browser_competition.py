"""A whole small competition through the pages alone, in a real browser; a worker on paper takes the runs."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from sqlalchemy import select

from anyshot_platform.app import create_app
from anyshot_platform.contest.bundles.reading import read_bundle
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.people.accounts.service import begin_session, create_user
from anyshot_platform.people.users.models import User
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.core.tinydata import write_pack
from tests.platform.admin.zips import zipped
from tests.platform.conftest import Databases
from tests.platform.site import PaperWorker, make_zip
from tests.services import browsing
from tests.services.processes import free_port
from tests.services.sites import served

DEFINITION = """\
anyshot: 1
slug: tiny
title: A tiny competition
terms: terms.md
pages: [{title: Overview, file: overview.md}]
pools: [{name: tiny-pool, title: Tiny pool}]
leagues:
  - {key: free, title: Free-style}
  - {key: scratch, title: Meta-learning, admission: from_scratch}
  - {key: newcomers, title: Newcomers, admission: approval}
phases:
  - key: feedback
    title: Feedback
    start: 2020-01-01
    end: 2090-01-01
    tasks: &tasks {meta_train: tiny-pool, meta_test: tiny-pool, protocol: {name: within_domain, query: 2}, count: 10}
    quota: {per_day: 1, total: 10, running: 5}
    smoke: {pool: tiny-pool}
  - key: final
    title: Final
    kind: final
    start: 2020-01-01
    accepts_uploads: false
    tasks: *tasks
    scoring: {runs: 3, ranking: worst_run}
    shown: {board: organizers, scores: false, after_publishing: true}
    entries: {phase: feedback, gates: [{league: free, score: 0.3}]}
"""
TEAMS = {"anna": 0.8, "ben": 0.6, "cleo": 0.2, "dora": None, "emil": 0.9}  # dora's run fails, emil is banned
FINAL = {"anna": [0.55, 0.50, 0.60], "ben": [0.58, 0.59, 0.52]}


@dataclass(frozen=True)
class Live:
    """A running site."""

    address: str
    services: Services
    worker: PaperWorker


@pytest.fixture
def live(tmp_path: Path, databases: Databases) -> Iterator[Live]:
    """A site without anything but users and a worker's token."""
    port = free_port()
    services = databases.services(tmp_path, base_url=f"http://127.0.0.1:{port}", port=port)
    with services.database.writing() as session:
        for name in ("olga", *TEAMS):
            create_user(session, username=name, email=f"{name}@example.org", password=None)
        token = create_worker_token(session, "paper")
    with (
        served(create_app(services.settings, services), port) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield Live(address, services, PaperWorker(client, token))  # pyright: ignore[reportArgumentType]


class Visitor:
    """A person at the browser."""

    def __init__(self, live: Live, browser: webdriver.Chrome) -> None:
        self.live, self.browser = live, browser

    def sign_in(self, username: str) -> str:
        with self.live.services.database.writing() as session:
            user = session.scalars(select(User).where(User.username == username)).one()
            secret = begin_session(session, user, user_agent="test", days=1).secret
        self.browser.get(f"{self.live.address}/health")
        self.browser.delete_all_cookies()
        self.browser.add_cookie({"name": SESSION_COOKIE, "value": secret, "path": "/"})
        return secret

    def go(self, path: str) -> None:
        self.browser.get(self.live.address + path)
        failed = [
            line["message"] for line in self.browser.get_log("browser") if "status of 5" in line["message"]
        ]
        assert not failed, failed

    @property
    def text(self) -> str:
        return browsing.text_of(self.browser)

    def press(self, words: str, within: str = "") -> None:
        """Press the button with these words near `within`, and wait for the page that answers."""
        old = self.browser.find_element(By.TAG_NAME, "html")
        browsing.press(self.browser, words, within)
        self.until(lambda: _is_stale(old))
        browsing.arrive(self.browser, "/")

    def until(self, condition: Callable[[], object]) -> None:
        browsing.until(self.browser, lambda _: condition(), 90)

    def put_file(self, name: str, path: Path) -> None:
        self.browser.find_element(By.NAME, name).send_keys(str(path))


def take_secrets(live: Live, session: str, slug: str) -> bytes:
    """The bundle with the secret seeds, as the page's form asks for it."""
    address = f"{live.address}/competitions/{slug}/manage/bundle-with-seeds"
    with httpx.Client(cookies={SESSION_COOKIE: session}) as client:
        asked = client.get(address).text
        token = re.search(r'name="csrf_token" value="([^"]*)"', asked)
        assert token is not None and f"Type <code>{slug}</code>" in asked
        return client.post(address, data={"csrf_token": token[1], "confirm": slug}).content


def _is_stale(element: object) -> bool:
    try:
        element.is_enabled()  # pyright: ignore[reportAttributeAccessIssue]
    except WebDriverException:
        return True
    return False


def team_of(live: Live, submission_id: str) -> str:
    with live.services.database.reading() as session:
        return session.get_one(Submission, submission_id).team.name


def take_part(visitor: Visitor, username: str, zip_path: Path, leagues: tuple[str, ...]) -> None:
    """Join, accept the terms, submit."""
    visitor.sign_in(username)
    visitor.go("/competitions/tiny/join")
    visitor.browser.find_element(By.NAME, "accept").click()
    visitor.press("Join the competition")
    visitor.go("/competitions/tiny/phases/feedback/submit")
    for box in visitor.browser.find_elements(By.NAME, "league"):
        if box.get_attribute("value") in leagues:
            box.click()
    visitor.put_file("file", zip_path)
    send = visitor.browser.find_element(By.CSS_SELECTOR, "button[value=entry]")
    visitor.until(
        lambda: send.is_enabled() and visitor.browser.find_elements(By.CSS_SELECTOR, "#check-list li")
    )
    visitor.press("Submit for scoring")
    browsing.arrive(visitor.browser, "/submissions/")


@pytest.mark.slow("a whole competition in a browser")
def test_a_whole_competition_through_the_pages(live: Live, browser: webdriver.Chrome, tmp_path: Path) -> None:
    visitor = Visitor(live, browser)
    bundle = tmp_path / "tiny.zip"
    bundle.write_bytes(
        zipped({"competition.yaml": DEFINITION, "terms.md": "Be fair.", "overview.md": "A **tiny** one."})
    )

    # The organizer imports the bundle, puts data in, publishes.
    visitor.sign_in("olga")
    visitor.go("/organize")
    visitor.put_file("bundle", bundle)
    visitor.press("Check and import")
    assert "The pool tiny-pool waits for its packs" in visitor.text
    visitor.press("Open the competition")
    visitor.press("Publish")
    assert "Not ready to be published" in visitor.text
    visitor.go("/organize/pools/tiny-pool")
    visitor.put_file("packs", write_pack(tmp_path, "Tiny", classes=20, images=8))
    visitor.press("Check and create a version")
    assert "Version 1 holds 1 dataset." in visitor.text
    assert "160 images, 20 classes" in visitor.text
    visitor.go("/competitions/tiny/manage")
    visitor.press("Publish")
    assert "The competition is published now." in visitor.text
    visitor.press("Close", within="Feedback")
    visitor.go("/competitions/tiny/manage/phases")
    visitor.press("Open now", within="Feedback")
    assert "Feedback is open." in visitor.text

    # Five participants in three leagues; one more upload breaks the quota.
    leagues = {"anna": ("scratch", "newcomers"), "ben": ("scratch",)}
    for name in TEAMS:
        path = tmp_path / f"{name}.zip"
        path.write_bytes(make_zip(salt=name))
        take_part(visitor, name, path, leagues.get(name, ()))
    visitor.go("/competitions/tiny/phases/feedback/submit")
    assert not browser.find_element(By.CSS_SELECTOR, "button[value=entry]").is_enabled()
    assert "used today's submissions" in visitor.text
    for _ in TEAMS:
        job = live.worker.claim()
        assert job is not None
        score = TEAMS[team_of(live, job["submission_id"])]
        if score is None:
            live.worker.fail(job, "RUNTIME_ERROR", "ZeroDivisionError in model.py, line 7")
        else:
            live.worker.complete(job, score)

    # The organizer decides on leagues, bans, closes, launches the final.
    visitor.sign_in("olga")
    visitor.go("/competitions/tiny/manage/leagues")
    for box in browser.find_elements(By.NAME, "entry"):
        if box.is_displayed():  # what is decided already is folded
            box.click()
    visitor.press("Admit")
    visitor.go("/competitions/tiny/manage/people?q=emil")
    browser.find_element(By.CSS_SELECTOR, "tbody summary").click()
    browser.find_element(By.CSS_SELECTOR, "form[action$='/ban'] input[name=reason]").send_keys(
        "a second account"
    )
    visitor.press("Ban emil")
    assert "1 submission of this person is disqualified" in visitor.text
    browser.find_element(By.ID, "confirm").send_keys("emil")
    visitor.press("Ban emil")
    visitor.go("/competitions/tiny/manage/submissions?status=failed")
    assert "RUNTIME_ERROR, participant" in visitor.text
    visitor.go("/competitions/tiny/manage/phases")
    visitor.press("Close", within="Feedback")
    visitor.go("/competitions/tiny/manage/final")
    assert "a member is banned" in visitor.text
    assert "0.200 does not beat the gate of 0.300" in visitor.text
    visitor.press("Launch 2 entries")
    assert "2 entries are queued." in visitor.text
    pending = {name: list(scores) for name, scores in FINAL.items()}
    for _ in range(6):
        job = live.worker.claim()
        assert job is not None
        live.worker.complete(job, pending[team_of(live, job["submission_id"])].pop())

    # Worst of three decides; nobody else sees it before it is published.
    browser.delete_all_cookies()
    visitor.go("/competitions/tiny/leaderboard?phase=final")
    assert "0.520" not in visitor.text
    visitor.sign_in("olga")
    visitor.go("/competitions/tiny/manage/final")
    rows = [row.text for row in browser.find_elements(By.CSS_SELECTOR, "table tbody tr") if "0.5" in row.text]
    board = [row for row in rows if row.startswith(("1 ", "2 "))]
    assert board[0].startswith("1 ben 0.520")
    assert board[1].startswith("2 anna 0.500")
    visitor.press("Publish the results")
    assert "1. ben (0.520)" in visitor.text
    browser.find_element(By.ID, "confirm").send_keys("final")
    visitor.press("Publish the results of “Final”")
    browser.delete_all_cookies()
    visitor.go("/competitions/tiny/leaderboard?phase=final")
    assert "0.520" in visitor.text

    # Out and in again.
    secret = visitor.sign_in("olga")
    visitor.go("/competitions/tiny/manage/exports")
    exported = tmp_path / "again.zip"
    exported.write_bytes(take_secrets(live, secret, "tiny"))
    visitor.go("/organize")
    visitor.put_file("bundle", exported)
    browser.find_element(By.CSS_SELECTOR, "form[enctype] input[name=slug]").send_keys("tiny-again")
    visitor.press("Check and import")
    again = read_bundle(take_secrets(live, secret, "tiny-again"))
    assert again.spec == read_bundle(exported).spec.model_copy(update={"slug": "tiny-again"})
    assert again.files == read_bundle(exported).files
