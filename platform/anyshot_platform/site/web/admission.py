"""How many requests are worked on at once, and what happens to the others.

A request that is worked on needs a thread for each of its steps, and keeps a database connection from one step to
the next. More requests than either would wait for one another for ever, so only as many get in as there are threads
and connections for; of the others, those whose turn comes soon enough wait for it, and the rest is told 503 at once.
Where several are worked on, who asks for a page that many see gets one that is made for many (`crowd`). While a request
waits for bytes of its visitor, or its answer goes out, its place is another one's.

This is the outermost part of the application: to refuse costs next to nothing, or refusing a crowd would be a crowd.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from weakref import WeakKeyDictionary

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from anyshot_platform.foundation.metrics import REFUSED
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.submissions.arrivals import PLACE_KEPT
from anyshot_platform.site.web.crowd import SharedPages
from anyshot_platform.site.web.tickets import keeps_place

FREE = ("/static/", "/health")
FOR_MACHINES = ("/api/worker/", "/ready", "/metrics")  # have places of their own: visitors cannot take them
HEARTBEATS = ("/api/worker/", "/heartbeat")  # these too: what other workers store must not cost a lease
MACHINES_AT_ONCE = 6
HEARTBEATS_AT_ONCE = 4
MACHINES_WAIT = 20.0  # seconds: a worker rather waits than tries again
MACHINES_QUEUE = 500
CROWD = 4  # requests that are worked on at once
RETRY_AFTER = 2  # seconds
FIRST_PACE = 0.02  # seconds from one free place to the next, until it is known
_WORDS = "The site has more visitors than it can answer just now. Please try again in a moment."
_KEPT = (
    f"{_WORDS} Your place is kept: the moment of this request counts if you send it again within "
    f"{PLACE_KEPT // timedelta(minutes=1)} minutes."
)


class Slots:
    """Places for requests, first come, first served."""

    def __init__(
        self, places: int, queue: int, wait: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._places = self.free = places
        self._clock = clock
        self._queue = queue
        self._wait = wait
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._pace = FIRST_PACE
        self._last_given = 0.0

    @property
    def crowded(self) -> bool:
        """Whether so many places are taken that pages are made for many: more at once take longer each."""
        return self._places - self.free >= min(CROWD, self._places)

    async def take(self) -> bool:
        """Take a place, waiting a moment for it; False if there is none or too many wait."""
        if self.free > 0:
            self.free -= 1
            return True
        if len(self._waiting) >= self._queue:
            return False
        if len(self._waiting) * self._pace > self._wait:
            return False  # its turn would come too late: to wait for it would be in vain
        turn = self._line_up()
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._wait)
        except TimeoutError:
            return self._leave(turn)
        except asyncio.CancelledError:
            if self._leave(turn):
                self.give()
            raise
        return True

    async def take_again(self) -> None:
        """Take a place for a request that had one before, however long it lasts; it goes first."""
        if self.free > 0:
            self.free -= 1
            return
        turn = self._line_up(first=True)
        try:
            await asyncio.shield(turn)
        except asyncio.CancelledError:
            if self._leave(turn):
                self.give()
            raise

    def give(self) -> None:
        """Give a place to the next one who waits, or back."""
        self._measure()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1

    def _measure(self) -> None:
        """Follow how quickly places come free while somebody waits for one."""
        moment = self._clock()
        if self._waiting and self._last_given:
            self._pace += 0.1 * (moment - self._last_given - self._pace)
        self._last_given = moment if self._waiting else 0.0

    def _line_up(self, *, first: bool = False) -> asyncio.Future[None]:
        turn = asyncio.get_running_loop().create_future()
        (self._waiting.appendleft if first else self._waiting.append)(turn)
        return turn

    def _leave(self, turn: asyncio.Future[None]) -> bool:
        """Stop waiting; True if the place was given at this very moment."""
        if turn.done():
            return True
        turn.cancel()
        self._waiting.remove(turn)
        return False


class RequestPlace:
    """One request's place: given back while its visitor sends, and for good when its answer begins to go out."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._held = True
        self._over = False

    async def receive(self, receive: Receive) -> Message:
        """What the visitor sends next."""
        if self._over:
            return await receive()
        self._give()
        try:
            return await receive()
        finally:
            if not self._over:
                await self._slots.take_again()
                self._held = True

    def end(self) -> None:
        """Give the place back."""
        self._over = True
        self._give()

    def _give(self) -> None:
        if self._held:
            self._held = False
            self._slots.give()


class Asker(Enum):
    """Who asks: each kind has places that the others cannot take."""

    VISITOR = "visitor"
    MACHINE = "machine"
    HEARTBEAT = "heartbeat"


def asker_of(path: str) -> Asker:
    """Who asks for a path."""
    begins, ends = HEARTBEATS
    if path.startswith(begins) and path.endswith(ends):
        return Asker.HEARTBEAT
    return Asker.MACHINE if path.startswith(FOR_MACHINES) else Asker.VISITOR


class RequestAdmission:
    """Plain ASGI: lets as many requests in as can be worked on."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        at_once: int,
        queue: int,
        wait: float,
        services: Callable[[], Services] | None = None,
    ) -> None:
        self.app = app
        self._shared = SharedPages(app, services) if services else None
        self._sizes = {
            Asker.VISITOR: (at_once, queue, wait),
            Asker.MACHINE: (MACHINES_AT_ONCE, MACHINES_QUEUE, MACHINES_WAIT),
            Asker.HEARTBEAT: (HEARTBEATS_AT_ONCE, MACHINES_QUEUE, MACHINES_WAIT),
        }
        # An application serves in one event loop; in tests in several, one after the other.
        self._slots: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Asker, Slots]] = WeakKeyDictionary()

    def slots(self, asker: Asker = Asker.VISITOR) -> Slots:
        """The places of those who ask."""
        known = self._slots.setdefault(asyncio.get_running_loop(), {})
        if asker not in known:
            known[asker] = Slots(*self._sizes[asker])
        return known[asker]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(FREE):
            await self.app(scope, receive, send)
            return
        slots = self.slots(asker_of(scope["path"]))
        if self._shared and slots.crowded and await self._shared.answer(scope, send):
            return
        if not await slots.take():
            await say_busy(scope, send)
            return
        place = RequestPlace(slots)

        async def send_without_place(message: Message) -> None:
            if message["type"] == "http.response.start":
                place.end()
            await send(message)

        try:
            await self.app(scope, lambda: place.receive(receive), send_without_place)
        finally:
            place.end()


def _busy(content_type: bytes, text: str) -> tuple[Message, Message]:
    body = text.encode()
    headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"retry-after", str(RETRY_AFTER).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    start: Message = {"type": "http.response.start", "status": 503, "headers": headers}
    return start, {"type": "http.response.body", "body": body}


def _page_and_json(words: str) -> tuple[tuple[Message, Message], tuple[Message, Message]]:
    said = f'{{"error": "busy", "message": "{words}"}}'
    return _busy(b"text/plain; charset=utf-8", words), _busy(b"application/json", said)


_BUSY, _BUSY_HAND_IN = _page_and_json(_WORDS), _page_and_json(_KEPT)


async def say_busy(scope: Scope, send: Send) -> None:
    """Answer 503 without asking anybody anything."""
    REFUSED.inc()
    page, json = _BUSY_HAND_IN if keeps_place(scope) else _BUSY
    for message in json if scope["path"].startswith("/api/") else page:
        await send(message)
