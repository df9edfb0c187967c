"""No sentence of a page stands beside the catalogue: a walk through the site in a language of brackets.

In that language each word of the catalogue stands in ⟦⟧, so that what stands outside is data, or a sentence that no
translator ever sees, wherever it was made: in a constant, in a model that the API answers with, in a database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.pofile import write_po
from httpx2 import Response
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.protocols import PROTOCOLS
from anyshot_platform.database import Base, now
from anyshot_platform.entries.service import stand
from anyshot_platform.kernel import language, retold
from anyshot_platform.leagues.models import League
from anyshot_platform.phases.models import Phase, PhaseVersion
from anyshot_platform.phases.states import BoardShows
from anyshot_platform.submissions.models import Submission
from anyshot_platform.teams.models import Team
from anyshot_platform.users.models import User
from anyshot_scoring.rules import RULES
from tests.architecture.catalogue import catalogue
from tests.platform.admin.test_manage import phase_form, post
from tests.platform.admin.test_sense import FEEDBACK
from tests.platform.site import Site
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene
from tests.platform.web.test_crawl import crawl, dressed, fill_in  # noqa: F401 the fixture
from tests.platform.web.test_ugly_desk import add_trouble

_KEPT = re.compile(r"(%\(\w+\)[sd]|<[^>]*>|%%)")
_BRACKETED = re.compile(r"⟦[^⟦⟧]*(⟧|\.\.\.)")  # one that is cut off ends in dots
_WORDS = re.compile(r"[^\W\d_]{3,}")
# What no translator turns into other words.
_NAMES = re.compile(
    r"\d{1,2} \w+\.? \d{4}(, \d\d:\d\d)?|UTC"  # dates, as the reader's language writes them
    r"|Anyshot|MetaDL|Français|English|Hidden \d+|CSV|JSON|GPU|GiB|SHA-256|https://|\d+min"
    r"|\b[0-9a-f]{12,}\b"
    r"|\b\w+([._/:-]\w+)+(?=\W|$)"  # what programs call things: submission.queued, fo_maml, torch-cpu:1
    r"|\{\{.*?\}\}"
    r"|\btiny\b"  # as the packs of the scene are called in their files
)
_SAID = ("reason", "quota_reason", "story")  # columns with sentences of the platform, which pages translate
_SHOWN = ("alt", "aria-label", "title", "placeholder", "data-label", "data-confirm")


def bracketed(message: str) -> str:
    """Each part of a message between its placeholders and tags in brackets."""
    parts = _KEPT.split(message)
    return "".join(
        f"⟦{part}⟧" if place % 2 == 0 and part.strip() else part for place, part in enumerate(parts)
    )


@pytest.fixture
def in_brackets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """French is the language of brackets."""
    words = catalogue(language.FOLDER / "fr.po")
    for message in words:
        if isinstance(message.id, str):
            message.string = bracketed(message.id)
        else:
            message.string = tuple(map(bracketed, message.id))
    with (tmp_path / "fr.po").open("wb") as file:
        write_po(file, words)
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    cached = (language.translations, language.told_words, language.script_words, retold._forms)
    for one in cached:
        one.cache_clear()
    yield
    for one in cached:
        one.cache_clear()


class Shown(HTMLParser):
    """What a page shows in texts and attributes, but for code and what people wrote at length."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._data: list[str] = []  # of an element that is data: it, and those of its name within it
        self._value: str | None = None  # of an option: what programs call it
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if (self._data and tag == self._data[0]) or (not self._data and _is_data(tag, known)):
            self._data.append(tag)
        self._value = known.get("value") if tag == "option" else None
        if not self._data:
            self.texts += [f"{known[name]}" for name in _SHOWN if known.get(name)]

    def handle_endtag(self, tag: str) -> None:
        if self._data and tag == self._data[0]:
            self._data.pop()

    def handle_data(self, data: str) -> None:
        self.texts.append("" if self._data or data.strip() == self._value else data)

    def bare(self, known: re.Pattern[str]) -> Iterator[str]:
        """The texts that have words outside of brackets; of those within a sentence some are elements of their own."""
        whole = "\0".join(self.texts)
        while whole != (inner := _BRACKETED.sub(lambda found: "\0" * found[0].count("\0") or " ", whole)):
            whole = inner
        for text, left in zip(self.texts, whole.split("\0"), strict=True):
            rest = known.sub("", " ".join(left.split()))
            if _WORDS.search(_NAMES.sub("", rest)):
                yield f"{rest}   ({' '.join(text.split())[:200]})"


def _is_data(tag: str, attrs: dict[str, str | None]) -> bool:
    """Code, and what people wrote."""
    return (
        tag in ("script", "style", "code", "pre", "textarea")
        or not {"prose", "trace"}.isdisjoint((attrs.get("class") or "").split())
        or attrs.get("lang") == "en"
    )


def _stored(visitor: Visitor) -> re.Pattern[str]:
    """Any text of the database, the longest first."""
    found = set[str]()
    with visitor.services.database.reading() as session:
        for table in Base.metadata.sorted_tables:
            written = [column for column in table.columns if column.name not in _SAID]
            for row in session.execute(select(*written)) if written else ():
                for value in row:
                    found |= {" ".join(text.split()) for text in _texts(value)}
    texts = sorted((re.escape(text) for text in found if len(text) > 2), key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(texts)})(?![\w]|\.\w)")


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        yield from _texts(value.model_dump(mode="json"))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (*_texts(key), *_texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


def _add_troubles(session: Session, visitor: Visitor, scene: Scene) -> None:
    """What pages say of entries that do not stand, of a phase and a final that wait, of what goes wrong."""
    add_trouble(session, visitor)
    phase = session.get_one(Phase, scene.phase.id)
    phase.frozen_at, phase.board_shows = now(), BoardShows.LAST
    session.get_one(League, scene.leagues["free-style"].id).every_member_qualifies = True
    version = session.get_one(PhaseVersion, scene.version.id)
    finished = session.get_one(Submission, scene.submissions["finished"].id)
    failed = session.get_one(Submission, scene.submissions["failed"].id)
    failed.counts_quota, failed.quota_reason = False, "not your doing"
    for change in ("", "withdrawn", "disqualified"):
        finished.withdrawn_at = now() if change == "withdrawn" else None
        finished.disqualified_at = now() if change == "disqualified" else None
        stand(session, phase, version, session.get_one(Team, scene.team.id))


@pytest.mark.slow("walks through the site as three people")
@pytest.mark.rotating
@pytest.mark.usefixtures("in_brackets")
def test_each_sentence_of_a_page_is_in_the_catalogue(dressed: Visitor, scene: Scene) -> None:  # noqa: F811
    fill_in(dressed, scene)
    with dressed.services.database.writing() as session:
        _add_troubles(session, dressed, scene)
    bare: dict[str, str] = {}

    def look(page: Response, data: re.Pattern[str]) -> None:
        if "/report.html" in page.url.path:
            return  # made by the analysis, in English
        assert '<html lang="fr"' in page.text
        for text in Shown(page.text).bare(data):
            bare.setdefault(text, page.url.path)

    starts = ("/", "/competitions", f"/competitions/{scene.competition.slug}")
    for name in ("ada", "olga", "root-admin"):
        with dressed.services.database.writing() as session:
            user = session.query(User).filter_by(username=name).one()
            user.language = "fr"
        dressed.sign_in(user)
        data = _stored(dressed)
        for one in scene.submissions.values():  # a walk opens two pages of a kind
            look(dressed.client.get(f"/submissions/{one.id}", headers={"accept": "text/html"}), data)
        first = f"/submissions/{scene.submissions['finished'].id}"
        crawl(dressed, *starts, first, skipping=("/docs", "/api"), look=partial(look, data=data))
    assert bare == {}


@pytest.mark.seconds("a site for each form")
@pytest.mark.parametrize(
    "change",
    [
        {"budget.run": "soon"},
        {"budget.run": "5h", "budget.meta_train": "9h"},
        {"machine.memory": "much"},
        {"machine.memory": "999 TB"},
        {"scoring.runs": "0"},
        {"start": "today"},
        {"end": "1999-01-01T00:00"},
        {"timezone": "Mars/Base"},
        {"tasks.snapshots": "1"},
        {"tasks.each_dataset": "on"},
        {"tasks.meta_test": "another-site"},
        {"tasks.protocol.name": "fixed", "tasks.protocol.fixed.query": "many"},
        {"scoring.board_shows": "ladder", "scoring.team_chooses": "on"},
        {"scoring.board_shows": "ladder", "scoring.ranking": "dataset_ranks_mean"},
    ],
    ids=lambda change: "-".join(change),
)
@pytest.mark.usefixtures("in_brackets")
def test_what_is_wrong_with_a_field_is_in_the_catalogue(site: Site, change: dict[str, str]) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        session.get_one(User, owner.id).language = "fr"
    page = post(owner, FEEDBACK, **phase_form(**change)).text
    said = re.findall(r'class="field__error"[^>]*>(.*?)</p>', page, re.DOTALL)
    said += re.findall(r'<div class="alert alert--bad" role="alert" tab.*?</ul>', page, re.DOTALL)
    assert said
    sent = re.compile(
        "|".join(re.escape(one) for one in (*change.values(), "Mars", *RULES, *PROTOCOLS) if one)
    )
    assert list(Shown("<br>".join(said)).bare(sent)) == []
