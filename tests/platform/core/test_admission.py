"""A crowd is answered or told 503, bodies have limits, and nothing is left behind by either."""

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from sqlalchemy import insert, inspect, update
from sqlalchemy.orm import Session
from starlette.types import Message, Scope

from anyshot_platform.app import create_app
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.run_logs import watching as watching_module
from anyshot_platform.judging.run_logs.watching import Watching
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.people.users.models import ApiToken, User
from anyshot_platform.server.serving import connection_rules
from anyshot_platform.site.web.admission import MACHINES_AT_ONCE, RequestAdmission, Slots
from anyshot_platform.site.web.bodies import ANYBODY, FORM, HELD_AT_ONCE, BodyLimits
from tests.platform.conftest import make_settings
from tests.platform.site import SLUG, Site
from tests.platform.statements import statements


@contextmanager
def served(site: Site, **changes: Any) -> Iterator[str]:
    """The site's services behind a real server on loopback."""
    settings = site.services.settings.model_copy(update=changes)
    object.__setattr__(site.services, "settings", settings)
    app = create_app(settings, site.services)
    config = uvicorn.Config(app, port=0, lifespan="off", **connection_rules(settings))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)


async def crowd(address: str, paths: list[str], token: str) -> Counter[int]:
    """How all of them at once are answered."""
    limits = httpx.Limits(max_connections=len(paths))
    headers = {"authorization": f"Bearer {token}", "accept": "text/html"}
    async with httpx.AsyncClient(base_url=address, headers=headers, limits=limits, timeout=30) as client:
        answers = await asyncio.gather(*(client.get(path) for path in paths))
    assert all(answer.headers.get("retry-after") for answer in answers if answer.status_code == 503)
    return Counter(answer.status_code for answer in answers)


@pytest.mark.seconds("a crowd")
def test_150_page_loads_at_once_are_answered_and_the_site_goes_on(site: Site) -> None:
    alice = site.member("alice")
    page = f"/submissions/{alice.submit().json()['id']}"
    with served(site, web_queue=500, web_wait_seconds=300.0) as address:
        assert asyncio.run(crowd(address, [page] * 150, alice.token)) == {200: 150}


def test_beyond_a_short_queue_visitors_are_told_to_come_back(site: Site) -> None:
    alice = site.member("alice")
    with served(site, web_queue=5, web_wait_seconds=300.0) as address:
        answers = asyncio.run(crowd(address, [f"/competitions/{SLUG}"] * 150, alice.token))
        assert set(answers) == {200, 503}
        assert sum(answers.values()) == 150
        assert asyncio.run(crowd(address, [f"/competitions/{SLUG}"] * 3, alice.token)) == {200: 3}


def test_idle_streams_leave_the_pages_alone(site: Site) -> None:
    """More streams than there are places; each shows its state, and pages are answered beside them."""
    people = [site.member(f"user{number}") for number in range(2)]
    paths = [(who.token, f"/submissions/{who.submit().json()['id']}/stream") for who in people]
    places = {"web_requests_at_once": 1, "web_wait_seconds": 300.0}
    with served(site, **places) as address, ExitStack() as streams:
        shown = [streams.enter_context(streaming(address, path, token)) for token, path in paths * 3]
        assert [b"event: state" in first for first in shown] == [True] * 6
        assert httpx.get(f"{address}/competitions/{SLUG}", timeout=120).status_code == 200


@contextmanager
def streaming(address: str, path: str, token: str) -> Iterator[bytes]:
    """An open stream; gives what it says first."""
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=120) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {token}\r\n\r\n".encode())
        said = b""
        while b"event: " not in said:
            piece = line.recv(65_536)
            assert piece, said
            said += piece
        yield said


def test_one_user_has_only_so_many_streams(site: Site) -> None:
    alice = site.member("alice")
    path = f"/api/v1/submissions/{alice.submit().json()['id']}/stream"
    headers = {"authorization": f"Bearer {alice.token}"}

    async def run(address: str) -> int:
        async with httpx.AsyncClient(base_url=address, headers=headers, timeout=30) as client:
            held = []
            for _ in range(20):
                answer = await client.send(client.build_request("GET", path), stream=True)
                held.append((answer, lines := answer.aiter_lines()))
                await anext(lines)
            refused = await client.send(client.build_request("GET", path), stream=True)
            for answer, _ in held:
                await answer.aclose()
            await refused.aclose()
            return refused.status_code

    with served(site) as address:
        assert asyncio.run(run(address)) == 429


def test_slots_are_given_in_turn_and_come_back_when_one_gives_up_waiting() -> None:
    async def run() -> None:
        slots = Slots(1, queue=1, wait=60)
        assert await slots.take()
        second = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        assert not await slots.take()  # the queue is full
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        third = asyncio.create_task(slots.take())
        await asyncio.sleep(0)
        slots.give()
        assert await third
        slots.give()
        assert slots.free == 1

    asyncio.run(run())


def test_a_place_does_not_go_to_who_has_just_given_up() -> None:
    async def run() -> None:
        slots = Slots(1, queue=2, wait=60)
        assert await slots.take()
        second, third = (asyncio.create_task(slots.take()) for _ in range(2))
        await asyncio.sleep(0)
        second.cancel()
        slots.give()
        assert await asyncio.wait_for(third, 20)

    asyncio.run(run())


def test_nobody_waits_in_vain() -> None:
    """Where places come free every 10 s, the third who waits would wait longer than the 15 s that it has."""

    async def run() -> None:
        moment = 0.0
        slots = Slots(1, queue=100, wait=15.0, clock=lambda: moment)
        assert await slots.take()
        served = [asyncio.create_task(slots.take()) for _ in range(60)]
        for _ in range(60):
            await asyncio.sleep(0)
            moment += 10.0
            slots.give()
        assert all(await asyncio.gather(*served))
        waiting = [asyncio.create_task(slots.take()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not await slots.take()
        for _ in range(3):
            slots.give()
        assert all(await asyncio.gather(*waiting))
        assert await slots.take()  # nobody waits: whoever comes is let in, however slow it was

    asyncio.run(run())


def test_a_refusal_passes_through_no_other_part_of_the_application(site: Site) -> None:
    """It has none of the marks that the parts behind the door leave: no request id, no line, no session."""

    async def run() -> list[Message]:
        said: list[Message] = []
        app = create_app(site.services.settings, site.services)
        (door,) = (part for part in app.user_middleware if "at_once" in part.kwargs)
        door.kwargs.update(at_once=0, queue=0)

        async def send(message: Message) -> None:
            said.append(message)

        scope = {"type": "http", "path": "/competitions", "method": "GET", "headers": [], "root_path": ""}
        await app(scope, None, send)  # type: ignore[arg-type]
        return said

    start, body = asyncio.run(run())
    headers = dict(start["headers"])
    assert start["status"] == 503 and headers[b"retry-after"] == b"2"
    assert int(headers[b"content-length"]) == len(body["body"])
    assert b"x-request-id" not in headers


def test_a_request_that_waits_for_its_bytes_leaves_its_place_to_another() -> None:
    async def run() -> None:
        waits, arrived = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Any, send: Any) -> None:
            if scope["path"] == "/slow":
                await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        async def slow_bytes() -> Message:
            waits.set()
            await arrived.wait()
            return {"type": "http.request", "body": b"x"}

        async def call(path: str) -> int:
            said: list[Message] = []

            async def send(message: Message) -> None:
                said.append(message)

            await admission({"type": "http", "path": path, "method": "POST"}, slow_bytes, send)
            return said[0]["status"]

        admission = RequestAdmission(app, at_once=1, queue=0, wait=1)
        slow = asyncio.create_task(call("/slow"))
        await asyncio.wait_for(waits.wait(), 30)
        quick = await call("/quick")
        arrived.set()
        assert (quick, await asyncio.wait_for(slow, 30)) == (200, 200)
        assert admission.slots().free == 1

    asyncio.run(run())


class SlowStorage:
    """A storage that has taken nothing yet, however many send it something."""

    def __init__(self) -> None:
        self.waiting, self._taken = threading.Semaphore(0), threading.Event()

    def put(self, digest: str, path: Path) -> None:
        self.waiting.release()
        self._taken.wait(60)

    def take_all(self) -> None:
        self._taken.set()


def test_a_heartbeat_waits_for_no_file_of_other_workers(site: Site) -> None:
    """Six learners on their way to a slow storage take every place of machines; a lease is extended all the same."""
    held = []
    for number in range(MACHINES_AT_ONCE + 1):
        site.member(f"user{number}").submit()
        worker = site.worker(f"worker{number}")
        job = worker.claim()
        assert job is not None
        held.append((worker, job))
    (alive, running), *others = held
    slow = SlowStorage()
    object.__setattr__(site.services, "storage", slow)
    with ThreadPoolExecutor(len(others)) as pool:
        sent = [pool.submit(worker.put, job, "learner.bin", b"x") for worker, job in others]
        assert all(slow.waiting.acquire(timeout=60) for _ in sent)
        beat = alive.beat(running)
        slow.take_all()
    assert (beat.status_code, {one.result().status_code for one in sent}) == (200, {204})


# Bodies


def test_json_beyond_64_kib_is_refused_before_anybody_is_asked(site: Site) -> None:
    body = {"username": "a", "email": "a@example.org", "password": "x" * (ANYBODY + 1)}
    answer = site.client.post("/api/v1/users", json=body)
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert "64 KiB" in answer.json()["message"]


def test_a_body_without_a_length_is_counted_while_it_is_read(site: Site) -> None:
    sent = []

    def endless() -> Iterator[bytes]:
        while len(sent) < 1000:
            sent.append(1)
            yield b" " * 10_000

    with served(site) as address:
        try:
            answer = httpx.post(f"{address}/api/v1/users", content=endless(), timeout=60)
            assert answer.status_code == 413
        except httpx.TransportError:
            pass  # the server closed the connection while we went on sending
    assert len(sent) < 1000


@pytest.mark.parametrize("path", ["/login", "/sign-up", "/organize/import"])
def test_a_large_form_of_a_stranger_is_not_read(site: Site, path: str) -> None:
    files = {"bundle": ("x.zip", b"0" * (ANYBODY + 1))}
    answer = site.client.post(path, files=files)
    assert answer.status_code == 401 and "log in" in answer.text


def test_a_form_of_one_who_is_signed_in_may_be_larger_but_not_endless(site: Site) -> None:
    alice = site.person("alice")
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for size, status in ((FORM + 1, 413), (ANYBODY + 1, 200)):
        content = b"display_name=" + b"a" * (size - 13)
        answer = alice.call("POST", "/account/profile", content=content, headers=headers)
        assert (answer.status_code == 413) == (status == 413), answer.text


def test_files_are_refused_beyond_their_own_limit_and_to_strangers(site: Site) -> None:
    alice = site.member("alice")
    path = "/api/v1/uploads/" + "0" * 32
    assert site.client.put(path, params={"offset": 0}, content=b"x").status_code == 401
    huge = {"content-length": str(site.services.settings.upload_max_bytes + 1)}
    refused = alice.call("PUT", path, params={"offset": 0}, content=b"x", headers=huge)
    assert refused.status_code == 413


def test_every_limit_fits_into_what_is_held_at_once() -> None:
    limits = BodyLimits(make_settings(__import__("pathlib").Path("/nowhere")))
    paths = ["/api/v1/users", "/login", "/api/worker/v1/claim", "/api/v1/competitions/a/manage/pages"]
    for path in paths:
        limit = limits.of("POST", path, "multipart/form-data")
        assert not limit.file and limit.most <= HELD_AT_ONCE / 4
    assert limits.of("POST", "/api/v1/users", "application/json").most == ANYBODY


def test_a_half_sent_body_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from anyshot_platform.site.web import bodies

    monkeypatch.setattr(bodies, "_WHOLE_BODY", 0.2)
    with (
        served(site) as address,
        socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as line,
    ):
        line.settimeout(60)
        line.sendall(b"POST /api/v1/users HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{")
        assert line.recv(100).startswith(b"HTTP/1.1 408")


def test_500_idle_streams_are_read_in_as_many_statements_as_one(site: Site) -> None:
    alice = site.member("alice")
    first = alice.submit().json()["id"]
    ids = [first, *(f"{number:032x}" for number in range(499))]
    copy(site, first, ids[1:])

    def count(watched: list[str]) -> int:
        with statements(site.services.database) as asked:
            assert len(Watching(site.services)._read(watched)) == len(watched)
        return len(asked)

    assert count(ids) == count([first])


def test_of_500_idle_streams_only_the_one_whose_submission_changed_wakes(site: Site) -> None:
    alice = site.member("alice")
    first = alice.submit().json()["id"]
    ids = [first, *(f"{number:032x}" for number in range(499))]
    copy(site, first, ids[1:])

    def change() -> None:
        with site.services.database.writing() as session:
            session.execute(update(Run).where(Run.submission_id == ids[250]).values(tasks_done=3))

    async def watch() -> list[str]:
        watching = Watching(site.services)
        with ExitStack() as streams:
            wakes = {one: streams.enter_context(watching.watch(one, one)) for one in ids}
            await asyncio.gather(*(wake.wait() for wake in wakes.values()))
            for wake in wakes.values():
                wake.clear()
            await asyncio.to_thread(change)
            await wakes[ids[250]].wait()
            return [one for one, wake in wakes.items() if wake.is_set()]

    assert asyncio.run(asyncio.wait_for(watch(), 120)) == [ids[250]]


def copy(site: Site, submission_id: str, ids: list[str]) -> None:
    """Submissions like that one, each with a run like its own."""
    with site.services.database.writing() as session:
        like = session.get_one(Submission, submission_id)
        run = session.query(Run).filter_by(submission_id=submission_id).one()
        rows = [{**values_of(like), "id": one} for one in ids]
        runs = [{**values_of(run), "id": f"r{one[1:]}", "submission_id": one} for one in ids]
        session.connection().execute(insert(Submission), rows)
        session.connection().execute(insert(Run), runs)


def values_of(row: Any) -> dict[str, Any]:
    return {one.columns[0].name: getattr(row, one.key) for one in inspect(type(row)).column_attrs}


def revoke(session: Session, who: str) -> None:
    session.execute(update(ApiToken).where(ApiToken.user_id == who).values(revoked_at=now()))


def block(session: Session, who: str) -> None:
    session.execute(update(User).where(User.id == who).values(blocked_at=now()))


@pytest.mark.parametrize(("act", "prefix"), [(revoke, "/api/v1"), (block, "")], ids=["revoke", "block"])
def test_a_stream_ends_soon_after_its_viewer_may_read_no_more(
    site: Site, act: Any, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "_CHECKED_EVERY", 0.0)
    monkeypatch.setattr(watching_module, "_KEEP_ALIVE", 0.1)
    alice = site.member("alice")
    path = f"{prefix}/submissions/{alice.submit().json()['id']}/stream"
    with (
        served(site) as address,
        httpx.stream("GET", address + path, headers=alice.headers, timeout=60) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines)
        with site.services.database.writing() as session:
            act(session, alice.id)
        assert len(list(lines)) < 1000  # it ends, as the server closes it
