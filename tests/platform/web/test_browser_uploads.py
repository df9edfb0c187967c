"""Uploads in a real browser: a connection that breaks, a page that is closed in the middle, a file that is dropped."""

import hashlib
import os
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from sqlalchemy import select

from anyshot_platform.contest.pools.actions.organizing import list_versions
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool
from anyshot_platform.judging.submissions.models import Submission, Upload
from anyshot_platform.judging.submissions.uploads import upload_path
from tests.core.tinydata import write_pack
from tests.platform.web.conftest import LiveSite
from tests.platform.web.test_browser_journey import CODE, write_zip
from tests.services.browsing import arrive, press, text_of, until

BIG = 12_000_000
SLOW = 1_500_000  # bytes a second: the upload lasts for seconds, so that it can be broken in the middle


def connection(browser: webdriver.Chrome, *, online: bool, upload: int = -1) -> None:
    """Set the browser's network: whether there is one, and its upload rate in bytes a second."""
    browser.execute_cdp_cmd("Network.enable", {})
    conditions = {"offline": not online, "latency": 0, "downloadThroughput": -1, "uploadThroughput": upload}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)


def open_form(live: LiveSite, browser: webdriver.Chrome) -> None:
    browser.get(f"{live.address}/competitions/{live.scene.competition.slug}/phases/feedback/submit")


def received(live: LiveSite) -> int:
    """Bytes that lie at the server, of all uploads."""
    with live.services.database.reading() as session:
        paths = [upload_path(live.services, upload) for upload in session.scalars(select(Upload))]
    return sum(path.stat().st_size for path in paths if path.exists())


def can_send(browser: webdriver.Chrome) -> bool:
    return browser.find_element(By.CSS_SELECTOR, "button[value=smoke]").is_enabled()


@pytest.mark.seconds("uploads in a browser")
def test_an_upload_goes_on_after_a_broken_connection(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    path = write_zip(tmp_path / "big.zip", {"model.py": CODE, "weights.bin": os.urandom(BIG)})
    try:
        connection(browser, online=True, upload=SLOW)
        browser.find_element(By.ID, "file").send_keys(str(path))
        until(browser, lambda b: received(live) > 0)
        connection(browser, online=False)
        until(browser, lambda b: "connection lost, trying again" in text_of(b))
        before = received(live)
        assert 0 < before < path.stat().st_size
    finally:
        connection(browser, online=True)
    until(browser, can_send, 90)
    send(browser)
    with live.services.database.reading() as session:
        (upload,) = session.scalars(select(Upload)).all()
        row = session.scalars(select(Submission).where(Submission.filename == "big.zip")).one()
        assert upload.received == row.size == path.stat().st_size, "one upload, every byte once"
        assert row.digest == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.seconds("an upload in a browser")
def test_a_connection_that_is_gone_before_an_upload_begins_is_said_in_the_sites_words(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    path = write_zip(tmp_path / "small.zip", {"model.py": CODE})
    try:
        connection(browser, online=False)
        browser.find_element(By.ID, "file").send_keys(str(path))
        until(browser, lambda b: b.find_element(By.ID, "upload-error").is_displayed())
        said = browser.find_element(By.ID, "upload-error").text
        assert said == "The site cannot be reached. Try again when the connection is back."
        assert not can_send(browser)
    finally:
        connection(browser, online=True)
    browser.find_element(By.ID, "file").send_keys(str(path))
    until(browser, can_send)


def send(browser: webdriver.Chrome) -> None:
    press(browser, "Smoke test first")
    arrive(browser, "/submissions/")


@pytest.mark.seconds("uploads in a browser")
def test_an_upload_goes_on_in_a_page_that_was_opened_again(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    path = write_zip(tmp_path / "again.zip", {"model.py": CODE, "weights.bin": os.urandom(BIG)})
    try:
        connection(browser, online=True, upload=SLOW)
        browser.find_element(By.ID, "file").send_keys(str(path))
        until(browser, lambda b: received(live) > 0)
        browser.get("about:blank")
    finally:
        connection(browser, online=True)
    before = received(live)
    assert 0 < before < path.stat().st_size
    open_form(live, browser)
    browser.find_element(By.ID, "file").send_keys(str(path))
    until(browser, can_send, 90)
    with live.services.database.reading() as session:
        (upload,) = session.scalars(select(Upload)).all()
        assert upload.received == path.stat().st_size, "the same upload, not a second one"


@pytest.mark.seconds("uploads in a browser")
def test_a_file_can_be_dropped(live: LiveSite, browser: webdriver.Chrome, tmp_path: Path) -> None:
    live.sign_in(browser, live.scene.bob)
    open_form(live, browser)
    path = write_zip(tmp_path / "dropped.zip", {"model.py": CODE})
    box = browser.execute_script(
        "const zone = document.getElementById('dropzone'); zone.scrollIntoView({block: 'center'});"
        "const at = zone.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]"
    )
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        event = {"type": kind, "x": box[0], "y": box[1], "data": data}
        browser.execute_cdp_cmd("Input.dispatchDragEvent", event)
        if kind == "dragOver":
            # The zone says that it takes it.
            until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#dropzone.is-over"))
    until(browser, can_send)
    assert "dropped.zip" in text_of(browser)
    raw = "return getComputedStyle(document.querySelector('.dropzone__input')).opacity"
    assert browser.execute_script(raw) == "0", "the browser's own control shows through the box"
    send(browser)
    assert "dropped.zip" in text_of(browser)


@pytest.mark.seconds("uploads in a browser")
def test_a_bad_pack_among_others_is_named_and_the_others_become_a_version(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    with live.services.database.writing() as session:
        create_pool(session, slug="mine", name="Mine", owner_id=live.scene.admin.id)
    live.sign_in(browser, live.scene.admin)
    browser.get(f"{live.address}/organize/pools/mine")
    bad = tmp_path / "bad.anyshot-pack"
    bad.write_bytes(b"no pack")
    browser.find_element(By.ID, "packs").send_keys(str(bad))
    press(browser, "Check and create a version")
    until(browser, lambda b: "bad.anyshot-pack: " in b.find_element(By.ID, "packs-error").text)
    browser.get(f"{live.address}/organize/pools/mine")
    paths = [write_pack(tmp_path, "A"), bad, write_pack(tmp_path, "B")]
    browser.find_element(By.ID, "packs").send_keys("\n".join(map(str, paths)))
    press(browser, "Check and create a version")
    until(browser, lambda b: "Left out: bad.anyshot-pack: " in text_of(b), 60)
    with live.services.database.reading() as session:
        pool = session.scalars(select(Pool).where(Pool.slug == "mine")).one()
        assert [entry.pack.name for entry in list_versions(session, pool)[0].entries] == ["A", "B"]


@pytest.mark.seconds("uploads in a browser")
def test_packs_are_sent_in_parts_and_go_on_after_a_broken_connection(
    live: LiveSite, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    """The pool's page showed nothing until all bytes were there, and began again after a break."""
    with live.services.database.writing() as session:
        create_pool(session, slug="mine", name="Mine", owner_id=live.scene.admin.id)
    live.sign_in(browser, live.scene.admin)
    browser.get(f"{live.address}/organize/pools/mine")
    paths = [write_pack(tmp_path, "A", images=60), write_pack(tmp_path, "B", images=4)]
    try:
        connection(browser, online=True, upload=SLOW * 2)
        browser.find_element(By.ID, "packs").send_keys("\n".join(map(str, paths)))
        press(browser, "Check and create a version")
        until(browser, lambda b: received(live) > 0)
        connection(browser, online=False)
        until(browser, lambda b: "connection lost, trying again" in text_of(b))
        assert 0 < received(live) < paths[0].stat().st_size
    finally:
        connection(browser, online=True)
    until(browser, lambda b: "Version 1 holds 2 datasets." in text_of(b), 90)
    with live.services.database.reading() as session:
        packs = {pack.name: pack.digest for pack in session.scalars(select(Pack))}
        used = [upload.used_at is not None for upload in session.scalars(select(Upload))]
    assert {name: packs[name] for name in "AB"} == {
        path.name[0]: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
    }
    assert used == [True, True]
    if folder := os.environ.get("ANYSHOT_SHOTS"):
        browser.save_screenshot(f"{folder}/pool.png")
