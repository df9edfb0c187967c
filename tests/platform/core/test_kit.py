"""What the site says of the starting kit, and what its index answers; installing it is in `tests/packages`."""

import base64
import hashlib
import html
import importlib.metadata
import io
import re
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from anyshot_platform.contest.kit.wheels import PROJECTS
from tests.platform.site import Site

ROOT = Path(__file__).parents[3]
INSTALLS = re.compile(r"pip install --extra-index-url \S+ (.*)")


def test_the_guide_names_the_index_of_this_very_site(site: Site) -> None:
    page = html.unescape(site.client.get("/docs/participants/first-submission/").text)
    address = site.services.settings.base_url.rstrip("/")
    assert f"--extra-index-url {address}/kit/simple/" in page and "ADDRESS" not in page


def test_the_docs_lead_a_reader_by_their_role(site: Site) -> None:
    def links(path: str) -> set[str]:
        page = site.client.get(path).text
        return set(
            re.findall(r'href="(/docs/[^"]+)"', page[page.index('class="sidenav"') :].split("</nav>")[0])
        )

    start, reader = links("/docs"), links("/docs/participants/results/")
    assert {"/docs/participants/", "/docs/organizers/", "/docs/operators/"} <= start and len(start) < 10
    assert "/docs/participants/data/" in reader and "/docs/organizers/running/" not in reader


@pytest.mark.parametrize("guide", ["first-submission", "machines"])
def test_every_guide_installs_exactly_the_version_of_this_site(site: Site, guide: str) -> None:
    """Whoever registers the name on the public index with a higher version would be installed otherwise."""
    page = html.unescape(site.client.get(f"/docs/participants/{guide}/").text)
    asked = [re.sub(r"</?[a-z][^>]*>", "", line) for line in INSTALLS.findall(page)]
    version = importlib.metadata.version("anyshot-starting-kit")
    assert asked and set(asked) == {f'"anyshot-starting-kit[torch]=={version}"'}


def test_no_document_and_no_page_installs_one_of_our_packages_in_any_version() -> None:
    """Where the platform's address is a placeholder, the version is one too."""
    folders = ("docs", "platform/anyshot_platform", "starting_kit", "core", "scoring", "baselines")
    files = [ROOT / "README.md", *(path for name in folders for path in (ROOT / name).rglob("*.*"))]
    texts = [file.read_text() for file in files if file.suffix in {".md", ".py", ".html", ".txt", ".ipynb"}]
    asked = [line for text in texts for line in INSTALLS.findall(text)]
    assert len(asked) > 7
    assert [line for line in asked if not re.search(r"==(VERSION|\{version\})", line)] == []


def test_the_index_offers_kit_and_worker_and_nothing_else(site: Site) -> None:
    client = site.client
    projects = ("anyshot-core", "anyshot-scoring", "anyshot-starting-kit", "anyshot-worker")
    shown = client.get("/kit/simple/").text
    assert all(f'href="/kit/simple/{name}/"' in shown for name in projects) and shown.count("<a ") == 4
    assert str(client.get("/kit/simple/Anyshot_Core/").url).endswith("/kit/simple/anyshot-core/")
    assert client.get("/kit/simple/anyshot-platform/").status_code == 404
    old = client.get(f"/kit/files/{'0' * 64}/anyshot_core-0.0.1-py3-none-any.whl")
    assert old.status_code == 404 and "another version" in old.text


def test_a_link_says_for_which_pythons_the_wheel_is(site: Site) -> None:
    """PEP 503: pip passes over what its Python cannot run, instead of failing on it."""
    page = site.client.get("/kit/simple/anyshot-core/").text
    asked = importlib.metadata.metadata("anyshot-core")["Requires-Python"]
    (found,) = re.findall(r'<a href="[^"]+" data-requires-python="([^"]+)">', page)
    assert "&lt;" in found and html.unescape(found) == asked


def served_wheel(site: Site, project: str) -> dict[str, bytes]:
    """The files of a wheel as pip downloads it, which has the digest of its link."""
    (href, digest) = re.findall(
        r'href="([^"#]+)#sha256=(\w+)"', site.client.get(f"/kit/simple/{project}/").text
    )[0]
    content = site.client.get(href).content
    assert hashlib.sha256(content).hexdigest() == digest
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()}


def built_wheel(project: str, folder: Path) -> list[str]:
    """The names in the wheel that the project's own build makes, here and without a network."""
    place = ROOT / project.removeprefix("anyshot-").replace("-", "_")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def in_info(names: list[str]) -> set[str]:
    """What of a wheel's files lies in its folder of metadata, without the folder's name."""
    return {name.partition(".dist-info/")[2] for name in names if ".dist-info/" in name}


@pytest.mark.parametrize("project", PROJECTS)
def test_a_served_wheel_has_the_files_the_metadata_and_the_licence_of_a_built_one(
    site: Site, project: str, tmp_path: Path
) -> None:
    served = served_wheel(site, project)
    built = built_wheel(project, tmp_path)
    assert in_info(list(served)) == in_info(built)
    assert {name for name in served if ".dist-info/" not in name} == {
        name for name in built if ".dist-info/" not in name
    }
    info = next(name.partition("/")[0] for name in served if name.endswith(".dist-info/METADATA"))
    named = Parser().parsestr(served[f"{info}/METADATA"].decode()).get_all("License-File")
    assert named == ["about/LICENSE"]
    assert served[f"{info}/licenses/about/LICENSE"] == (ROOT / "about/LICENSE").read_bytes()


def test_the_record_of_a_served_wheel_names_every_file_with_its_hash(site: Site) -> None:
    served = served_wheel(site, "anyshot-core")
    (record,) = [name for name in served if name.endswith(".dist-info/RECORD")]
    rows = [line.rsplit(",", 2) for line in served[record].decode().splitlines()]
    wanted = [
        [name, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("="),
         str(len(content))]
        for name, content in served.items() if name != record
    ]  # fmt: skip
    assert rows == [*wanted, [record, "", ""]]
