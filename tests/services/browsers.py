"""Headless Chromium, driven over WebDriver."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.services.processes import find_program

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    """A headless Chromium with a fresh profile. Raises `FileNotFoundError` where it is not installed."""
    program, driver = (
        find_program("chromium", "chromium-browser", "google-chrome"),
        find_program("chromedriver"),
    )
    if program is None or driver is None:
        raise FileNotFoundError(
            "Chromium or its driver is not installed (Debian: apt-get install chromium chromium-driver)"
        )
    with tempfile.TemporaryDirectory(prefix="anyshot-chromium-", ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = program
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        started = webdriver.Chrome(options=options, service=Service(driver))
        started.set_page_load_timeout(60)
        started.set_script_timeout(300)  # axe looks at each element, and has one slow core perhaps
        try:
            yield started
        finally:
            started.quit()


@pytest.fixture(scope="session")
def browser_session() -> Iterator[webdriver.Chrome]:
    """One Chromium for the session; tests take `browser`, which starts clean."""
    try:
        with chromium() as started:
            yield started
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.fixture
def browser(browser_session: webdriver.Chrome) -> webdriver.Chrome:
    """Chromium at desktop width, without cookies and with an empty console, on an empty page."""
    browser_session.execute_cdp_cmd("Network.clearBrowserCookies", {})
    browser_session.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser_session.set_window_size(1280, 900)
    browser_session.get("about:blank")
    browser_session.get_log("browser")  # reading empties it: what an earlier test wrote is not this one's
    return browser_session
