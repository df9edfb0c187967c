"""What a person reads in French, in a browser as wide as a phone."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from anyshot_platform.users.models import User
from tests.platform.web.conftest import LiveSite
from tests.platform.web.test_axe import look
from tests.services.browsing import until

PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
SHOTS = os.environ.get("ANYSHOT_SHOTS")  # a folder for pictures, to be looked at


@pytest.mark.slow("twelve pages in a browser, each with axe")
def test_pages_in_french_fit_a_phone(live: LiveSite, browser: webdriver.Chrome) -> None:
    with live.services.database.writing() as session:
        session.get_one(User, live.scene.ada.id).language = "fr"
    live.sign_in(browser, live.scene.ada)
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    base = f"/competitions/{live.scene.competition.slug}"
    phase = f"{base}/phases/{live.scene.phase.slug}"
    run = {name: f"/submissions/{one.id}" for name, one in live.scene.submissions.items()}
    pages = {
        "home": ("/", "Bonjour"),
        "competition": (base, "En bref"),
        "phase": (phase, "Comment le score est calculé"),
        "board": (f"{base}/leaderboard", "Classement"),
        "upload": (f"{phase}/submit", "Soumettre pour un score"),
        "finished": (run["finished"], "Exactitude normalisée"),
        "failed": (run["failed"], "Votre code a levé une erreur."),
        "mine": ("/submissions", "Mes soumissions"),
        "team": (f"{base}/team", "Membres"),
        "discussion": (f"{base}/discussion", "Nouveau fil"),
        "account": ("/account", "Langue des pages et des e-mails"),
        "notifications": ("/account/notifications", "Par e-mail"),
    }
    odd: dict[str, object] = {}
    for name, (path, words) in pages.items():
        found = look(browser, live.address + path)
        text = browser.execute_script("return document.body.innerText")
        if SHOTS:
            _shoot(browser, Path(SHOTS) / f"{name}.png")
        if found or words.lower() not in text.lower():
            odd[name] = (found, words in text)
    assert odd == {}


def test_charts_write_times_and_sizes_as_the_language_of_the_page_does(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    with live.services.database.writing() as session:
        session.get_one(User, live.scene.ada.id).language = "fr"
    live.sign_in(browser, live.scene.ada)
    browser.get(live.path("finished"))
    chart = browser.find_element(By.XPATH, "//figure[contains(., 'Mémoire')]//*[@data-chart]")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    until(browser, lambda _: chart.find_elements(By.CSS_SELECTOR, ".u-over"))
    ActionChains(browser).move_to_element(chart.find_element(By.CSS_SELECTOR, ".u-over")).perform()
    assert re.search(r"Temps\s*\d+,\d min\s*Mémoire\s*\d,\d Gio", chart.text)


def _shoot(browser: webdriver.Chrome, path: Path) -> None:
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(picture["data"]))
