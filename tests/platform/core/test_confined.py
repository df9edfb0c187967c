"""Zips of strangers are read by a process with little memory and time; whoever sends a bomb is told so."""

import io
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from anyshot_core.bundle.check import check_bundle
from anyshot_core.charts import Bar, draw_bars, draw_heat_map
from anyshot_core.data.digests import digest_file
from anyshot_core.data.layout import MOST_META
from anyshot_core.report.pages import figure
from anyshot_platform.contest.bundles.files import BundleUnreadable
from anyshot_platform.contest.bundles.isolated_reading import read_sent_bundle
from anyshot_platform.contest.bundles.reading import BundleInvalid, read_bundle
from anyshot_platform.contest.bundles.ready import _FOLDER as FOLDER
from anyshot_platform.contest.bundles.ready import ready_made
from anyshot_platform.contest.pools.service import add_pack
from anyshot_platform.foundation.isolated_parsing import service
from anyshot_platform.foundation.isolated_parsing.reports import inert_section
from anyshot_platform.foundation.storage import FolderStorage
from anyshot_platform.judging.submissions.actions.submitting import check_zip
from anyshot_platform.site.submissions.training import training_curves
from tests.core.tinydata import black_pack, with_meta, write_pack
from tests.platform.site import Site


def zipped(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def peak_memory() -> int:
    """The largest memory that this process had so far, in bytes."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line]
    return int(line.split()[1]) << 10


LARGE_TREE = b"x = [" + b"0," * 250_000 + b"]"


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(service, "MEMORY", 200 << 20)
    pool = service._Pool()
    monkeypatch.setattr(service, "_POOL", pool)
    yield
    pool.close()


def test_a_zip_whose_source_is_a_bomb_is_refused_with_words_and_costs_the_site_no_memory(
    site: Site, little_memory: None
) -> None:
    alice = site.member("alice")
    content = zipped({"model.py": LARGE_TREE})
    assert len(content) < 2000
    begun = alice.call("POST", "/api/v1/uploads", json={"filename": "a.zip", "size": len(content)}).json()
    alice.call("PUT", f"/api/v1/uploads/{begun['id']}?offset=0", content=content)
    before = peak_memory()
    answered = alice.call("POST", f"/api/v1/uploads/{begun['id']}/check")
    assert answered.status_code == 200 and not answered.json()["ok"]
    assert "nested" in str(answered.json()["checks"]) or "large" in str(answered.json()["checks"]), (
        answered.text
    )
    assert peak_memory() - before < 30 << 20


def test_who_takes_too_long_is_ended_and_the_next_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"model.py": LARGE_TREE * 2}))
    monkeypatch.setattr(service, "WALL_SECONDS", 0.0)
    with pytest.raises(service.Busy, match="try again"):
        check_zip(path)
    monkeypatch.undo()
    monkeypatch.setattr(service, "CPU_SECONDS", 0)
    with pytest.raises(service.TooCostly, match="seconds"):
        read_sent_bundle(zipped({"competition.yaml": b"title: [" + b"a, " * 500_000 + b"]"}))
    monkeypatch.undo()
    path.write_bytes(zipped({"model.py": b"x = 1"}))
    assert check_zip(path) == check_bundle(path)


def test_an_order_with_more_of_a_processor_has_as_much_more_time() -> None:
    """Twice the processor's seconds within half the time: a slow disk was told to try again, for ever."""
    assert service._wall_seconds(service.CPU_SECONDS) == service.WALL_SECONDS
    assert service._wall_seconds(120) == 12 * 60


def test_a_competition_is_the_same_read_in_a_confined_process() -> None:
    for entry in ready_made():
        folder = FOLDER / entry.name
        files = {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
        assert read_sent_bundle(zipped(files)) == read_bundle(folder)


def test_problems_of_a_bundle_come_back_with_their_lines() -> None:
    with pytest.raises(BundleInvalid) as caught:
        read_sent_bundle(zipped({"competition.yaml": b"title: x\nnonsense: 1\n"}))
    assert any(problem.line == 2 for problem in caught.value.problems)
    with pytest.raises(BundleUnreadable, match="zip"):
        read_sent_bundle(b"no zip")


@pytest.mark.slow("unpacks until it is stopped")
def test_a_bundle_that_unpacks_to_gigabytes_is_refused(little_memory: None) -> None:
    with pytest.raises((BundleUnreadable, service.TooCostly)):
        read_sent_bundle(zipped({"competition.yaml": b"title: x\n", "page.md": bytes(220 << 20)}))


def test_the_confined_process_knows_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANYSHOT_SECRET_KEY", "not for children")
    assert not [name for name in service._bare_environment() if name.startswith("ANYSHOT")]


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"left_out": [{"file": "", "reason": ""}] * 500_000}, "too_costly"),
        ({"description": "x" * MOST_META}, "bad_pack"),
    ],
)
def test_a_pack_whose_metadata_take_much_memory_is_refused_and_costs_the_site_none(
    site: Site, little_memory: None, tmp_path: Path, meta: dict[str, object], code: str
) -> None:
    owner = site.owner()
    assert owner.call("POST", "/api/v1/pools", json={"slug": "mine"}).status_code == 201
    content = with_meta(write_pack(tmp_path, "A", images=1), **meta)
    before = peak_memory()
    refused = owner.call("PUT", "/api/v1/pools/mine/packs", content=content)
    assert (refused.status_code, refused.json()["error"]) == (422, code), refused.text
    assert peak_memory() - before < 30 << 20


@pytest.mark.seconds("hashes each image")
def test_a_pack_larger_than_the_confined_memory_is_read(
    site: Site, little_memory: None, tmp_path: Path
) -> None:
    """Its images are mapped, not kept."""
    pack = black_pack(tmp_path / "A.anyshot-pack", images=5_000)
    assert pack.stat().st_size > service.MEMORY
    assert add_pack(site.services, pack).images == 5_000


@pytest.mark.parametrize("columns", [8, 50_000])
def test_a_table_of_the_logger_is_read_elsewhere_and_only_with_a_few_columns(
    tmp_path: Path, columns: int
) -> None:
    header = ",".join(["iteration", "accuracy", *(f"c{place}" for place in range(columns - 2))])
    rows = "\n".join(f"{row},0.5" + "," * (columns - 2) for row in range(100))
    (tmp_path / "logger.zip").write_bytes(zipped({"meta_train.csv": f"{header}\n{rows}".encode()}))
    storage = FolderStorage(tmp_path / "store")
    storage.put(digest := digest_file(tmp_path / "logger.zip"), tmp_path / "logger.zip")
    before = peak_memory()
    assert [chart.title for chart in training_curves(storage, digest)] == ["Meta-training"] * (columns == 8)
    assert peak_memory() - before < 5 << 20


HOSTILE = """<h1>R</h1><p onclick="x()" style="position:fixed">kept</p><script>x()</script>
<form action="/x"><input></form><a href="/logout">out</a><iframe src="/x"></iframe><style>p{}</style>
<svg><use href="//x#a"></use><rect fill="url(//x)">
</rect><foreignObject><img src="//x"></foreignObject><a href="javascript:x()"><text>drawn</text></a></svg></main>"""


def test_a_report_does_nothing_and_keeps_its_tables_and_charts(tmp_path: Path) -> None:
    (path := tmp_path / "page.html").write_text(HOSTILE)
    said = inert_section(path)
    assert "kept" in said and "drawn" in said
    for word in ("x", "onclick", "style", "script", "form", "href", "logout", "frame", "img"):
        assert word not in said.replace("text", ""), said
    charts = (
        draw_bars([Bar("a", 0.5, 0.1)], "Bars"),
        draw_heat_map([[0.5, 0.7]], ["a"], "Map", "shares", columns=["b", "c"]),
    )
    own = "".join(str(figure(chart)) for chart in charts)
    table = '<table><tr><th scope="col" class="number">a</th></tr></table>'
    path.write_text(f"<h1>R</h1>{own}{table}</main>")
    assert _elements(inert_section(path)) == _elements(own + table.replace("<tr>", "<tbody><tr>"))


class _Elements(HTMLParser):
    """The elements with their attributes and texts, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, sorted(one for one in attrs if one[0] != "xmlns")))

    def handle_data(self, data: str) -> None:
        self.found.append(data)


def _elements(page: str) -> list[object]:
    reader = _Elements()
    reader.feed(page)
    return reader.found


def test_a_report_that_keeps_its_reader_busy_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "page.html").write_text("<h1>R</h1>" + "<div>" * 200_000 + "</main>")
    monkeypatch.setattr(service, "CPU_SECONDS", 2)
    with pytest.raises(service.TooCostly):
        service.run_confined("report", path=str(path))
