"""What an import of a bundle finds is in the catalogue: read by an organizer in the language of brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from anyshot_core.protocols import PROTOCOLS
from anyshot_platform.bundles.marked import read_marked
from anyshot_platform.users.models import User
from tests.core.data.factory import write_dataset
from tests.platform.admin.test_bundle_reading import FILES, GOOD, MISTAKES
from tests.platform.admin.test_codabench import FILES_2, FILES_15, VERSION_2, VERSION_15
from tests.platform.admin.test_codabench_data import files_of, send
from tests.platform.admin.zips import zipped
from tests.platform.core.test_budgets import allow
from tests.platform.site import Person, Site
from tests.platform.web.test_untranslated import Shown, in_brackets  # noqa: F401 the fixture

pytestmark = pytest.mark.usefixtures("in_brackets")
# What programs without a catalogue say of a file: the parser of YAML, and who packs a dataset.
_OF_THE_PARSER = "while parsing a flow sequence, expected ',' or ']', but got"
_OF_THE_PACKER = (
    "labels.csv, line 1: found the columns FILE_NAME; expected a column 'CATEGORY'. Add the column, or name the "
    "one that there is as category_column_name"
)
_QUOTED = r"'[^']*'|“[^”]*”|`[^`]*`"
_PATH = r"\b[a-z_]+(\[\d+\])?(\.[a-z_]+(\[\d+\])?)+"


@pytest.fixture
def owner(site: Site) -> Person:
    """An organizer who reads the language of brackets."""
    owner = site.owner()
    with site.services.database.writing() as session:
        session.get_one(User, owner.id).language = "fr"
    return owner


def keys(data: object) -> Iterator[str]:
    """Every key of YAML: a place in the file."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from keys(value)
    elif isinstance(data, list):
        for value in data:
            yield from keys(value)


def bare(html: list[str], *data: str) -> list[str]:
    """What stands outside of brackets and is no place in a file, no quotation, none of these texts."""
    texts = sorted((rf"\b{re.escape(one)}\b" for one in data if one), key=len, reverse=True)
    known = re.compile("|".join((*texts, _QUOTED, _PATH)))
    return list(Shown("<br>".join(html)).bare(known))


def refused(owner: Person, content: bytes) -> list[str]:
    """The problems that the page names."""
    sent = owner.call("POST", "/organize/import", files={"bundle": ("x.zip", content)})
    assert sent.status_code == 422, sent.text
    found = re.findall(r'<div class="alert alert--bad".*?</div>', sent.text, re.DOTALL)
    assert found, sent.text
    return found


@pytest.mark.seconds("a site for each mistake")
def test_each_mistake_in_a_bundle(site: Site, owner: Person) -> None:
    allow(site, imports=len(MISTAKES))
    left: dict[str, list[str]] = {}
    for old, new, _ in MISTAKES:
        text = GOOD.replace(old, new, 1)
        page = refused(owner, zipped({"competition.yaml": text, **FILES}))
        data = read_marked(text.encode()).data or {}
        names = (
            "gaussians",
            "base",
            "Feed back",
            "Europe/Paris",
            "America/New_York",
            *PROTOCOLS,
            _OF_THE_PARSER,
        )
        if found := bare(page, *keys(data), *names):
            left[new] = found
    assert left == {}


@pytest.mark.seconds("a site for each mistake")
@pytest.mark.parametrize("kind", ["no zip", "nothing in it", "climbs", "too many", "too large", "empty"])
def test_each_zip_that_is_no_bundle(owner: Person, kind: str) -> None:
    content = {
        "no zip": b"text",
        "nothing in it": zipped({"readme.md": "x"}),
        "climbs": zipped({"../competition.yaml": GOOD}),
        "too many": zipped({"competition.yaml": GOOD} | {f"f{number}": "" for number in range(5001)}),
        "too large": zipped({"competition.yaml": "title: " + "x" * (3 << 20)}),
        "empty": zipped({"competition.yaml": ""}),
    }[kind]
    assert bare(refused(owner, content), "File is not a zip file", "competition.yaml") == []


def test_what_an_import_took_over_and_left(site: Site, owner: Person, tmp_path: Path) -> None:
    write_dataset(tmp_path / "good", classes=3)
    write_dataset(tmp_path / "broken", classes=2)
    (tmp_path / "broken" / "labels.csv").write_text("FILE_NAME\nx.png\n")
    images = '<img src="gone.png"> <img src="https://example.org/x.png"> \\(x\\)'
    odd = VERSION_2.replace("file: pages/old.html", "file: pages/none.html")
    odd = odd.replace("start: 1-3-2024", "start: 3-1-2024\n  end: 1-1-2024\n  colour: red").replace(
        "  end: 1-30-2026\n", ""
    )
    bundles = [
        {"competition.yaml": VERSION_2, **FILES_2, **files_of(tmp_path, "input_data/")},
        {"competition.yaml": odd, **FILES_2, "pages/overview.md": images},
        {"competition.yaml": VERSION_15, **FILES_15},
    ]
    for bundle in bundles:
        slug = send(site, bundle)
        page = owner.call("GET", f"/competitions/{slug}/manage/import", headers={"accept": "text/html"}).text
        lists = re.findall(r'<ul class="list.*?</ul>', page, re.DOTALL)
        assert len(lists) == 3
        data = read_marked(str(bundle["competition.yaml"]).encode()).data
        titles = ("Development", "Final", "Results", "Times", "Evaluation", "予備戦", "RESULTS")
        assert bare(lists, *keys(data), *titles, "broken", "good", slug, "Accuracy", _OF_THE_PACKER) == []
