"""`docker/proxy.conf`: it lets through what the site takes, and counts each visitor; with the nginx of this machine."""

import http.client
import inspect
import ipaddress
import re
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from anyshot_core import client as client_module
from anyshot_core.client import Client
from anyshot_platform.app import feature_routers
from anyshot_platform.contest.competitions.files import LOGO_LIMIT, MOST_BYTES, MOST_IN_ALL
from anyshot_platform.site.web.bodies import MULTIPART_EXTRA, BodyLimits
from tests.platform.conftest import make_settings
from tests.services.processes import accepts, find_program, free_port, running, wait_until

CONFIGURATION = (Path(__file__).parents[3] / "docker/proxy.conf").read_text()
PACK = 8 << 30  # bytes of the largest dataset that `docker/proxy.conf` lets through
FETCHING = ("fetch", "download")  # of any address; those where a file is made first are `made_whole`
UNITS = {"k": 10, "m": 20, "g": 30}


def size_in(text: str) -> int | None:
    """The largest body that a part of the configuration allows, in bytes."""
    found = re.search(r"client_max_body_size (\d+)([kmg]);", text)
    return int(found[1]) << UNITS[found[2]] if found else None


def places() -> list[tuple[re.Pattern[str], str]]:
    """The proxy's places for files and streams, with what they say."""
    found = re.findall(r"location ~ (\S+) \{(.*?)\n        \}", CONFIGURATION, re.S)
    return [(re.compile(pattern), body) for pattern, body in found]


def place_of(path: str) -> str:
    """What the proxy says of a path beyond its usual words."""
    return next((body for pattern, body in places() if pattern.search(path)), "")


def most_at(path: str) -> int:
    """The largest body that gets past the proxy at a path."""
    usual = size_in(CONFIGURATION.partition("location")[0])
    assert usual is not None
    return size_in(place_of(path)) or usual


def test_the_proxy_lets_files_through_and_holds_no_stream_back(tmp_path: Path) -> None:
    limits = BodyLimits(make_settings(tmp_path))
    named = {"slug": "c", "phase_slug": "p", "upload_id": "u", "pool_slug": "p", "run_id": "r", "path": "x"}
    for router in feature_routers():
        for route in router.routes:
            assert isinstance(route, APIRoute)
            path = re.sub(r"\{(\w+)(:\w+)?\}", lambda found: named.get(found[1], "x"), route.path)
            for method in route.methods or ():
                most = limits.of(method, path, "multipart/form-data").most
                assert most <= most_at(path), f"{method} {path}: the site takes more than the proxy"
                if most > 2 << 20:
                    assert "proxy_request_buffering off" in place_of(path), f"{method} {path}"
            if path.endswith("/stream"):
                assert "proxy_buffering off" in place_of(path), path


@pytest.mark.parametrize(
    ("path", "largest"),
    [
        ("/competitions/c/manage/files", MOST_BYTES),
        ("/competitions/c/manage/settings", LOGO_LIMIT),
        ("/organize/import", MOST_IN_ALL),
        ("/organize/pools/p/packs", PACK),
    ],
)
def test_the_largest_file_of_a_form_gets_through_proxy_and_site(
    tmp_path: Path, path: str, largest: int
) -> None:
    settings = make_settings(tmp_path)
    assert settings.pack_max_bytes == PACK
    taken = BodyLimits(settings).of("POST", path, "multipart/form-data").most
    assert most_at(path) >= taken >= largest + MULTIPART_EXTRA


def waits_long(name: str) -> bool:
    """Whether a method of the client asks with its long time, itself or by others that are the client's own."""
    wanted, seen = [name], set[str]()
    while wanted:
        seen.add(asked := wanted.pop())
        used = getattr(Client, asked).__code__.co_names
        if "_LONG" in used:
            return True
        known = seen | {*FETCHING}
        wanted += [one for one in used if inspect.isfunction(getattr(Client, one, None)) and one not in known]
    return False


MAKERS = {"bundle_response", "make_archive", "table_of", "write_everything"}


def made_whole() -> set[str]:
    """Where a file is made whole before its first byte is sent: method and path."""
    found, makers = set[str](), set[str]()
    for route in (one for router in feature_routers() for one in router.routes):
        assert isinstance(route, APIRoute)
        used = MAKERS & set(route.endpoint.__code__.co_names)
        makers |= used
        path = re.sub(r"\{\w+\}", "x", route.path)
        found |= {f"{method} {path}" for method in route.methods or () if used}
    assert makers == MAKERS
    return found


def long_requests(folder: Path) -> dict[str, float]:
    """What the command waits long for: method and path, and how many seconds; each such method is called once."""
    waits: dict[str, float] = {}

    def answer(request: httpx.Request) -> httpx.Response:
        waits[f"{request.method} {request.url.path}"] = request.extensions["timeout"]["read"]
        return httpx.Response(200, json={"id": "u", "received": 3, "part_bytes": 4})

    (folder / "file").write_bytes(b"zip")
    kinds = {"Path": folder / "file", "bytes": b"zip", "bool": False, "tuple[str, ...]": ()}
    with Client("http://site.example", transport=httpx.MockTransport(answer)) as client:
        usual = client._http.timeout.read
        assert usual is not None
        for name, method in inspect.getmembers(Client, inspect.isfunction):
            if not name.startswith("_") and name not in FETCHING and waits_long(name):
                needed = {
                    key: kinds.get(str(one.annotation), "x")
                    for key, one in inspect.signature(method).parameters.items()
                    if one.default is one.empty and key != "self"
                }
                getattr(client, name)(**needed)
    return {request: seconds for request, seconds in waits.items() if seconds > usual}


def patience_at(path: str) -> int:
    """How many seconds the proxy waits for the site's answer at a path."""
    usual = CONFIGURATION.partition("location / {")[2].partition("}")[0]
    found = re.search(r"proxy_read_timeout (\d+)s;", place_of(path) or usual)
    assert found is not None, path
    return int(found[1])


def test_the_proxy_waits_for_an_answer_as_long_as_the_command_does(tmp_path: Path) -> None:
    """It answered 504 after 90 s while the site checked a large zip, and queued it though the command had failed."""
    asked = long_requests(tmp_path)
    assert "POST /api/v1/competitions/x/phases/x/submissions" in asked
    short = {one: patience_at(one.partition(" ")[2]) for one in asked}
    assert {one: seconds for one, seconds in short.items() if seconds < asked[one]} == {}


def test_the_proxy_waits_for_a_file_that_is_made_first_as_long_as_the_command_does() -> None:
    """It answered 504 after 90 s, and the site went on making what nobody got."""
    wanted = client_module._LONG.read
    assert {one for one in made_whole() if patience_at(one.partition(" ")[2]) != wanted} == set()


def test_no_address_that_a_visitor_may_have_on_the_internet_is_believed() -> None:
    believed = re.findall(r"set_real_ip_from (\S+);", CONFIGURATION)
    assert believed and all(ipaddress.ip_network(network).is_private for network in believed)


@dataclass(frozen=True)
class Proxy:
    """An nginx with our configuration in front of a site that answers with the visitor's address, and its own."""

    port: int

    def ask(
        self, forwarded: str | None, come_from: str = "127.0.0.1", request: str = "GET /"
    ) -> tuple[int, str]:
        """Status and answer of a request that arrives from an address of this machine with that header."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, 20, source_address=(come_from, 0))
        try:
            method, _, path = request.partition(" ")
            connection.request(method, path, headers={"X-Forwarded-For": forwarded} if forwarded else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()


class Echo(BaseHTTPRequestHandler):
    """What the proxy says of the visitor, and which address of the site was asked."""

    def do_GET(self) -> None:
        text = f"{self.headers['X-Forwarded-For']} at {self.connection.getsockname()[0]}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self) -> None:
        """As when a large zip is checked and stored: longer than the proxy waits for other answers."""
        time.sleep(2)
        with suppress(BrokenPipeError):  # the proxy has answered 504 meanwhile
            self.do_GET()

    do_PUT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        return None


@contextmanager
def site_at(port: int, *addresses: str) -> Iterator[None]:
    """Sites on addresses of loopback, which differ in nothing but these."""
    with ExitStack() as exits:
        for address in addresses:
            exits.enter_context(serving(ThreadingHTTPServer((address, port), Echo)))
        yield


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[None]:
    """Let a server answer in a thread of its own."""
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            server.shutdown()


@contextmanager
def proxy(folder: Path, *changes: tuple[str, str]) -> Iterator[Proxy]:
    """Our configuration with changes, served on loopback."""
    port = free_port()
    file = write(folder, ("listen 8080", f"listen 127.0.0.1:{port}"), *changes)
    command = [nginx(), "-c", str(file), "-g", "daemon off;"]
    with running(command, folder / "nginx.log"):
        wait_until(lambda: accepts(port), "nginx", 20)
        yield Proxy(port)


def write(folder: Path, *changes: tuple[str, str]) -> Path:
    """The configuration with changes, each of which is one to what stands there once."""
    text = CONFIGURATION.replace("/tmp/", f"{folder}/")
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (folder / "proxy.conf").write_text(text)
    return folder / "proxy.conf"


def nginx() -> str:
    program = find_program("nginx")
    if program is None:
        pytest.skip("nginx is not installed (Debian: apt-get install nginx-light)")
    return program


def test_nginx_reads_the_proxys_configuration_as_it_is(tmp_path: Path) -> None:
    """Also where nobody knows the site's name yet."""
    command = [nginx(), "-t", "-c", str(write(tmp_path))]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr


@pytest.mark.seconds("a zip that takes long, through nginx")
def test_a_large_zip_that_takes_long_to_check_is_answered_through_the_proxy(tmp_path: Path) -> None:
    """With one second where the proxy has 90; the site takes two."""
    port, asked = free_port(), long_requests(tmp_path)
    changes = (("web:8000", f"127.0.0.1:{port}"), ("proxy_read_timeout 90s", "proxy_read_timeout 1s"))
    with site_at(port, "127.0.0.1"), proxy(tmp_path, *changes) as front:
        assert front.ask(None, request="POST /")[0] == 504
        assert {one: front.ask(None, request=one)[0] for one in asked} == dict.fromkeys(asked, 200)
        assert front.ask(None, request="POST /api/v1/competitions/x/manage/bundle-with-seeds")[0] == 200


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Proxy]:
    """A proxy that has two requests for each visitor."""
    port = free_port()
    few = (("rate=50r/s", "rate=1r/m"), ("burst=500 nodelay", "burst=1 nodelay"))
    with site_at(port, "127.0.0.1"), proxy(tmp_path, ("web:8000", f"127.0.0.1:{port}"), *few) as one:
        yield one


def test_visitors_behind_a_tls_server_are_counted_each_for_themselves(strict: Proxy) -> None:
    """The TLS server is on this machine; what it says of a visitor is what the site learns."""
    alice, bob = "198.51.100.7", "203.0.113.9"
    assert [strict.ask(alice)[0] for _ in range(3)] == [200, 200, 503]
    assert strict.ask(bob) == (200, f"{bob} at 127.0.0.1")


def test_a_header_that_a_visitor_made_up_gives_no_other_count(strict: Proxy) -> None:
    """127.0.0.2 stands for a public address: the proxy has not been told to believe it."""
    direct = [strict.ask(f"203.0.113.{number}", come_from="127.0.0.2") for number in range(3)]
    assert [status for status, _ in direct] == [200, 200, 503]
    assert direct[0][1] == "127.0.0.2 at 127.0.0.1"
    # A TLS server that adds to the header instead of setting it: the last public address is the visitor's.
    behind = [strict.ask(f"203.0.113.{number}, 198.51.100.7") for number in range(3)]
    assert [status for status, _ in behind] == [200, 200, 503]
    assert behind[0][1] == "198.51.100.7 at 127.0.0.1"


class Names(socketserver.UDPServer):
    """A name server on loopback that gives every name one address, which may change."""

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), Question)
        self.address = address


class Question(socketserver.DatagramRequestHandler):
    """RFC 1035: the question again, and a record of type A that points at its name, valid for a minute."""

    def handle(self) -> None:
        assert isinstance(self.server, Names)
        query = self.rfile.read()
        header = query[:2] + b"\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00"
        record = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04" + socket.inet_aton(self.server.address)
        self.wfile.write(header + query[12:] + record)


def test_a_new_container_of_the_web_service_is_found_without_a_restart(tmp_path: Path) -> None:
    """`docker-compose up -d` with a new image gives it another address."""
    port, names = free_port(), Names("127.0.0.1")
    with site_at(port, "127.0.0.1", "127.0.0.3"), serving(names):
        changes = (("127.0.0.11 ", f"127.0.0.1:{names.server_address[1]} "), ("valid=2s", "valid=1s"))
        with proxy(tmp_path, ("web:8000", f"web:{port}"), *changes) as front:
            assert front.ask(None)[1].endswith("at 127.0.0.1")
            names.address = "127.0.0.3"
            wait_until(lambda: front.ask(None)[1].endswith("at 127.0.0.3"), "the new container", 20)
