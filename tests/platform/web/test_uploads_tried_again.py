"""An upload that did not go through at once: the file is chosen again, the button pressed again, another zip sent."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import func, select
from starlette.datastructures import FormData, UploadFile

from anyshot_platform.contest.pools.actions.organizing import list_versions
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import add_pack, create_pool
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import PlatformError
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions import uploads
from anyshot_platform.judging.submissions.actions.handing_in import hand_in
from anyshot_platform.judging.submissions.arrivals import Arrival
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.site.pools import api as pools_api
from anyshot_platform.site.submissions import upload_pages
from anyshot_platform.site.submissions.upload_pages import read_source
from tests.core.tinydata import write_pack
from tests.platform.site import SLUG, Site, make_zip
from tests.platform.web.conftest import LiveSite
from tests.platform.web.test_again import _send
from tests.platform.web.test_browser_journey import CODE, write_zip
from tests.platform.web.test_browser_uploads import can_send, connection, open_form
from tests.platform.web.test_handing_in import FORM, handed_in, told
from tests.services.browsing import arrive, press, text_of, until

SOON = 15  # seconds until what the script does at once has surely happened

# The page's clock runs fast; the button is pressed, and again when any guard of a few seconds has long lifted.
PRESS_TWICE = """
const real = window.setTimeout;
window.setTimeout = (act, wait) => real(act, wait / 100);
const button = document.querySelector("button[value=entry]");
button.click();
real(() => {
  button.click();
  sessionStorage.setItem("told", document.querySelector(".toasts")?.innerText ?? "");
}, 400);
"""


class Busy(PlatformError):
    """What a platform says that can do it later."""

    code = "busy"

    def __init__(self, status: int) -> None:
        super().__init__("The platform is busy.")
        self.status = status


def fails_once(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> list[int]:
    """Let the first call of a function answer 503; returns the numbers of all calls."""
    real, calls = getattr(module, name), []

    def maybe(*arguments: Any, **options: Any) -> Any:
        calls.append(len(calls) + 1)
        if calls == [1]:
            raise Busy(503)
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, maybe)
    return calls


def choose(browser: webdriver.Chrome, path: Path) -> None:
    browser.find_element(By.ID, "file").send_keys(str(path))


def kept_uploads(live: LiveSite) -> list[tuple[str, bool]]:
    """File name of each upload, and whether it was used."""
    with live.services.database.reading() as session:
        rows = session.scalars(select(Upload).order_by(Upload.filename))
        return [(row.filename, row.used_at is not None) for row in rows]


@pytest.mark.seconds("uploads in a browser")
def test_the_same_file_can_be_chosen_again(live: LiveSite, browser: webdriver.Chrome, tmp_path: Path) -> None:
    """The page says “Choose the same file again”; a browser tells nobody that the same file was chosen."""
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    path = write_zip(tmp_path / "same.zip", {"model.py": CODE})
    try:
        connection(browser, online=False)
        choose(browser, path)
        until(browser, lambda b: b.find_element(By.ID, "upload-error").is_displayed(), SOON)
    finally:
        connection(browser, online=True)
    choose(browser, path)
    until(browser, can_send, SOON)
    press(browser, "Smoke test first")
    arrive(browser, "/submissions/")
    assert "same.zip" in text_of(browser) and kept_uploads(live) == [("same.zip", True)]


def test_a_failure_of_the_platform_does_not_make_the_page_forget_an_upload(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a check that found nothing wrong: who closed the page before sending goes on with what is there."""
    live.sign_in(browser, live.scene.bob)
    path = write_zip(tmp_path / "kept.zip", {"model.py": CODE})
    open_form(live, browser)
    choose(browser, path)
    until(browser, can_send, SOON)
    open_form(live, browser)
    asked = fails_once(monkeypatch, uploads, "find_upload")
    choose(browser, path)
    until(browser, can_send, SOON)
    assert len(asked) > 1 and kept_uploads(live) == [("kept.zip", False)], "one upload, all the time"


def test_a_zip_that_the_check_refuses_is_forgotten(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    choose(browser, write_zip(tmp_path / "bad.zip", {"readme.txt": b"nothing"}))
    until(browser, lambda b: "would be refused" in text_of(b), SOON)
    remembered = browser.execute_script("return Object.keys(localStorage)")
    assert not [key for key in remembered if "bad.zip" in key] and kept_uploads(live) == []


@pytest.mark.seconds("uploads in a browser")
@pytest.mark.parametrize("known", [False, True], ids=["an upload", "a zip that is here"])
def test_a_zip_is_handed_in_once_however_long_the_answer_takes(
    live: LiveSite,
    browser: webdriver.Chrome,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    known: bool,
) -> None:
    """The second press, more than three seconds later, was refused, or cost a second submission."""
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    choose(browser, write_zip(tmp_path / "slow.zip", {"model.py": CODE}))
    until(browser, can_send, SOON)
    if known:
        press(browser, "Smoke test first")
        arrive(browser, "/submissions/")
        with live.services.database.reading() as session:
            row = session.scalars(select(Submission).where(Submission.filename == "slow.zip")).one()
        open_form(live, browser)
        browser.get(f"{browser.current_url}?again={row.digest}")
        assert "slow.zip" in text_of(browser)
    before = count_submissions(live)
    lasting = threading.Event()
    presses: list[str] = []

    def slowly(*arguments: Any, **options: Any) -> Any:
        presses.append("pressed")
        lasting.wait(1.5)
        return hand_in(*arguments, **options)

    monkeypatch.setattr(upload_pages, "hand_in", slowly)
    browser.execute_script(PRESS_TWICE)
    arrive(browser, "/submissions/")
    assert (len(presses), count_submissions(live)) == (1, before + 1)
    assert "was sent already" in browser.execute_script("return sessionStorage.getItem('told')")


def count_submissions(live: LiveSite) -> int:
    with live.services.database.reading() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def test_the_button_after_a_smoke_test_is_pressed_once_too(site: Site) -> None:
    """The answer of a smoke test and the upload page are the two forms that hand in a zip."""
    alice = site.member("alice")
    site.offer_smoke_tests()
    page = alice.call("GET", FORM, headers={"accept": "text/html"}).text
    assert "data-once" in page[page.index('id="upload-form"') :].split(">")[0]
    made = alice.submit(smoke=True).json()
    job = (worker := site.worker()).claim()
    assert job is not None and worker.complete(job, 0.4).status_code == 204
    page = alice.call("GET", f"/submissions/{made['id']}", headers={"accept": "text/html"}).text
    assert "data-once" in page[page.index(f'action="{FORM}"') :].split(">")[0]


def test_who_sends_a_used_upload_again_is_led_to_the_submission(site: Site) -> None:
    """It was called refused while it waited in the queue."""
    alice = site.member("alice")
    upload = alice.upload(make_zip())
    assert _send(site, alice, FORM, upload_id=upload).status_code == 303
    again = _send(site, alice, FORM, upload_id=upload)
    assert again.status_code == 404 and len(handed_in(site)) == 1
    words = told(again)
    assert "This zip was submitted already" in words and "The submission was refused" not in words, words
    assert f'href="/competitions/{SLUG}/submissions"' in again.text.split("submitted already")[1][:300]
    assert upload not in again.text and 'name="upload_id" value=""' in again.text


def test_an_upload_that_is_used_while_it_is_read_is_no_refusal_either(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other request removed the file just before this one read it."""
    alice = site.member("alice")
    upload = alice.upload(make_zip())

    def overtaken(*arguments: Any, **options: Any) -> Any:
        hand_in(*arguments, **options)
        raise PlatformError("0 of 10 bytes have arrived.")

    monkeypatch.setattr(upload_pages, "hand_in", overtaken)
    assert "This zip was submitted already" in told(_send(site, alice, FORM, upload_id=upload))


def test_an_upload_that_is_gone_or_of_somebody_else_is_not_kept(site: Site) -> None:
    alice, bob = site.member("alice"), site.member("bob")
    for upload in ("0" * 32, bob.upload(make_zip(salt="bob"))):
        answer = _send(site, alice, FORM, upload_id=upload)
        assert answer.status_code == 404 and upload not in answer.text
        assert "There is no such upload" in told(answer) and "submitted already" not in told(answer)


def test_a_new_file_replaces_only_an_own_upload_that_waits(site: Site) -> None:
    """The form names the upload, and anybody can write a form."""
    alice, bob = site.member("alice"), site.member("bob")
    used, waiting = (alice.upload(make_zip(salt=name)) for name in ("used", "waiting"))
    theirs = bob.upload(make_zip(salt="theirs"))
    assert _send(site, alice, FORM, upload_id=used).status_code == 303
    for earlier in (used, waiting, theirs, ""):
        file = UploadFile(BytesIO(b"zip"), size=3, filename="new.zip")
        source = read_source(
            site.services, alice.id, FormData([("upload_id", earlier), ("file", file)]), Arrival(now())
        )
        assert source.upload_id not in ("", earlier)
    with site.services.database.reading() as session:
        left = set(session.scalars(select(Upload.id)))
    assert {used, theirs} <= left and waiting not in left


def test_without_scripts_the_zip_that_is_chosen_last_is_submitted(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """The earlier one was queued, scored and charged."""
    live.sign_in(browser, live.scene.bob)
    with without_scripts(browser):
        open_form(live, browser)
        tick(browser, False)
        choose(browser, write_zip(tmp_path / "old.zip", {"model.py": CODE}))
        press(browser, "Submit for scoring")
        until(browser, lambda b: "Tick at least one league" in text_of(b), SOON)
        assert "old.zip" in text_of(browser) and "is here already" in text_of(browser)
        tick(browser, True)
        choose(browser, write_zip(tmp_path / "fixed.zip", {"model.py": CODE + b"# fixed\n"}))
        press(browser, "Submit for scoring")
        arrive(browser, "/submissions/")
        assert "fixed.zip" in text_of(browser) and "old.zip" not in text_of(browser)
        assert kept_uploads(live) == [("fixed.zip", True)]


@contextmanager
def without_scripts(browser: webdriver.Chrome) -> Iterator[None]:
    """A browser that runs no script meanwhile."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def tick(browser: webdriver.Chrome, wanted: bool) -> None:
    """Tick the first league, or none."""
    for place, box in enumerate(browser.find_elements(By.NAME, "league")):
        if box.is_selected() != (wanted and place == 0):
            box.click()


@pytest.mark.seconds("uploads in a browser")
def test_without_scripts_the_zip_that_is_there_is_sent_where_no_other_is_chosen(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    with without_scripts(browser):
        open_form(live, browser)
        tick(browser, False)
        choose(browser, write_zip(tmp_path / "first.zip", {"model.py": CODE}))
        press(browser, "Submit for scoring")
        until(browser, lambda b: "first.zip" in text_of(b), SOON)
        tick(browser, True)
        press(browser, "Submit for scoring")
        arrive(browser, "/submissions/")
        assert "first.zip" in text_of(browser)


@pytest.mark.seconds("uploads in a browser")
def test_with_scripts_a_new_choice_takes_the_place_of_the_zip_that_is_there(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    tick(browser, False)
    choose(browser, write_zip(tmp_path / "old.zip", {"model.py": CODE}))
    until(browser, can_send, SOON)
    press(browser, "Submit for scoring")
    until(browser, lambda b: "Tick at least one league" in text_of(b) and can_send(b), SOON)
    assert "old.zip" in text_of(browser)
    tick(browser, True)
    choose(browser, write_zip(tmp_path / "fixed.zip", {"model.py": CODE + b"# fixed\n"}))
    until(browser, lambda b: "fixed.zip" in text_of(b) and can_send(b), SOON)
    assert "old.zip" not in text_of(browser)
    press(browser, "Submit for scoring")
    arrive(browser, "/submissions/")
    assert "fixed.zip" in text_of(browser)


@pytest.mark.seconds("uploads in a browser")
def test_packs_go_on_where_the_platform_failed(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pack that was all there was thrown away, a version was made without it, and the others were sent again."""
    with live.services.database.writing() as session:
        create_pool(session, slug="mine", name="Mine", owner_id=live.scene.admin.id)
    live.sign_in(browser, live.scene.admin)
    browser.get(f"{live.address}/organize/pools/mine")
    paths = [write_pack(tmp_path, name) for name in "AB"]
    busy = {2: 503, 3: 429}  # the status of an answer, by how many there were
    asked: list[Path] = []

    def fails_at_the_second(services: Services, path: Path, user_id: str) -> Pack:
        asked.append(path)
        if status := busy.get(len(asked)):
            raise Busy(status)
        return add_pack(services, path, user_id)

    monkeypatch.setattr(pools_api, "add_pack", fails_at_the_second)
    browser.find_element(By.ID, "packs").send_keys("\n".join(map(str, paths)))
    button = browser.find_element(By.CSS_SELECTOR, "#packs-form button[type=submit]")
    press(browser, "Check and create a version")  # what is refused for load is sent again by itself
    until(browser, lambda _: len(asked) == len(busy) + 1 and button.is_enabled())
    assert f"{paths[1].name}: The platform is busy." in browser.find_element(By.ID, "packs-error").text
    with live.services.database.reading() as session:
        pool = session.scalars(select(Pool).where(Pool.slug == "mine")).one()
        assert not list_versions(session, pool), "no version without it"
    press(browser, "Check and create a version")
    until(browser, lambda b: "Version 1 holds 2 datasets." in text_of(b))
    assert kept_uploads(live) == [(path.name, True) for path in paths], "each pack was uploaded once"
    assert len(asked) == 4, "the first was checked once"
