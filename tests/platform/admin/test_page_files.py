"""Pages show their competition's own images, and link its files: sent as what they are, never as a page."""

import io
import random
import re
import struct
import zipfile
import zlib

import pytest
from PIL import Image

from anyshot_platform.contest.competitions import files
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.running.operations.retention import collect_orphans
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.admin.test_round_trip import FULL, FULL_FILES
from tests.platform.admin.test_two_actors import settings_form
from tests.platform.admin.zips import zipped
from tests.platform.site import SLUG, Person, Site
from tests.platform.web.crawling import walk_below

HERE = f"/competitions/{SLUG}"
MANAGE = f"/api/v1/competitions/{SLUG}/manage"


def encoded(image: Image.Image, kind: str) -> bytes:
    target = io.BytesIO()
    image.save(target, kind)
    return target.getvalue()


def bitmap(kind: str) -> bytes:
    return encoded(Image.new("RGB", (40, 40), "red"), kind)


def picture() -> bytes:
    return bitmap("PNG")


def send(owner: Person, name: str, content: bytes, **fields: str):
    return owner.call(
        "POST",
        f"{BASE}/files",
        data=fields,
        files={"file": (name, content)},
        headers={"accept": "text/html"},
        follow_redirects=False,
    )


def test_a_page_shows_an_image_and_links_a_file(site: Site) -> None:
    owner, visitor = site.owner(), site.person("sam")
    assert "files/plot.png" in flash(send(owner, "plot.png", picture()))
    send(owner, "my rules.pdf", b"%PDF-1.7")
    body = "![A plot](files/plot.png) and [the rules](files/my-rules.pdf), <img src='https://elsewhere.example/x.png'>"
    owner.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": body})
    shown = page(visitor, f"{HERE}/pages/rules").text
    (source,) = re.findall(r'<img[^>]*src="([^"]*plot[^"]*)"', shown)
    assert source == f"{HERE}/files/plot.png" and "elsewhere" not in shown
    opened, broken = walk_below(visitor, visitor.client, HERE, f"{HERE}/pages/rules")
    assert not broken and source in opened
    image = visitor.call("GET", source)
    assert (image.status_code, image.headers["content-type"], image.content) == (200, "image/png", picture())
    assert "sandbox" in image.headers["content-security-policy"]
    assert image.headers["x-content-type-options"] == "nosniff"
    linked = visitor.call("GET", re.findall(r'href="([^"]*my-rules[^"]*)"', shown)[0])
    assert linked.headers["content-disposition"].startswith("attachment")
    preview = owner.call("POST", f"{BASE}/pages/preview", data={"body": body}).json()["html"]
    assert f'src="{source}"' in preview


def test_what_pages_cannot_have_is_refused(site: Site) -> None:
    owner = site.owner()
    for name, content, words in (
        ("evil.html", b"<script>", "is of no kind that pages can have"),
        ("no-suffix", b"x", "is of no kind that pages can have"),
        ("<b>.png", b"x", "file's name has 1 to 100 letters"),
        ("text.png", b"Hello", "Browsers cannot show text.png as a picture"),
        ("cut.png", picture()[:-20], "show cut.png as a picture"),
        ("other.svg", picture(), "show other.svg as a picture"),
        ("empty.png", b"", "has 0 bytes"),
    ):
        assert words in flash(send(owner, name, content))
    assert "files/up.png" in flash(send(owner, "../up.png", picture())), "a browser's path is cut off"
    assert [row["name"] for row in owner.call("GET", f"{MANAGE}/files").json()] == ["up.png"]


def test_a_competition_has_so_much_room(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = site.owner()
    monkeypatch.setattr(files, "MOST_FILES", 1)
    assert "files/a.txt" in flash(send(owner, "a.txt", b"one"))
    assert "at most 1 files" in flash(send(owner, "b.txt", b"two"))
    assert "files/a.txt" in flash(send(owner, "a.txt", b"three"))  # in its place
    assert owner.call("GET", f"{HERE}/files/a.txt").content == b"three"
    monkeypatch.setattr(files, "MOST_BYTES", 3)
    assert "has 4 bytes" in flash(send(owner, "a.txt", b"four"))


def test_a_file_has_as_many_bytes_as_the_page_says(site: Site) -> None:
    owner = site.owner()
    assert "Each has at most 10.0 MiB" in page(owner, f"{BASE}/pages").text
    assert files.MOST_BYTES == 10 << 20
    assert "files/large.txt" in flash(send(owner, "large.txt", b"x" * files.MOST_BYTES))
    assert "10,485,761 bytes" in flash(send(owner, "large.txt", b"x" * (files.MOST_BYTES + 1)))


def test_only_who_sees_the_competition_gets_its_files_and_organizers_change_them(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    send(owner, "plot.png", picture())
    assert post(pia, f"{BASE}/files/plot.png/remove").status_code == 403
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    assert pia.call("GET", f"{HERE}/files/plot.png").status_code == 404
    assert owner.call("GET", f"{HERE}/files/plot.png").status_code == 200
    upload = owner.upload(picture(), "plot.png")
    put = owner.call("PUT", f"{MANAGE}/files/other.png", json={"upload_id": upload})
    assert put.status_code == 200 and put.json()["image"]
    collect_orphans(site.services)
    assert owner.call("GET", f"{HERE}/files/other.png").content == picture()
    assert flash(post(owner, f"{BASE}/files/other.png/remove")) == "other.png is gone."
    assert owner.call("GET", f"{HERE}/files/other.png").status_code == 404


def test_files_travel_with_the_bundle_and_the_copy(site: Site) -> None:
    owner = site.owner()
    send(owner, "plot.png", picture())
    owner.call("POST", f"{MANAGE}/pages", json={"title": "Rules", "body": "![A plot](files/plot.png)"})
    bundle = owner.call("GET", f"{BASE}/bundle.zip").content
    assert zipfile.ZipFile(io.BytesIO(bundle)).read("files/plot.png") == picture()
    cloned = owner.call("POST", f"{MANAGE}/clone", json={"slug": "next"})
    assert cloned.status_code == 201, cloned.text
    assert 'src="/competitions/next/files/plot.png"' in page(owner, "/competitions/next/pages/rules").text
    assert owner.call("GET", "/competitions/next/files/plot.png").content == picture()
    again = owner.call("GET", "/competitions/next/manage/bundle.zip").content
    with site.services.database.writing() as session:
        copy = session.query(Competition).filter_by(slug="next").one()
        assert len(files.list_files(session, copy)) == 1
    assert set(zipfile.ZipFile(io.BytesIO(again)).namelist()) == set(
        zipfile.ZipFile(io.BytesIO(bundle)).namelist()
    )


def test_a_post_shows_the_competitions_images_and_no_others(site: Site) -> None:
    send(site.owner(), "plot.png", picture())
    pia = site.member("pia")
    body = "See ![the plot](files/plot.png), not ![this](https://elsewhere.example/x.png)."
    begun = post(pia, f"{HERE}/discussion/new", title="The plot", body=body)
    shown = page(pia, begun.headers["location"].partition("#")[0]).text
    assert f'src="{HERE}/files/plot.png"' in shown and 'src="https://elsewhere' not in shown
    assert '<a href="https://elsewhere.example/x.png"' in shown  # its reader chooses whether to fetch it


_RANDOM = random.Random(7).randbytes(64 * 64 * 3)
NOISE = encoded(Image.frombytes("RGB", (64, 64), _RANDOM), "JPEG")
DRAWING = b"<svg xmlns='http://www.w3.org/2000/svg'><g/></svg>"
_HEAD = b"IHDR" + struct.pack(">II5B", 60_000, 60_000, 8, 2, 0, 0, 0)
BOMB = (
    bitmap("PNG")[:12] + _HEAD + struct.pack(">I", zlib.crc32(_HEAD)) + bitmap("PNG")[33:]
)  # 10 GB of pixels
NO_PICTURES = [
    ("logo.png", b"Hello"),
    ("logo.jpg", bitmap("JPEG")[:200]),
    ("logo.jpg", NOISE[: len(NOISE) // 2]),  # its head is sound
    ("logo.png", bitmap("PNG")[:-16] + bytes(4) + bitmap("PNG")[-12:]),  # its sum is wrong
    ("logo.png", bitmap("BMP")),
    ("logo.png", BOMB),
    ("logo.svg", bitmap("PNG")),
    ("logo.svg", b"<html xmlns='http://www.w3.org/1999/xhtml'/>"),
    ("logo.svg", DRAWING[:-6]),
    ("logo.svg", b"<svg><g/></svg>"),  # no drawing without its name space: browsers show it as broken
]
PICTURES = [
    ("logo.png", bitmap("PNG")),
    ("logo.jpg", bitmap("JPEG")),
    ("logo.gif", bitmap("GIF")),
    ("logo.webp", bitmap("WEBP")),
    ("logo.png", bitmap("JPEG")),  # browsers look at the content
    ("logo.svg", DRAWING),
    ("logo.svg", b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY ns 'x'>]>" + DRAWING),
]


def give_logo(owner: Person, name: str, content: bytes) -> str:
    """Give the competition a logo in the form of its settings; what the page then says."""
    files = {"logo": (name, content)}
    answer = owner.call(
        "POST", f"{BASE}/settings", data=settings_form(), files=files, headers={"accept": "text/html"}
    )
    return answer.text


def test_a_logo_that_is_a_picture_is_shown_and_another_is_refused(site: Site) -> None:
    owner = site.owner()
    for name, content in NO_PICTURES:
        assert f"Browsers cannot show {name} as a picture" in give_logo(owner, name, content)
        refused = owner.call("PUT", f"{MANAGE}/logo", json={"upload_id": owner.upload(content, name)})
        assert (refused.status_code, "as a picture" in refused.json()["message"]) == (422, True), name
    assert owner.call("GET", f"{HERE}/logo").status_code == 404
    for name, content in PICTURES:
        assert "Saved." in give_logo(owner, name, content)
        assert owner.call("GET", f"{HERE}/logo").content == content, name


def test_what_is_no_picture_in_a_bundle_is_left_out_and_said(site: Site) -> None:
    owner = site.owner()
    files = {"logo.svg": b"Hello", "files/plot.png": b"Hello", "files/good.png": picture()}
    bundle = zipped({"competition.yaml": FULL, **FULL_FILES, **files})
    sent = owner.call("POST", "/organize/import", files={"bundle": ("b.zip", bundle)})
    assert sent.url.path.endswith("/manage/import"), sent.text
    report, there = " ".join(sent.text.split()), sent.url.path.removesuffix("/manage/import")
    assert "logo.svg was left out: Browsers cannot show logo.svg as a picture" in report
    assert "files/plot.png was left out: Browsers cannot show plot.png as a picture" in report
    assert owner.call("GET", f"{there}/logo").status_code == 404
    assert owner.call("GET", f"{there}/files/good.png").status_code == 200
