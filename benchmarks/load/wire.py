"""The least of an HTTP client: what the simulated users take of the processor is missing to the site."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

SECONDS = 60.0  # for an answer
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoAnswer(Exception):
    """The connection broke, or the answer did not come in time."""


@dataclass(frozen=True)
class Answer:
    """Status and body."""

    status: int
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body's JSON."""
        return json.loads(self.body)


class Wire:
    """Asks one server over connections that are kept open, as many as there are questions at once."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._idle: list[Connection] = []

    async def ask(
        self, method: str, path: str, headers: dict[str, str], *, body: bytes | None = None
    ) -> Answer:
        """One request; raises `NoAnswer`."""
        fields = {"host": f"{self._host}:{self._port}", "content-length": str(len(body or b"")), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            async with asyncio.timeout(SECONDS):
                reader, writer = await self._connect()
                writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + (body or b""))
                await writer.drain()
                answer = await _read(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            raise NoAnswer(type(error).__name__) from error
        self._idle.append((reader, writer))
        return answer

    async def post(self, path: str, headers: dict[str, str], data: dict[str, Any]) -> Answer:
        """POST as JSON."""
        asked = {**headers, "content-type": "application/json"}
        return await self.ask("POST", path, asked, body=json.dumps(data).encode())

    def close(self) -> None:
        """Close all connections."""
        for _, writer in self._idle:
            writer.close()

    async def _connect(self) -> Connection:
        while self._idle:
            reader, writer = self._idle.pop()  # the one used last: the server closes those that rest
            if not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self._host, self._port)


async def _read(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head[9:12])
    length = head.partition("\r\ncontent-length:")[2].partition("\r\n")[0]
    if not length and status not in (204, 304):
        raise OSError("an answer of unknown length")
    return Answer(status, await reader.readexactly(int(length or 0)))
