"""What a person does in a browser: fill in fields, press buttons, arrive on the next page, read it."""

from collections.abc import Callable

from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

BUTTONS = "main button, main a.btn, dialog[open] button"
PLACE = "return [document.readyState, location.pathname, location.search]"
AROUND = "return (arguments[0].closest('tr') || arguments[0].closest('form') || arguments[0]).innerText"


def until(
    browser: webdriver.Chrome, holds: Callable[[webdriver.Chrome], object], seconds: float = 40
) -> None:
    """Wait until a condition holds; a page that is replaced meanwhile only means that it does not hold yet."""
    try:
        WebDriverWait(browser, seconds, 0.1, ignored_exceptions=[WebDriverException]).until(holds)
    except TimeoutException as error:
        raise AssertionError(f"waited in vain on {browser.current_url}: {text_of(browser)}") from error


def arrive(browser: webdriver.Chrome, path: str, query: str = "") -> None:
    """Wait until the page at an address that begins with `path` and whose query holds `query` is wholly there.

    The address as one text will not do: it changes before its page is there, and a log-in page's query names the path
    that it leads to.
    """

    def arrived(browser: webdriver.Chrome) -> bool:
        state, at, asked = browser.execute_script(PLACE)
        return state == "complete" and at.startswith(path) and query in asked

    until(browser, arrived)


def fill(browser: webdriver.Chrome, **fields: str) -> None:
    """Write into the fields with these names."""
    for name, text in fields.items():
        box = browser.find_element(By.NAME, name)
        box.clear()
        box.send_keys(text)


def press(browser: webdriver.Chrome, words: str, within: str = "") -> None:
    """Press the button with these words, in the table row or form that holds `within`, once the page is there."""
    until(browser, lambda browser: browser.execute_script("return document.readyState") == "complete")
    for button in browser.find_elements(By.CSS_SELECTOR, BUTTONS):
        if (
            " ".join(button.text.split()) == words
            and within in browser.execute_script(AROUND, button)
            and button.is_displayed()
        ):
            browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
            button.click()
            return
    raise AssertionError(f"no button {words!r} near {within!r} on {browser.current_url}: {text_of(browser)}")


def text_of(browser: webdriver.Chrome) -> str:
    """What the page says now, read in one step: an element found first may be gone when the page is replaced."""
    return browser.execute_script("return document.querySelector('main')?.innerText ?? ''")
