"""A walk over the addresses that pages show."""

import re
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qs, urldefrag, urljoin, urlsplit

from fastapi.testclient import TestClient
from httpx2 import Response

from tests.platform.site import Person

ALIKE = 2  # pages of one kind that are opened: the submissions of a long list look alike
_ID = re.compile(r"\b(?:[0-9a-f]{32}|[0-9a-f]{64}|\d+)\b")


class Addresses(HTMLParser):
    """The values of all `src` and `href` of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("src", "href") and value]


@dataclass
class ShownForm:
    """A form that a page shows: where it is sent, and how its fields stand."""

    action: str
    says_version: bool = False  # what it was filled in upon
    shows: set[str] = field(default_factory=set)  # fields that are not empty


class Forms(HTMLParser):
    """The forms of a page that write something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[ShownForm] = []
        self._now: ShownForm | None = None
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "form":
            self._now = ShownForm(known.get("action") or "") if known.get("method") == "post" else None
            self.found += [self._now] if self._now else []
        elif self._now and tag in ("input", "textarea", "select"):
            self._inside = "" if tag == "input" else known.get("name") or ""
            self._now.says_version |= known.get("name") == "seen"
            kind, name = known.get("type"), known.get("name")
            ticked = "checked" in known if kind in ("checkbox", "radio") else bool(known.get("value"))
            if tag == "input" and name and ticked and kind not in ("hidden", "submit", "file"):
                self._now.shows.add(name)
        elif self._now and tag == "option" and "selected" in known and known.get("value"):
            self._now.shows.add(self._inside)

    def handle_data(self, data: str) -> None:
        if self._now and self.lasttag == "textarea" and data.strip():
            self._now.shows.add(self._inside)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._now = None


def kind_of(address: str) -> str:
    """What pages that differ in an id alone have in common."""
    parts = urlsplit(address)
    return _ID.sub("*", parts.path) + "?" + ",".join(sorted(parse_qs(parts.query)))


def walk(
    get: Callable[[str], Response],
    base: str,
    *starts: str,
    goes_to: Callable[[str], bool],
    look: Callable[[Response], None] = lambda _: None,
    opened: set[str] | None = None,
) -> dict[str, str]:
    """Addresses below `base` that answer with an error, and the page that shows them.

    `goes_to` says to which paths it goes, `look` is shown each page; the paths that were asked go into `opened`.
    """
    waiting = deque((start, "the start") for start in starts)
    known, kinds, broken = set(starts), Counter[str](), dict[str, str]()
    while waiting:
        address, shown_by = waiting.popleft()
        kinds[kind_of(address)] += 1
        if kinds[kind_of(address)] > (1 if urlsplit(address).query else ALIKE):
            continue
        if opened is not None:
            opened.add(urlsplit(address).path)
        answer = get(address)
        if answer.status_code >= 400:
            broken[address] = f"{answer.status_code} on {shown_by}"
        elif answer.headers.get("content-type", "").startswith("text/html"):
            look(answer)
            for value in Addresses(answer.text).found:
                target = urldefrag(urljoin(str(answer.url), value)).url
                if target.startswith(base) and target not in known and goes_to(urlsplit(target).path):
                    known.add(target)
                    waiting.append((target, address))
    return broken


def walk_below(
    person: Person | None, client: TestClient, within: str, *starts: str
) -> tuple[set[str], dict[str, str]]:
    """What somebody, or nobody signed in, opens below a path, and what of it answers with an error."""
    opened, headers = set[str](), {"accept": "text/html", **(person.headers if person else {})}
    broken = walk(
        lambda address: client.get(address, headers=headers),
        str(client.base_url),
        *starts,
        goes_to=lambda path: path.startswith(within),
        opened=opened,
    )
    return opened, broken
