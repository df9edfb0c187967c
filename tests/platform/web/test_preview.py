"""The preview of a page while it is written, in a real browser."""

from __future__ import annotations

import os

from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.platform.web.conftest import LiveSite
from tests.services.browsing import text_of, until


def test_the_preview_follows_what_is_written(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.organizer)
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/manage/settings#pages")
    browser.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; });")
    field = browser.find_element(By.ID, "body-new")
    field.send_keys("## Dates\n\nOpen {{ phases.feedback.dates }}, {{ quota.perday }}.")
    until(browser, lambda b: "Did you mean {{ quota.per_day }}?" in text_of(b))
    shown = browser.find_element(By.CSS_SELECTOR, "#body-new ~ section .prose")
    until(browser, lambda _: "Open " in shown.text and "{{ phases" not in shown.text)
    assert shown.find_element(By.TAG_NAME, "h2").text == "Dates"
    if folder := os.environ.get("ANYSHOT_SHOTS"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", shown)
        browser.save_screenshot(f"{folder}/preview.png")
