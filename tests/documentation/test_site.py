"""The documentation builds strictly, its links lead somewhere, it loads nothing from elsewhere, and it is complete."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import click
import pytest

from anyshot_core.report.documentation import reading_order
from anyshot_core.wire.worker_api import HEARTBEAT_SECONDS
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.judging.execution.leases import _BEATS_A_SECOND
from anyshot_platform.judging.execution.scheduling import ELSEWHERE
from anyshot_platform.running.operations.retention import _BATCH
from anyshot_platform.site.web.bodies import BUNDLE
from anyshot_worker.settings import WorkerSettings
from releasing.reference import commands_by_page, generated_pages, variables

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_LOADED = re.compile(r'<(?:script|img|link|iframe)\b[^>]*?\b(?:src|href)="((?:https?:)?//[^"]+)"')

BUILDS = pytest.mark.rotating(together=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; mkdocs fails on a broken link or anchor."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


@BUILDS
def test_nothing_comes_from_another_host(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 15
    foreign = {
        (page.relative_to(built).as_posix(), address)
        for page in pages
        for address in _LOADED.findall(page.read_text())
        if 'rel="canonical"' not in address
    }
    assert not foreign


@BUILDS
def test_a_reader_is_led_from_the_first_page_to_the_last_in_the_order_of_the_index(built: Path) -> None:
    """And each page is in its index, or nobody would be led to it."""
    for section in ("participants", "organizers", "operators", "science"):
        order = reading_order(ROOT / "platform/anyshot_platform/_docs", section)
        index = (ROOT / "docs" / section / "index.md").read_text()
        assert [name for name in order[1:] if f"({name}.md)" not in index] == []
        for name, after in pairwise(order):
            page = built / section / ("index.html" if name == "index" else f"{name}/index.html")
            (leads_to,) = re.findall(
                r'<a href="([^"]+)" class="md-footer__link md-footer__link--next"', page.read_text()
            )
            assert leads_to == (f"{after}/" if name == "index" else f"../{after}/")


def test_figures_that_pages_name_are_those_of_the_product() -> None:
    attempts = PlatformSettings.model_fields["infrastructure_attempts"].default
    assert f"tried up to {attempts} times" in (DOCS / "participants/results.md").read_text()
    minutes = ELSEWHERE.seconds // 60
    deployment = (DOCS / "operators/deployment.md").read_text()
    assert f"only after {minutes} minutes, where others" in deployment
    assert f"times {_BEATS_A_SECOND} heartbeats a second in all" in deployment
    assert f"Up to {HEARTBEAT_SECONDS * _BEATS_A_SECOND:.0f} workers send a heartbeat every 2 s" in deployment
    assert f"`ANYSHOT_KEEP_ORPHANS_HOURS`, {_BATCH:,} in an hour" in deployment
    assert f"at most {BUNDLE >> 20} MiB; a larger one" in (DOCS / "organizers/codabench.md").read_text()


def test_generated_pages_name_every_command_and_setting() -> None:
    pages = generated_pages()
    for page, commands in commands_by_page().items():
        for name, command in commands:
            section = pages[page].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
            options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
            assert section and all(option.opts[0] in section for option in options), name
    for settings in (PlatformSettings, WorkerSettings):
        for name, variable in variables(settings).items():
            assert f"`{variable}`" in pages["operators/settings.md"]
            assert settings.model_fields[name].description, f"{variable} has no description"


def test_the_table_of_baselines_names_each_folder_with_its_files_of_settings() -> None:
    page = (DOCS / "participants" / "baselines.md").read_text()
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| `.*$", page, re.M)]
    listed = {row[0].strip("`"): set(row[4].split(", ")) for row in rows if len(row) == 5}
    there = {
        folder.name: {file.stem for file in folder.glob("*.json")} - {"config"}
        for folder in (ROOT / "baselines").iterdir()
        if (folder / "model.py").is_file()
    }
    assert listed == there
    assert all(row[1] and row[3] for row in rows if len(row) == 5)  # what it does, when to use it


def test_every_picture_is_shown() -> None:
    pages = "".join(page.read_text() for page in ROOT.glob("docs/**/*.md"))
    pictures = list(ROOT.glob("docs/images/*.png"))
    assert pictures and sum(picture.stat().st_size for picture in pictures) < 3_000_000
    assert not [picture.name for picture in pictures if f"images/{picture.name})" not in pages]
