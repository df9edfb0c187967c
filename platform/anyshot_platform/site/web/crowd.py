"""Pages in a crowd: where several ask at once, they get a page that is made once for all who see the same.

Such a page is made for a `Cohort`, which is nobody in particular, so nothing of anybody is on it. What is a
person's own and costs little (the account's menu, the row of the team on a board) is filled into its gaps; the rest is
left out, and the page says so. Nobody gets a page that is older than `_OLDEST`; without a crowd, each is made anew.
"""

import asyncio
import gzip
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from anyio import to_thread
from fastapi import Request
from sqlalchemy import and_, select
from sqlalchemy.orm import Session
from starlette.types import ASGIApp, Message, Scope, Send

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.service import must_accept
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.foundation.identicons import identicon
from anyshot_platform.foundation.metrics import SHARED
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.signing import digest_secret
from anyshot_platform.judging.visibility.access import CompetitionAccess, access_of
from anyshot_platform.people.notifications.service import count_unread
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Cohort, Viewer
from anyshot_platform.site.web.csrf import csrf_token
from anyshot_platform.site.web.frame import FLASH_COOKIE, unread_words
from anyshot_platform.site.web.gaps import Own, fill, split
from anyshot_platform.site.web.viewer import LOOK_COOKIE, SESSION_COOKIE, select_sessions, viewer_in

_PAGES = re.compile(
    r"/|/competitions|/competitions/(?P<slug>[^/]+)(/leaderboard|/results|/data|/announcements)?|/docs(/.*)?"
)
_FRESH = 2.0  # seconds: then it is made anew, and shown meanwhile
_OLDEST = 3.0
_MOST = 64  # pages that a process keeps
_MAKING_AT_ONCE = 4
_MOST_AT_ONCE = 100  # of whom one statement finds out who they are


@dataclass(frozen=True)
class _Page:
    """A page that was made; `parts` are text, then again and again kind and name of a gap and the text behind it."""

    made_at: float
    headers: list[tuple[bytes, bytes]]
    parts: tuple[str, ...]
    own: Own | None


_Key = tuple[str, bytes, Cohort]


class SharedPages:
    """The pages that a process has made for cohorts; `app` makes them."""

    def __init__(self, app: ASGIApp, services: Callable[[], Services]) -> None:
        self._app = app
        self._services = services
        self._pages: OrderedDict[_Key, _Page] = OrderedDict()
        self._competitions: dict[str, tuple[Competition | None, float]] = {}
        self._makings: dict[_Key, asyncio.Task[_Page | None]] = {}
        self._making = asyncio.Semaphore(_MAKING_AT_ONCE)
        self._waiting: list[tuple[_Asked, asyncio.Future[_Person | None]]] = []
        self._looking: asyncio.Task[None] | None = None

    async def answer(self, scope: Scope, send: Send) -> bool:
        """Answer with a shared page; False for a request that no such page answers."""
        request = Request(scope)
        match = _PAGES.fullmatch(scope["path"]) if scope["method"] == "GET" else None
        if match is None or not _may_share(request):
            return False
        person = _VISITOR
        if request.cookies.get(SESSION_COOKIE):
            found = await self._find_person(request, match.groupdict()["slug"])
            if found is None:
                return False
            person = found
        page = await self._get((scope["path"], scope["query_string"], person.cohort), scope)
        if page is None:
            return False
        SHARED.inc()
        texts = {**person.texts, **(page.own(person.team_id) if page.own and person.team_id else {})}
        body, headers = fill(page.parts, texts), [*page.headers, (b"vary", b"accept-encoding")]
        if "gzip" in request.headers.get("accept-encoding", ""):
            body = gzip.compress(body, 1)
            headers.append((b"content-encoding", b"gzip"))
        headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        return True

    async def _find_person(self, request: Request, slug: str | None) -> "_Person | None":
        """Who asks, and with whom they see the same; None for those who see more, or are asked for something.

        All who come meanwhile are looked for together.
        """
        found = asyncio.get_running_loop().create_future()
        self._waiting.append((_Asked(request, slug), found))
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return await found

    async def _look(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
                try:
                    persons = await to_thread.run_sync(self._find_persons, [asked for asked, _ in batch])
                except Exception as error:  # noqa: BLE001 - each who waits for it gets it
                    for _, found in batch:
                        if not found.done():
                            found.set_exception(error)
                    continue
                for (_, found), person in zip(batch, persons, strict=True):
                    if not found.done():
                        found.set_result(person)
        finally:
            self._looking = None

    def _find_persons(self, batch: "Sequence[_Asked]") -> "list[_Person | None]":
        services = self._services()
        with services.database.glancing() as session:
            competitions = {
                asked.slug: self._find_competition(session, asked.slug) for asked in batch if asked.slug
            }
            ids = [one.id for one in competitions.values() if one is not None]
            member = and_(Membership.user_id == User.id, Membership.competition_id.in_(ids))
            query = select_sessions(*{asked.cookie for asked in batch}).outerjoin(Membership, member)
            rows = session.execute(query.add_columns(Membership, count_unread(User.id))).all()
        known = {row[0].digest: row for row in rows}
        members = {(row[0].digest, row[2].competition_id): row[2] for row in rows if row[2] is not None}
        persons = list[_Person | None]()
        for asked in batch:
            row, competition = (
                known.get(digest := digest_secret(asked.cookie)),
                competitions.get(asked.slug or ""),
            )
            membership = members.get((digest, competition.id)) if competition else None
            person = _person(asked.request, services, row, competition, membership) if row else None
            persons.append(person)
        return persons

    def _find_competition(self, session: Session, slug: str) -> Competition | None:
        """The competition of an address, remembered as long as a page is."""
        known, until = self._competitions.get(slug, (None, 0.0))
        if time.monotonic() < until:
            return known
        found = session.scalars(select(Competition).where(Competition.slug == slug)).one_or_none()
        if len(self._competitions) >= _MOST:
            self._competitions.clear()
        self._competitions[slug] = found, time.monotonic() + _FRESH
        return found

    async def _get(self, key: _Key, scope: Scope) -> _Page | None:
        page, age = self._pages.get(key), float("inf")
        if page is not None:
            age = time.monotonic() - page.made_at
        if age < _FRESH:
            return page
        making = self._makings.get(key)
        if making is None:
            if len(self._makings) >= _MOST:
                return page if age < _OLDEST else None
            making = self._makings[key] = asyncio.create_task(self._make(key, scope))
        return page if age < _OLDEST else await asyncio.shield(making)

    async def _make(self, key: _Key, scope: Scope) -> _Page | None:
        try:
            async with self._making:
                made = await _ask(self._app, scope, key[2])
            if made is not None:
                self._pages[key] = made
                self._pages.move_to_end(key)
                while len(self._pages) > _MOST:
                    self._pages.popitem(last=False)
            return made
        finally:
            del self._makings[key]


@dataclass(frozen=True)
class _Asked:
    """A request with a session, and the competition that it is about."""

    request: Request
    slug: str | None

    @property
    def cookie(self) -> str:
        return self.request.cookies[SESSION_COOKIE]


@dataclass(frozen=True)
class _Person:
    cohort: Cohort
    team_id: str | None
    texts: Mapping[str, str]


_VISITOR = _Person(Cohort.VISITORS, None, {})


def _may_share(request: Request) -> bool:
    """Whether a browser asks for a page, and for nothing that is on one page alone."""
    cookies, headers = request.cookies, request.headers
    plain = FLASH_COOKIE not in cookies and LOOK_COOKIE not in cookies and "authorization" not in headers
    return plain and "text/html" in headers.get("accept", "")


def _person(
    request: Request,
    services: Services,
    row: Any,
    competition: Competition | None,
    membership: Membership | None,
) -> _Person | None:
    login, user, _, count = row
    viewer = viewer_in(login, user, services)
    if viewer.is_site_admin or viewer.lacks_second_factor:
        return None
    own = _account(request, services, viewer, count)
    if competition is None or membership is None:
        return _Person(Cohort.MEMBERS, None, own)
    access = access_of(viewer, competition, membership)
    return _Person(Cohort.PARTICIPANTS, access.team_id, own) if _is_usual(access) else None


def _is_usual(access: CompetitionAccess) -> bool:
    """Whether somebody is a participant of whom nothing is asked, with a team."""
    member = access.membership
    return (
        member is not None
        and (member.status, access.role) == (MemberStatus.APPROVED, Role.PARTICIPANT)
        and member.team_id is not None
        and not must_accept(access.competition, member)
    )


def _account(request: Request, services: Services, viewer: Viewer, unread: int) -> dict[str, str]:
    """What every page has of the one who is signed in."""
    return {
        "avatar": identicon(f"user:{viewer.username}"),
        "csrf": csrf_token(request, services),
        "name": viewer.display_name,
        "username": viewer.username,
        **({"unread": unread_words(unread)} if unread else {}),
    }


async def _ask(app: ASGIApp, scope: Scope, cohort: Cohort) -> _Page | None:
    """Let the application make a page for a cohort; None for what is no page for everyone in it."""
    state: dict[str, Any] = {"cohort": cohort}
    asked = {**scope, "headers": [(b"accept", b"text/html")], "state": state}
    asked.pop("extensions", None)
    start: Message = {}
    body = bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            body.extend(message.get("body", b""))

    made_at = time.monotonic()
    with suppress(Exception):  # the one who waits for it asks for the page as usual, and gets the error
        await app(asked, receive, send)
    headers = [
        pair for pair in start.get("headers", ()) if pair[0] not in (b"content-length", b"x-request-id")
    ]
    if start.get("status") != 200 or any(name == b"set-cookie" for name, _ in headers):
        return None
    return _Page(made_at, headers, tuple(split(body.decode())), state.get("own"))
