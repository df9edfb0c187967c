"""The interface speaks every language that it offers: what is said is in the catalogue, and the catalogue is whole."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from jinja2 import nodes

from anyshot_platform.app import feature_routers
from anyshot_platform.described.settings import Elsewhere
from anyshot_platform.errors import PlatformError
from anyshot_platform.kernel.language import FOLDER
from anyshot_platform.phases.description import SETTINGS
from anyshot_platform.site.shell.act_routes import acts_of
from anyshot_platform.web.rendering import TEMPLATE_FOLDER, environment
from tests.architecture import catalogue, declared
from tests.architecture.catalogue import PACKAGE
from tests.architecture.structure import PLATFORM, imports

LANGUAGES = sorted(FOLDER.glob("*.po"))
# What a translation keeps: placeholders, tags, code, and the names of things that are typed.
_KEPT = re.compile(r"%\(\w+\)s|%%|</?[a-z][^>]*>|`[^`]+`|&\w+;")


@pytest.mark.seconds("reads or imports the whole product", each_time=True)
def test_the_catalogue_is_what_the_sources_say() -> None:
    behind = [path.name for path, text in catalogue.written().items() if path.read_bytes() != text]
    assert behind == [], "run `make catalogue`, and translate what is new"


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_every_message_is_translated(path: Path) -> None:
    missing = [message.id for message in _messages(path) if not all(_said(message)) or message.fuzzy]
    assert missing == []


@pytest.mark.parametrize("path", LANGUAGES, ids=lambda path: path.stem)
def test_a_translation_keeps_placeholders_and_tags(path: Path) -> None:
    odd = []
    for message in _messages(path):
        asked = [message.id] if isinstance(message.id, str) else list(message.id)
        wanted = [sorted(_KEPT.findall(text)) for text in asked]
        odd += [said for said in _said(message) if said and sorted(_KEPT.findall(said)) not in wanted]
    assert odd == []


def test_no_declared_word_is_missing_from_the_catalogue() -> None:
    """Acts are taken from the routes that there are, and settings from the models, not from where we look for them."""
    there = {str(message.id) for message in catalogue.catalogue(catalogue.TEMPLATE)}
    settings = [
        text
        for setting in SETTINGS
        if not setting.mark(Elsewhere)
        for text in (setting.title, setting.meaning, *(words for _, words in setting.choices))
    ]
    known = acts_of(route for router in feature_routers() for route in router.routes)
    acts = [words for _, words in declared.of_acts({act.key: act for _, act in known}.values())]
    assert len(acts) > 100 and [text for text in (*settings, *acts) if text and text not in there] == []


def _messages(path: Path) -> list[Message]:
    return [message for message in catalogue.catalogue(path) if message.id]


def _said(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


# Templates that say English by themselves: the reference of the API, the page of building blocks. Nothing may come onto
# the list.
UNMARKED = tuple(TEMPLATE_FOLDER / name for name in ("design.html", "reference.html"))
TEMPLATES = sorted(
    path
    for path in TEMPLATE_FOLDER.rglob("*.html")
    if not any(path.is_relative_to(unmarked) for unmarked in UNMARKED)
)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(TEMPLATE_FOLDER)))
def test_a_template_says_nothing_beside_the_catalogue(path: Path) -> None:
    tree = environment().parse(path.read_text())
    bare = _Bare()
    bare.feed("".join(node.data for node in tree.find_all(nodes.TemplateData)))
    bare.close()
    assert bare.found + list(_strings(tree, marked=False)) == []


def test_the_check_of_templates_sees_bare_words() -> None:
    tree = environment().parse('<p title="Some words">{{ ui.card("A card") }}{{ _("marked") }}bare</p>')
    bare = _Bare()
    bare.feed("".join(node.data for node in tree.find_all(nodes.TemplateData)))
    bare.close()
    assert bare.found == ["Some words", "bare"] and list(_strings(tree, marked=False)) == ["A card"]


# Where refusals are read by operators and programs, which read English: commands and workers.
ENGLISH = (
    "confined_program.py",
    "demo/",
    "home.py",
    "judging/leases.py",
    "judging/results.py",
    "operations/",
    "runs/states.py",
    "runs/transitions.py",
    "site/workers/",
    "workers/",
)


def test_a_refusal_that_people_read_is_marked() -> None:
    refusals = _all_refusals()
    files = [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(ENGLISH)
    ]
    bare = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in files
        for line in _bare_refusals(path.read_text(), refusals)
    }
    assert bare == set(), "write say(...) around the sentence: docs/developers/languages.md"


def test_the_check_of_refusals_sees_a_bare_sentence() -> None:
    source = 'raise Invalid("Not so.")\nraise Invalid(f"Not {so}.")\nraise Invalid(say("Not so."))\nraise Other("A b.")'
    assert _bare_refusals(source, {"Invalid"}) == [1, 2]
    joined = 'raise Invalid(f"{a}: {b}")\nraise Invalid(" ".join(a))\nraise Invalid(str(a))\nraise Invalid(together(a))'
    assert _bare_refusals(joined, {"Invalid"}) == [1, 2, 3]


# Of the calls that answer a form or read a bundle, which argument a page shows: by its place, or by its name.
_SHOWN = {
    "carry_out_change": 2,
    "save_merged": 4,
    "redirect": "flash",
    "FileProblem": 2,
    "Notice": 2,
    "notice": 1,
    "problem": 1,
}
# Of the errors that are no `PlatformError`, those that a page shows.
_READ = frozenset({"BundleUnreadable", "AlteredArchive", "UnclearDate"})


def test_what_the_next_page_says_of_an_act_is_marked() -> None:
    bare = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in _bare_messages(path.read_text())
    }
    assert bare == set(), "write say(...) around the sentence: docs/developers/languages.md"


def test_the_check_of_messages_sees_a_bare_sentence() -> None:
    redirects = 'redirect(a, flash="Saved.")\nredirect(a, flash=say("Saved."))\n'
    assert _bare_messages(redirects + 'carry_out_change(a, b, f"{c} is added.", d)') == [1, 3]
    assert _bare_messages('def change() -> str:\n    return f"{a} of {b} changed."') == [2]
    assert _bare_messages('report.notice(a, "left out")\nFileProblem(1, a, f"{b}: left out")') == [1, 2]


def _bare_messages(source: str) -> list[int]:
    """The lines where a message of the next page is not marked; what `change()` returns is shown too."""
    nodes_of = list(ast.walk(ast.parse(source)))
    shown = [_shown(call) for call in nodes_of if isinstance(call, ast.Call)]
    changes = [node for node in nodes_of if isinstance(node, ast.FunctionDef) and node.name == "change"]
    returned = [back.value for one in changes for back in ast.walk(one) if isinstance(back, ast.Return)]
    return sorted(said.lineno for said in (*shown, *returned) if said is not None and _sentence_in(said))


def _shown(call: ast.Call) -> ast.expr | None:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    place = _SHOWN.get(name)
    if isinstance(place, int):
        return call.args[place] if len(call.args) > place else None
    return next((one.value for one in call.keywords if place and one.arg == place), None)


def _all_refusals() -> set[str]:
    """The names of all errors that a handler shows, whatever else this process has loaded."""
    for module in imports():
        importlib.import_module(f"{PLATFORM}.{module}")
    waiting, found = [PlatformError], set(_READ)
    while waiting:
        error = waiting.pop()
        found.add(error.__name__)
        waiting += error.__subclasses__()
    return found


def _bare_refusals(source: str, refusals: set[str]) -> list[int]:
    """The lines where such an error is raised with a sentence that is not marked."""
    raised = (node.exc for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Raise))
    calls = (call for call in raised if isinstance(call, ast.Call) and isinstance(call.func, ast.Name))
    named = (
        call for call in calls if isinstance(call.func, ast.Name) and call.func.id in refusals and call.args
    )
    return [call.lineno for call in named if _sentence_in(call.args[0]) or _made_english(call.args[0])]


def _made_english(said: ast.expr) -> bool:
    """Whether it makes one text of several, which has no translation any more: `together` and `words_of` keep it."""
    if isinstance(said, ast.Call):
        return (isinstance(said.func, ast.Attribute) and said.func.attr == "join") or ast.unparse(
            said.func
        ) == "str"
    return isinstance(said, ast.JoinedStr | ast.BinOp)


def _sentence_in(said: ast.expr) -> bool:
    """Whether it has words of its own, and not only values with marks between them."""
    parts = said.values if isinstance(said, ast.JoinedStr) else [said]
    text = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
    return _has_words(text)


class _Bare(HTMLParser):
    """Words of a page that are written in its HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside += [tag] if tag in _NO_WORDS else []
        said = [value or "" for name, value in attrs if name in ("title", "alt", "aria-label", "placeholder")]
        self.found += [" ".join(text.split()) for text in said if _has_words(text)]

    def handle_endtag(self, tag: str) -> None:
        if tag in self.inside:
            self.inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self.inside and _has_words(data) and "aria-" not in data:
            self.found.append(" ".join(data.split()))


_NO_WORDS = ("script", "style", "svg", "pre", "code")


def _has_words(text: str) -> bool:
    return re.search(r"[^\W\d_]{2}", re.sub(r"https://|\b(UTC|API|CSV)\b", "", text)) is not None


def _strings(node: nodes.Node, *, marked: bool) -> Iterator[str]:
    """Sentences among the constants of expressions: with a capital, or of several words; no names of classes."""
    if isinstance(node, nodes.Call) and getattr(node.node, "name", "") in ("_", "gettext", "ngettext"):
        marked = True
    if isinstance(node, nodes.Filter) and node.name == "count":
        marked = True
    text = node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) and not marked else ""
    if re.match(r"[A-Z][a-z]*( |$|:)|[a-z]+ [a-z]+ ", text) and text not in _IS_CODE:
        yield text
    for child in node.iter_child_nodes():
        yield from _strings(child, marked=marked)


_IS_CODE = ("True", "T", "anyshot data get ")
