"""What a participant keeps and reads where the site is away for a while, or a file of theirs cannot be written."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from anyshot_core.client import Client
from anyshot_core.command import main
from anyshot_starting_kit.cli import account
from tests.core.bundle.archives import MODEL
from tests.platform.site import SLUG, Site
from tests.services.processes import free_port
from tests.services.sites import served


class Line(httpx.BaseTransport):
    """The way to a site. It is cut for the next so many requests from, or after, one that `begins` tells."""

    def __init__(self) -> None:
        self.begins: Callable[[httpx.Request], bool] = lambda request: False
        self.itself = True  # whether the request that begins it is cut
        self.heard = False  # whether the site hears what is cut
        self.cuts, self.down = 0, False
        self.first: Callable[[], object] = lambda: None  # happens at the first cut
        self.through = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        begins = self.begins(request)
        self.down |= begins and self.itself
        if self.down and self.cuts:
            self.cuts -= 1
            happens, self.first = self.first, lambda: None
            happens()
            if self.heard:
                self.through.handle_request(request).read()
            raise httpx.ReadError("the line went dead", request=request)
        self.down |= begins
        return self.through.handle_request(request)


@pytest.fixture
def line(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """The way to the site on a port of loopback; the member ann has a submission in ./mine."""
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/model.py").write_bytes(MODEL)
    way = Line()
    monkeypatch.setattr(account, "Client", partial(Client, transport=way, wait=0.0))
    with served(site.app, free_port(), lifespan="off") as address:
        found = {"ANYSHOT_SERVER": address, "ANYSHOT_TOKEN": site.member("ann").token}
        for name, value in {**found, "XDG_CONFIG_HOME": str(tmp_path / "config")}.items():
            monkeypatch.setenv(name, value)
        yield way
        way.through.close()


def call(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def finish(site: Site) -> None:
    worker = site.worker()
    assert worker.complete(worker.claim() or {}, 0.5).is_success


def queues(request: httpx.Request) -> bool:
    """Whether a request asks for a submission, of a zip that the site has."""
    known = b'"upload_id"' in request.content or b'"comment":"once more"' in request.content
    return request.method == "POST" and request.url.path.endswith("/submissions") and known


def asks_for_state(request: httpx.Request) -> bool:
    return request.method == "GET" and request.url.path.startswith("/api/v1/submissions/")


@pytest.mark.parametrize(
    "words",
    [
        ("submit", "mine", "--follow"),
        ("submit", "mine", "--follow", "--json"),
        ("again", "1", "--follow", "--comment", "once more"),
        ("status", "1", "--follow"),
        ("log", "1", "--follow"),
        ("curves", "1", "--follow"),
    ],
    ids=" ".join,
)
def test_following_goes_on_through_an_outage(site: Site, line: Line, words: tuple[str, ...]) -> None:
    """Three seconds without an answer ended the command with 3, and a script took the submission for lost."""
    if words[0] != "submit":
        assert call("submit", "mine").exit_code == 0
    if words[0] == "again":
        finish(site)
    line.begins, line.itself = (queues, False) if words[0] in ("submit", "again") else (asks_for_state, True)
    line.cuts, line.first = 20, lambda: finish(site)
    done = call(*words)
    assert done.exit_code == 0 and not line.cuts, done.output
    assert done.stderr.count("Trying again for 10 minutes.") == 1, done.stderr
    assert done.stderr.count("The platform answers again.") == 1, done.stderr
    if "--json" in words:
        assert json.loads(done.stdout)["status"] == "finished"
    elif words[0] in ("submit", "again", "status"):
        assert "score 0.5000" in done.stdout


@pytest.mark.parametrize("words", [("submit", "mine"), ("submit", "mine", "--json")], ids=" ".join)
@pytest.mark.parametrize("follow", [(), ("--follow",)], ids=["", "follow"])
def test_what_is_queued_is_told_whatever_comes_after(
    line: Line, words: tuple[str, ...], follow: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site goes away right after it queued the submission, for good: the quota is the first that is asked for."""
    monkeypatch.setattr(account, "OUTAGE_SECONDS", 0.01)
    line.begins, line.itself, line.cuts = queues, False, 10**9
    done = call(*words, *follow)
    assert done.exit_code == (3 if follow else 0), done.output
    line.cuts = 0
    if "--json" in words:
        assert json.loads(done.stdout)["number"] == 1
    else:
        assert "Submission small/feedback/1 is queued: http" in done.stdout
        assert "How many submissions are left could not be read:" in done.stderr
        assert ("Watch it: anyshot status --follow small/feedback/1" in done.stdout) == (not follow)
    assert call("status").exit_code == 5, "it is the latest"


def test_an_account_file_that_cannot_be_written_loses_no_submission(line: Line) -> None:
    """The command broke off with a traceback before it had said what is queued."""
    Path("config").write_text("a file where the folder would be")
    done = call("submit", "mine")
    assert done.exit_code == 0 and "Submission small/feedback/1 is queued: http" in done.stdout, done.output
    assert "2 of 3 submissions left today." in done.stdout
    assert "Your latest submission could not be noted (" in done.stderr
    assert json.loads(call("submit", "mine", "--json").stdout)["number"] == 2


@pytest.mark.parametrize(
    "words", [("submit", "mine"), ("again", "1", "--comment", "once more")], ids=" ".join
)
def test_a_submission_whose_answer_is_lost_is_looked_for_before_it_is_made_again(
    line: Line, words: tuple[str, ...]
) -> None:
    """It said that the site does not answer; who believed that submitted twice, and the quota was used up."""
    if words[0] == "again":
        call("submit", "mine", "--comment", "first")
    line.begins, line.heard, line.cuts = queues, True, 1
    lost = call(*words)
    assert lost.exit_code == 3 and "may be queued all the same" in lost.stderr, lost.output
    assert lost.stderr.rstrip().endswith("before you submit again. Your submissions: anyshot list")
    number = 2 if words[0] == "again" else 1
    assert f"small/feedback/{number} " in call("list").output, "as it was said"


def test_a_download_that_breaks_off_leaves_the_results_that_were_there(site: Site, line: Line) -> None:
    """`anyshot results --zip` emptied the file first, and made no folder for it."""
    call("submit", "mine")
    finish(site)
    file = Path("kept/everything.zip")
    assert call("results", "1", "--zip", str(file)).exit_code == 0
    whole = file.read_bytes()
    line.begins, line.cuts = lambda request: request.url.path.endswith("/everything"), 1
    assert call("results", "1", "--zip", str(file)).exit_code == 3
    assert file.read_bytes() == whole and list(Path("kept").iterdir()) == [file]


def test_what_organizers_wait_for_goes_on_through_an_outage(
    site: Site, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYSHOT_TOKEN", site.owner().token)
    line.begins, line.cuts = lambda request: request.url.path.endswith("/rehearsals"), 8
    shown = call("organize", "rehearse", SLUG, "--show")
    assert shown.exit_code == 0 and "The platform answers again." in shown.stderr
