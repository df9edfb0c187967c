"""Connections on which no whole request arrives are closed: half-sent headers cost a place for ever otherwise."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADER_SECONDS = 20.0  # from the first byte of a connection to the end of the first request's headers


class LimitedPatience(HttpToolsProtocol):
    """Uvicorn's protocol with a time limit on headers; bodies have theirs in `site.web.bodies`."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        if self._waiting is None:
            self._wait_for_headers()  # a further request on the same connection
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_headers(self) -> None:
        if not self._is_in_a_request():
            self._waiting = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _is_in_a_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self._is_in_a_request():
            self.transport.close()
