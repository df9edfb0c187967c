"""Live pages on which nothing happens: what five hundred of them cost the site, and the pages beside them."""

import asyncio
import statistics
import time
from collections.abc import Callable

import httpx
from sqlalchemy import update

from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.states import RunState
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from benchmarks.figures import Figure, figure
from benchmarks.load.stage import SLUG
from benchmarks.load.users import Member

SECONDS = 20.0  # that are measured, once all streams are open
_PAGES = 20


def keep_waiting(services: Services, members: list[Member]) -> None:
    """Put the members' submissions into the queue, where no worker takes them: their streams have no end."""
    ids = [member.submission_id for member in members]
    with services.database.writing() as session:
        session.execute(update(Run).where(Run.submission_id.in_(ids)).values(state=RunState.QUEUED))
        session.execute(
            update(Submission).where(Submission.id.in_(ids)).values(status=SubmissionStatus.QUEUED)
        )


async def idle(address: str, members: list[Member], streams: int, spent: Callable[[], float]) -> list[Figure]:
    """Open the streams, and measure what they cost; `spent` tells the processor seconds of the site until now."""
    held = [await _open(address, members[number % len(members)]) for number in range(streams)]
    await asyncio.sleep(5.0)  # the first looks
    began = spent()
    async with httpx.AsyncClient(base_url=address, timeout=30) as client:
        await asyncio.sleep(SECONDS)
        cost = (spent() - began) / SECONDS
        pages = [await _seconds(client) for _ in range(_PAGES)]
    open_still = sum(not reader.at_eof() for reader, _ in held)
    for _, writer in held:
        writer.close()
    return [
        figure("streams.open", open_still, "streams", str(streams), open_still == streams),
        figure("streams.cores_of_web", cost, "cores", "< 0.1", cost < 0.1),
        figure("streams.page_beside_them", statistics.median(pages) * 1000, "ms"),
    ]


async def _open(address: str, member: Member) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = httpx.URL(address)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    path = f"/submissions/{member.submission_id}/stream"
    cookie = f"Cookie: anyshot_session={member.cookie}\r\n"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {url.host}\r\n{cookie}\r\n".encode())
    await reader.readuntil(b"event: state")
    return reader, writer


async def _seconds(client: httpx.AsyncClient) -> float:
    began = time.perf_counter()
    (await client.get(f"/competitions/{SLUG}", headers={"accept": "text/html"})).raise_for_status()
    return time.perf_counter() - began
