"""A run that talks without end, watched in a browser: how late its lines are, how soon cancelling frees its slot."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from anyshot_platform.app import make_services
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.people.accounts.service import begin_session
from anyshot_platform.people.users.models import User
from anyshot_platform.server.demo.organizer import DemoCompetition
from anyshot_platform.server.demo.participants import Entrant, entering
from anyshot_platform.server.demo.server import Server
from anyshot_platform.site.web.viewer import SESSION_COOKIE
from tests.services.browsing import text_of, until
from tests.services.material import zip_folder

TALKER = """\
import time

from api import Learner, MetaLearner


class MyMetaLearner(MetaLearner):
    def meta_fit(self, train, valid):
        start, number = time.time(), 0
        while time.time() - start < 1200:
            print(f"line {number} at {time.time() * 1000:.0f}", flush=True)
            number += 1
            time.sleep(max(0.0, start + number / RATE - time.time()))


class MyLearner(Learner):
    def fit(self, support):
        raise NotImplementedError

    def save(self, path):
        pass

    def load(self, path):
        pass
"""
# Milliseconds between the moment that a line was printed and the moment that it is in the page.
WATCH = r"""
window.lags = [];
new MutationObserver((changes) => {
  for (const change of changes) for (const node of change.addedNodes) {
    const found = /^line (\d+) at (\d+)$/.exec(node.textContent);
    if (found) window.lags.push([Number(found[1]), Date.now() - Number(found[2])]);
  }
}).observe(document.getElementById("log"), { childList: true, subtree: true });
"""


@dataclass(frozen=True)
class Watched:
    """What was seen: seconds that each line was late, whether none was missing, seconds until the slot was free."""

    lags: list[float]
    complete: bool
    freed: float


def talker(folder: Path, rate: int) -> Path:
    """A submission that prints `rate` lines a second during meta-training, with the time of each."""
    source = folder / "talker"
    source.mkdir()
    (source / "model.py").write_text(TALKER.replace("RATE", str(rate)))
    return zip_folder(source, folder / "talker.zip")


def sign_in(browser: Chrome, settings: PlatformSettings, name: str) -> None:
    """Give the browser a session of a user of the running site."""
    services = make_services(settings)
    with services.database.writing() as session:
        user = session.query(User).filter(User.username == name).one()
        secret = begin_session(session, user, user_agent="test", days=1).secret
    services.database.dispose()
    browser.get(f"{settings.base_url}/health")
    browser.add_cookie({"name": SESSION_COOKIE, "value": secret, "path": "/"})


def watch_and_cancel(
    browser: Chrome,
    server: Server,
    settings: PlatformSettings,
    stage: DemoCompetition,
    bundle: Path,
    *,
    lines: int,
) -> Watched:
    """Submit the talker twice as two participants; watch the first, cancel it, and wait until the second one starts."""
    entrants = [Entrant(name, "talks", bundle) for name in ("first", "second")]
    with entering(server.address, stage, entrants) as (first, second):
        sign_in(browser, settings, "first")
        browser.get(f"{server.address}/submissions/{first.submission}")
        browser.execute_script(WATCH)
        until(browser, lambda b: b.execute_script("return window.lags.length") >= lines, 240)
        seen = browser.execute_script("return window.lags")
        assert second.look()["status"] == "queued", "one worker has one slot"
        began = press_cancel(browser)
        wait_for(lambda: second.look()["status"] == "running", 240)
        freed = time.monotonic() - began
        until(browser, lambda b: "cancelled" in text_of(b), 240)
        assert first.look()["status"] == "cancelled"
        log = browser.execute_async_script(
            "fetch(arguments[0]).then((answer) => answer.text()).then(arguments[1])",
            f"/submissions/{first.submission}/log.txt",
        )
        assert "line 0 at" in log and f"line {lines - 1} at" in log, "the whole log outlives the run"
    numbers = [number for number, _ in seen]
    return Watched(
        [lag / 1000 for _, lag in seen], numbers == list(range(numbers[0], numbers[-1] + 1)), freed
    )


def press_cancel(browser: Chrome) -> float:
    """Answer the page's question; returns the moment of the click."""
    browser.find_element(By.CSS_SELECTOR, "[data-dialog=cancel-dialog]").click()
    button = browser.find_element(By.CSS_SELECTOR, "dialog[open] button[type=submit]")
    began = time.monotonic()
    button.click()
    return began


def wait_for(condition: Callable[[], bool], seconds: float) -> None:
    """Return when the condition holds; fails after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(0.05)
