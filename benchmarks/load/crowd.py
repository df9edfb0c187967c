"""A crowd that comes at once: how many are answered, how many are told 503, and how soon the site is as before."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

import httpx

from benchmarks.figures import Figure, figure
from benchmarks.load.stage import SLUG
from benchmarks.load.users import Member

PAGES = ("/", "/competitions", f"/competitions/{SLUG}", f"/competitions/{SLUG}/leaderboard")
_PATIENCE = 30.0  # seconds
_USUAL = 0.5  # seconds in which a page is answered when nobody else is there


@dataclass
class Answers:
    """How the crowd was answered."""

    kinds: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


async def come(address: str, members: list[Member], visitors: int) -> list[Figure]:
    """All visitors ask for a page at the same moment, each on a connection of its own; every other one is a member."""
    answers = Answers()
    tasks = (
        _visit(address, answers, members[n // 2 % len(members)] if n % 2 else None, n // 2)
        for n in range(visitors)
    )
    await asyncio.gather(*tasks)
    async with httpx.AsyncClient(base_url=address, timeout=_PATIENCE) as client:
        calm = await _until_calm(client)
        ready = (await client.get("/ready")).status_code
    late = sum(seconds > 2.0 for seconds in answers.seconds)
    answered = max(0, answers.kinds["200"] - late)
    wanted = 0.95 * visitors
    worst = max(answers.seconds, default=float("nan"))
    lost = visitors - answers.kinds["200"] - answers.kinds["503"]
    return [
        figure("crowd.visitors", visitors, "visitors"),
        figure("crowd.answered", answers.kinds["200"], "visitors"),
        figure("crowd.answered_within_2_s", answered, "visitors", f">= {wanted:.0f}", answered >= wanted),
        figure("crowd.told_to_come_back", answers.kinds["503"], "visitors"),
        figure("crowd.neither", lost, "visitors", "0", lost == 0),
        figure("crowd.later_than_2_s", late, "visitors", "0", late == 0),
        figure("crowd.worst", worst, "s", "< 2", worst < 2),
        figure("crowd.as_before_after", calm, "s", "< 10", calm < 10),
        figure("crowd.ready_answers", ready, "status", "200", ready == 200),
    ]


async def _visit(address: str, answers: Answers, member: Member | None, number: int) -> None:
    """One page on a connection of its own, with nothing of a client between: a pool of a thousand is slow itself."""
    url, began = httpx.URL(address), time.perf_counter()
    cookie = f"Cookie: anyshot_session={member.cookie}\r\n" if member else ""
    path = PAGES[number % len(PAGES)]
    asked = (
        f"GET {path} HTTP/1.1\r\nHost: {url.host}\r\nAccept: text/html\r\n{cookie}Connection: close\r\n\r\n"
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection(url.host, url.port)
            writer.write(asked.encode())
            answer = await reader.read(-1)
            writer.close()
        answers.kinds[answer[9:12].decode()] += 1
    except (OSError, TimeoutError) as error:
        answers.kinds[type(error).__name__] += 1
    answers.seconds.append(time.perf_counter() - began)


async def _until_calm(client: httpx.AsyncClient) -> float:
    """Seconds until a page is answered as quickly as on an empty site."""
    began = time.perf_counter()
    while time.perf_counter() - began < _PATIENCE:
        asked = time.perf_counter()
        answer = await client.get(PAGES[2], headers={"accept": "text/html"})
        if answer.status_code == 200 and time.perf_counter() - asked < _USUAL:
            break
    return time.perf_counter() - began
