"""The preview of a page while it is written, in a real browser."""

import os

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from tests.platform.web.conftest import LiveSite
from tests.services.browsing import text_of, until


def test_the_preview_follows_what_is_written(live: LiveSite, browser: webdriver.Chrome) -> None:
    live.sign_in(browser, live.scene.organizer)
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/manage/pages/new")
    field = browser.find_element(By.ID, "body")
    field.send_keys("## Dates\n\nOpen {{ phases.feedback.dates }}, {{ quota.perday }}.")
    until(browser, lambda b: "Did you mean {{ quota.per_day }}?" in text_of(b))
    shown = browser.find_element(By.CSS_SELECTOR, "#body ~ section .prose")
    until(browser, lambda _: "Open " in shown.text and "{{ phases" not in shown.text)
    assert shown.find_element(By.TAG_NAME, "h2").text == "Dates"
    if folder := os.environ.get("ANYSHOT_SHOTS"):
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", shown)
        browser.save_screenshot(f"{folder}/preview.png")


def test_a_preview_that_arrives_moves_no_button(live: LiveSite, browser: webdriver.Chrome) -> None:
    """Whoever pressed *Save* a moment after the last key pressed where the button had been."""
    live.sign_in(browser, live.scene.organizer)
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/manage/pages/new")
    field = browser.find_element(By.ID, "body")
    field.send_keys("A")
    shown = browser.find_element(By.CSS_SELECTOR, "#body ~ section .prose")
    until(browser, lambda _: shown.text == "A")
    button = browser.find_element(By.CSS_SELECTOR, "main form [type=submit]")
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center'})", button
    )  # not stuck to the window
    where = "return arguments[0].getBoundingClientRect().top"
    before = browser.execute_script(where, button)
    type_it = "arguments[0].value += arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    browser.execute_script(
        type_it, field, "\n\n" + "# One\n\n" * 40 + "{{ quota.perday }}"
    )  # without scrolling
    until(browser, lambda b: "Did you mean {{ quota.per_day }}?" in text_of(b))
    assert browser.execute_script(where, button) == before


def test_the_preview_names_files_that_are_not_there(live: LiveSite, browser: webdriver.Chrome) -> None:
    """The preview showed a broken picture, and so did the page."""
    live.sign_in(browser, live.scene.organizer)
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/manage/pages/new")
    browser.find_element(By.ID, "body").send_keys(
        "![plot](files/plot.png) [b](files/b.pdf) ![x](https://a.example/x)"
    )
    until(browser, lambda b: "There is no file “b.pdf”" in text_of(b) and "no file “plot.png”" in text_of(b))
    assert text_of(browser).count("There is no file") == 2


@pytest.mark.seconds("an editor in a browser")
def test_a_page_that_is_opened_to_be_changed_shows_what_it_shows(
    live: LiveSite, browser: webdriver.Chrome
) -> None:
    """And terms and announcements, which hold no values, are shown without them."""
    live.sign_in(browser, live.scene.organizer)
    manage = f"{live.address}/competitions/{live.scene.competition.slug}/manage"
    browser.get(f"{manage}/pages")
    browser.find_element(By.CSS_SELECTOR, "main .list a").click()
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#body ~ section .prose > *"))
    for place, field in (("settings", "terms"), ("announcements", "body")):
        browser.get(f"{manage}/{place}")
        browser.find_element(By.ID, field).clear()
        browser.find_element(By.ID, field).send_keys("**Bold** {{ quota.per_day }}")
        until(browser, lambda b: "Values in braces stay as they are written here." in text_of(b))
        shown = browser.find_element(By.CSS_SELECTOR, f"#{field} ~ section .prose")
        assert shown.text == "Bold {{ quota.per_day }}"
