"""What holds for every answer of the site: compression, HEAD, what browsers keep, pages that say what to do next."""

import gzip
import re
import struct
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import httpx
from sqlalchemy import select

from anyshot_platform.people.notifications.delivery import make_message
from anyshot_platform.people.notifications.letters import send_email
from anyshot_platform.people.notifications.models import Email
from anyshot_platform.running.announcements.results import say_change
from tests.platform.web.conftest import LiveSite, Visitor
from tests.platform.web.scene import Scene

_HTML = {"accept": "text/html"}
_DOCS = "/docs/participants/first-submission/"
_TOKEN = re.compile(rb'"[0-9a-f]{96}"')


def test_texts_are_sent_compressed_and_what_is_packed_already_as_it_is(live: LiveSite) -> None:
    asked = {**_HTML, "accept-encoding": "gzip"}
    for path in ("/", "/static/css/components.css", "/static/img/icons.svg", _DOCS):
        with httpx.stream("GET", live.address + path, headers=asked, timeout=60) as answer:
            packed = b"".join(answer.iter_raw())
        plain = httpx.get(live.address + path, headers={**_HTML, "accept-encoding": "identity"}, timeout=60)
        assert answer.status_code == 200 and answer.headers["content-encoding"] == "gzip", path
        assert "accept-encoding" in answer.headers["vary"].lower() and "content-encoding" not in plain.headers
        assert len(packed) < 0.7 * len(plain.content), path
        assert _TOKEN.sub(b"", gzip.decompress(packed)) == _TOKEN.sub(b"", plain.content), path
    for path in ("/static/fonts/inter-latin-wght-normal.woff2", "/apple-touch-icon.png"):
        answer = httpx.get(live.address + path, headers={"accept-encoding": "gzip"}, timeout=60)
        assert answer.status_code == 200 and "content-encoding" not in answer.headers, path


def test_a_stream_is_neither_compressed_nor_held_back(visitor: Visitor, live: LiveSite, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    cookies = {name: str(value) for name, value in visitor.client.cookies.items()}
    asked = {"accept-encoding": "gzip"}
    path = f"{live.path('running')}/stream"
    with httpx.stream("GET", path, headers=asked, cookies=cookies, timeout=20) as answer:
        first = next(answer.iter_raw())
    assert "content-encoding" not in answer.headers and first.startswith(b"event: ")


def test_a_compressed_page_has_another_token_each_time(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    tokens = {re.findall(r'csrf-token" content="(\w+)"', visitor.see("/account"))[0] for _ in range(3)}
    assert len(tokens) == 3
    for token in tokens:  # and each of them is taken
        sent = {"csrf_token": token, "display_name": "Ada", "time_zone": "UTC", "homepage": ""}
        answer = visitor.client.post("/account", data=sent, headers=_HTML, follow_redirects=False)
        assert answer.status_code == 303
    forged = {"csrf_token": "0" * 96, "display_name": "Eve", "time_zone": "UTC", "homepage": ""}
    assert visitor.client.post("/account", data=forged, headers=_HTML).status_code == 403


def test_head_is_answered_like_get(live: LiveSite) -> None:
    for path in ("/", "/competitions", "/health", "/robots.txt", "/favicon.ico", _DOCS, "/nowhere"):
        head, full = (
            httpx.request(one, live.address + path, headers=_HTML, timeout=60) for one in ("HEAD", "GET")
        )
        assert head.status_code == full.status_code == (404 if path == "/nowhere" else 200), path
        assert head.content == b"" and head.headers["content-type"] == full.headers["content-type"], path


def test_browsers_may_go_back_to_public_pages_and_keep_nothing_of_private_ones(
    visitor: Visitor, scene: Scene
) -> None:
    board = f"/competitions/{scene.competition.slug}/leaderboard"
    for path in ("/", board, _DOCS):
        assert visitor.client.get(path, headers=_HTML).headers["cache-control"] == "private, no-cache"
    visitor.sign_in(scene.ada)
    for path in ("/", board, "/account"):
        assert visitor.client.get(path, headers=_HTML).headers["cache-control"] == "no-store"


def test_icons_are_what_their_names_say(visitor: Visitor) -> None:
    assert visitor.client.get("/favicon.ico").content.startswith(b"\x00\x00\x01\x00")
    assert visitor.client.get("/apple-touch-icon.png").content.startswith(b"\x89PNG")


def test_a_page_that_is_not_there_says_so_and_leads_on(visitor: Visitor, scene: Scene) -> None:
    page = visitor.see(f"/competitions/{scene.competition.slug}/nowhere", 404)
    assert "There is no page at this address" in page and "<h1>Not found</h1>" in page
    assert f'href="/competitions/{scene.competition.slug}">To the competition' in page


def test_who_takes_no_part_is_offered_to_join(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.visitor)
    base = f"/competitions/{scene.competition.slug}"
    page = visitor.see(f"{base}/team", 403)
    assert f'href="{base}/join"' in page and "Join the competition first" in page
    assert "role" not in re.sub(r"<[^>]*>", "", page)
    desk = visitor.see(f"{base}/manage", 403)
    assert (
        "Only organizers and reviewers of this competition can do this." in desk and f'href="{base}"' in desk
    )


def test_people_are_shown_no_regular_expression(visitor: Visitor, scene: Scene) -> None:
    page = visitor.see(f"/competitions/{scene.competition.slug}/leaderboard?sort=colour", 422)
    assert "colour" in page and "^-?" not in page


def test_a_shared_address_has_a_card(visitor: Visitor, scene: Scene) -> None:
    page = visitor.see(f"/competitions/{scene.competition.slug}")
    card = dict(re.findall(r'property="og:([\w:]+)" content="([^"]*)"', page))
    assert card["title"] == scene.competition.title and card["description"] == scene.competition.summary
    assert card["url"].startswith("http") and card["image"].startswith("http")
    picture = visitor.client.get(urlsplit(card["image"]).path).content
    told = (int(card["image:width"]), int(card["image:height"]))
    assert told == (1200, 630) == struct.unpack(">II", picture[16:24]) and picture.startswith(b"\x89PNG")


def test_mails_say_when_they_were_written(visitor: Visitor) -> None:
    with visitor.services.database.writing() as session:
        send_email(session, to="ada@example.org", subject="A subject", body="A body")
    with visitor.services.database.reading() as session:
        message = make_message(visitor.services, session.scalars(select(Email)).one(), say_change)
    assert datetime.now(UTC) - parsedate_to_datetime(message["Date"]) < timedelta(minutes=5)


def test_the_subject_of_a_mail_is_read_as_it_was_written(visitor: Visitor) -> None:
    """Its line was broken beside the first letter that is not ASCII, and mail programs read a space more there."""
    subject = "Submission 1 (prototypical_networks.zip) is scored: 0.381 ± 0.039, rank 1 of 3 in Free-style"
    with visitor.services.database.writing() as session:
        send_email(session, to="ada@example.org", subject=subject, body="A body")
    with visitor.services.database.reading() as session:
        message = make_message(visitor.services, session.scalars(select(Email)).one(), say_change)
    for sent in (message.as_bytes(), message.as_bytes(policy=message.policy.clone(linesep="\r\n"))):
        assert all(len(line) < 79 for line in sent.partition(b"\nDate:")[0].splitlines())
        read = message_from_bytes(sent, policy=policy.default)
        assert read["Subject"].endswith(f"] {subject}") and read["To"] == "ada@example.org"
