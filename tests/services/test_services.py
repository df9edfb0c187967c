"""The servers that the suite stands on answer."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
import redis
from selenium.webdriver import Chrome

from anyshot_core.taskserver import child
from anyshot_core.taskserver.child import ChildChannel
from anyshot_core.wire.frames import FROM_RUNNER, Decoder
from tests.services.containers import docker_answers
from tests.services.rotation import pytest_collection_modifyitems

ROOT = Path(__file__).parents[2]


def test_postgresql_gives_every_test_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url.replace("+psycopg", "")) as connection:
        row = connection.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
    assert row == (0,)


def test_redis_is_emptied(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


@pytest.mark.usefixtures("docker_daemon")
def test_docker_answers() -> None:
    assert docker_answers()


def test_chromium_shows_a_page(browser: Chrome) -> None:
    browser.get("data:text/html,<title>anyshot</title>")
    assert browser.title == "anyshot"


def kept_of(items: list[SimpleNamespace], rotate: str) -> list[SimpleNamespace]:
    """What of these tests, by what rotation asks of each, a run with `ANYSHOT_ROTATE` keeps."""
    kept = list(items)
    config = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANYSHOT_ROTATE", rotate)
        pytest_collection_modifyitems(config, kept)  # type: ignore[arg-type]
    return kept


def test_eight_landings_run_every_long_test_once_and_none_runs_them_all() -> None:
    marks = {f"test_long[{number}]": pytest.mark.slow("learns") for number in range(16)}
    marks["test_main"] = pytest.mark.slow("the main journey", each_time=True)

    def item(name: str) -> SimpleNamespace:
        mark = marks[name].mark if name in marks else None
        closest = {"slow": mark}.get
        return SimpleNamespace(
            nodeid=f"test_x.py::{name}", get_closest_marker=closest, iter_markers=lambda name: []
        )

    def run(rotate: str) -> set[str]:
        items = [item(name) for name in (*marks, "test_short")]
        return {found.nodeid.partition("::")[2] for found in kept_of(items, rotate)}

    landings = [run(f"{number}/8") for number in range(8)]
    assert all(len(landing) == 4 and {"test_main", "test_short"} < landing for landing in landings)
    assert set().union(*landings) == run("all") == {*marks, "test_short"}


def test_each_of_four_landings_runs_a_quarter_of_what_takes_seconds() -> None:
    marks = [pytest.mark.seconds("draws", each_time=number == 0).mark for number in range(9)]
    items = [
        SimpleNamespace(
            nodeid=f"test_x.py::test_{number}",
            get_closest_marker={"seconds": mark}.get,
            iter_markers=lambda name: [],
        )
        for number, mark in enumerate(marks)
    ]
    landings = [{item.nodeid for item in kept_of(items, f"{number}/20")} for number in range(20)]
    assert all(len(landing) == 3 for landing in landings)  # two of eight, and what runs each time
    assert landings[0] == landings[4] and len(set().union(*landings[:4])) == len(kept_of(items, "all")) == 9


GUARDS = (
    "architecture",
    "hostile",
    "contract/test_leagues.py",
    "core/taskserver/test_hostile_frames.py",
    "platform/core/test_access.py",
    "platform/core/test_boundary.py",
    "platform/core/test_secrets.py",
    "platform/web/test_sight.py",
    "worker/sandbox",
)


@pytest.mark.parametrize("where", GUARDS)
def test_what_guards_is_left_to_no_other_landing(where: str) -> None:
    """However many seconds it takes."""
    place = Path(__file__).parents[1] / where
    files = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
    marks = [line for file in files for line in file.read_text().splitlines() if "mark.seconds(" in line]
    assert files and all("each_time=True" in line for line in marks)


def test_long_tests_that_follow_each_other_lie_in_different_landings() -> None:
    """Of whichever files they are: two competitions that are played whole cost as much as all else of a landing."""
    mark = pytest.mark.slow("whole").mark
    items = [
        SimpleNamespace(
            nodeid=f"test_{number}.py::test_whole",
            get_closest_marker={"slow": mark}.get,
            iter_markers=lambda name: [],
        )
        for number in range(8)
    ]
    assert [len(kept_of(items, f"{number}/8")) for number in range(8)] == [1] * 8


def test_what_a_file_shares_is_made_in_one_landing_only() -> None:
    mark = pytest.mark.rotating(together=True).mark
    items = [
        SimpleNamespace(
            nodeid=f"test_x.py::test_{number}",
            get_closest_marker={"rotating": mark}.get,
            iter_markers=lambda name: [mark] if name == "rotating" else [],
        )
        for number in range(20)
    ]
    assert sorted(len(kept_of(items, f"{number}/8")) for number in range(8)) == [0] * 7 + [20]


def test_make_test_takes_a_slice_and_make_test_all_all_of_it() -> None:
    """As README and CONTRIBUTING say."""

    def told(target: str) -> str:
        command = ["make", "--dry-run", "--assume-old=.venv/.ready", target]
        unset = {name: value for name, value in os.environ.items() if name != "ANYSHOT_ROTATE"}
        return subprocess.run(command, cwd=ROOT, env=unset, capture_output=True, text=True, check=True).stdout

    assert re.search(r"ANYSHOT_ROTATE=\d+/20 ", told("test"))
    assert "ANYSHOT_ROTATE=all " in told("test-all")


def test_the_quick_run_leaves_out_sites_browsers_sandboxes_and_what_takes_seconds() -> None:
    told = subprocess.run(
        ["make", "-n", "test-fast"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    chosen = re.findall(r'-m "(.+?)"', told)[-1]
    folders = set(re.findall(r"(?<= )tests/\S+", told))
    assert "tests/core" in folders and not any(name.startswith("tests/platform") for name in folders)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "-m", chosen]
    letters = str(ROOT / "tests/core/test_demo_data.py")
    found = subprocess.run(
        [*command, __file__, letters], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "::test_every_letter_can_be_seen" not in found and "test_demo_data.py::" in found
    assert "::test_postgresql_gives_every_test_an_empty_database" in found
    assert "::test_docker_answers" not in found and "::test_chromium_shows_a_page" not in found


@pytest.mark.slow("imports torch twice", each_time=True)
def test_a_warm_runner_is_what_a_new_one_is() -> None:
    said = []
    for start in (subprocess, child.subprocess):  # pyright: ignore[reportPrivateImportUsage]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(child, "subprocess", start)
            with contextlib.closing(ChildChannel()) as channel:
                kind = type(channel._process).__name__
                said.append((kind, _ready(channel)))
                assert os.getpgid(channel._process.pid) == channel._process.pid
                place = Path(f"/proc/{channel._process.pid}/cwd").readlink()
                assert place == channel._folder
                channel.kill()
                assert channel.death().signal == 9
    assert [kind for kind, _ in said] == ["Popen", "WarmProcess"]
    assert said[0][1] == said[1][1]


def _ready(channel: ChildChannel) -> object:
    """What a runner says of itself when it is ready."""
    decoder = Decoder(FROM_RUNNER)
    while True:
        for frame in decoder.feed(channel.recv(60) or b""):
            return frame.kind, json.loads(frame.payload)


def test_what_is_marked_is_a_test() -> None:
    """A helper that was written between a mark and its test took the mark: the test ran at every landing."""
    marked = re.compile(r"^@pytest\.mark\.(?:.|\n)*?^(?:async )?(?:def|class) (\w+)", re.MULTILINE)
    names = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name in marked.findall(path.read_text())
    ]
    assert len(names) > 400 and [name for name in names if ": test" not in name.lower()] == []
