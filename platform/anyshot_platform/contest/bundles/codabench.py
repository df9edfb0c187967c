"""Bundles of Codabench (version 2) and CodaLab (1.5): what has an equivalent is taken over, the rest listed.

The formats are known from their documentation and from bundles that people wrote: dates month first, time
zones or none, keys written as text or number, HTML pages, programs by folder, zip or key, tags of Python 2.
"""

import posixpath
import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from anyshot_platform.contest.bundles.codabench_columns import convert_boards
from anyshot_platform.contest.bundles.codabench_keys import READ_2, READ_15, UNKNOWN, WITHOUT_EQUIVALENT
from anyshot_platform.contest.bundles.codabench_phases import PhasesConversion
from anyshot_platform.contest.bundles.codabench_report import (
    Flavour,
    Notice,
    Reporter,
    entries,
    is_true,
    mapping,
)
from anyshot_platform.contest.bundles.files import BundleFiles, missing_file, normal
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.schema import FILES, CompetitionSpec
from anyshot_platform.contest.bundles.yaml_lines import TWICE, FileProblem, Marked, Path, decode
from anyshot_platform.contest.competitions.files import MOST_BYTES, is_image
from anyshot_platform.foundation.filters import decimal, join_texts
from anyshot_platform.foundation.schema.problems import in_words

_IMAGE = re.compile(
    r"""(?:<img\b[^>]*?\bsrc\s*=\s*["']?|!\[[^\]]*\]\(\s*<?)(?P<address>[^"'\s>)]+)""", re.IGNORECASE
)
_INLINE = re.compile(r"data:image/(?P<kind>[a-z]+)(?:\+xml)?;base64,(?P<text>.+)", re.IGNORECASE)

# A pair without a blank line between; in Markdown alone a bracket with a backslash is a bracket, in a foreign page not.
_BRACKETS = re.compile(r"\\\((?P<inside>(?:(?!\n\s*\n|\\\)).)+)\\\)", re.DOTALL)
_SQUARES = re.compile(r"\\\[(?P<inside>(?:(?!\n\s*\n|\\\]).)+)\\\]", re.DOTALL)


@dataclass
class Converted:
    """The result; `spec` is meaningful when `problems` is empty."""

    spec: CompetitionSpec
    files: dict[str, bytes]
    notices: list[Notice]
    problems: list[FileProblem]
    input_data: dict[str, str]  # by the key of a phase: the path of the data that it tests on


def detect(data: dict[Any, Any]) -> Flavour | None:
    """Tell the format by its shape; None for a bundle of our own."""
    if "anyshot" in data:
        return None
    if isinstance(data.get("html"), dict) or isinstance(data.get("phases"), dict) or "leaderboard" in data:
        return Flavour.CODALAB_15
    if str(data.get("version", "")).split(".")[0] == "1":
        return Flavour.CODALAB_15
    if str(data.get("version", "")).split(".")[0] == "2" or any(
        key in data
        for key in ("tasks", "leaderboards", "registration_auto_approve", "docker_image", "solutions")
    ):
        return Flavour.CODABENCH_2
    return None


def _written_out(address: str) -> tuple[str, bytes] | None:
    """The name and content of an image that stands in the page itself; None for an address."""
    found = _INLINE.fullmatch(address)
    if found is None:
        return None
    try:
        return f"image.{found['kind'].lower()}", b64decode(unquote(found["text"]), validate=True)
    except ValueError:
        return "", b""


def convert(marked: Marked, files: BundleFiles, flavour: Flavour) -> Converted:
    """Turn a foreign bundle into one of ours."""
    return _Conversion(Reporter(marked, flavour), files).run()


@dataclass
class _Conversion:
    report: Reporter
    files: BundleFiles
    kept: dict[str, bytes] = field(default_factory=dict)

    @property
    def data(self) -> dict[Any, Any]:
        return self.report.data

    @property
    def flavour(self) -> Flavour:
        return self.report.flavour

    def run(self) -> Converted:
        self._say_unread()
        self.report.problems += [p for p in self.report.marked.problems if p.message != TWICE]
        for problem in self.report.marked.problems:
            if problem.message == TWICE:
                words = "stands twice; the last one was read"
                self.report.notices.append(Notice(problem.line, problem.path, words))
        pages, terms = self._pages()
        conversion = PhasesConversion(self.report)
        phases = conversion.convert()
        raw = {
            "anyshot": 1,
            "slug": key_from(self._text("title"), "competition"),
            "title": self._text("title") or "Untitled competition",
            "summary": self._text("description"),
            "logo": self._logo(),
            "terms": terms,
            "pages": pages,
            "registration": "open" if self._joins_freely() else "approval",
            "team_size": 10 if is_true(self.data.get("allow_teams", False)) else 1,
            "discussion": is_true(self.data.get("enable_forum", self.data.get("forum_enabled", True))),
            "leagues": self._leagues(),
            "contact": self._text("contact_email"),
            "prizes": self._text("reward"),
            "fact_sheet": self._fact_sheet(),
            "phases": phases,
        }
        if not self._text("title"):
            self.report.problem(("title",), "the competition has no title")
        return Converted(
            self._validated(raw),
            self.kept,
            sorted(self.report.notices, key=lambda n: n.line),
            self.report.problems,
            conversion.input_data,
        )

    # -- reporting -------------------------------------------------------------------------------------------

    def _say_unread(self) -> None:
        read = READ_2 if self.flavour is Flavour.CODABENCH_2 else READ_15
        for key, value in self.data.items():
            why = WITHOUT_EQUIVALENT.get(str(key))
            if why and value not in (None, "", [], {}, False):
                self.report.notice((key,), why)
            elif why is None and key not in read:
                self.report.notice((key,), UNKNOWN)

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        return str(value).strip() if value is not None else ""

    def _joins_freely(self) -> bool:
        if self.flavour is Flavour.CODABENCH_2:
            return is_true(self.data.get("registration_auto_approve", False))
        return not is_true(self.data.get("has_registration", False))

    def _validated(self, raw: dict[str, Any]) -> CompetitionSpec:
        try:
            return CompetitionSpec.model_validate(raw)
        except ValidationError as error:
            for details in error.errors():
                found = f"Found: {details.get('input')!r:.80}."
                self.report.problem(tuple(details["loc"]), join_texts((in_words(details), found)))
            return CompetitionSpec.model_construct()

    # -- texts and images ------------------------------------------------------------------------------------

    def _pages(self) -> tuple[list[dict[str, str]], str | None]:
        if self.flavour is Flavour.CODABENCH_2:
            named = [
                (("pages", index), str(page.get("title") or "Page"), page.get("file"))
                for index, page in entries(self.data.get("pages"))
            ]
            terms: Any = self.data.get("terms")
            terms_path: Path = ("terms",)
        else:
            html = mapping(self.data.get("html"))
            named = [(("html", k), _page_title(str(k)), v) for k, v in html.items() if str(k) != "terms"]
            terms, terms_path = html.get("terms"), ("html", "terms")
        pages = [
            {"title": title[:200], "file": target}
            for path, title, source in named
            if (target := self._keep_text(path, source, title))
        ]
        return pages, self._keep_text(terms_path, terms, "terms") if terms else None

    def _keep_text(self, path: Path, source: Any, title: str) -> str | None:
        if not isinstance(source, str) or not source.strip():
            self.report.notice(path, f"the page {title!r} names no file; left out")
            return None
        said = missing_file(source, self.files)
        content = self.files.read(source)
        if said or content is None:
            words = said or f"{source!r} is a folder, not a page"
            act = f"write {title!r} here"
            self.report.notice(path, join_texts((words, act), by=": "), "/pages")
            return None
        stem = unique(key_from(title, "page"), {name.split("/")[-1].rsplit(".", 1)[0] for name in self.kept})
        target = f"pages/{stem}.md"
        shown = self._with_formulas(path, decode(content))
        self.kept[target] = self._with_images(path, source, shown).encode()
        return target

    def _with_formulas(self, path: Path, text: str) -> str:
        r"""A page whose formulas in `\(...\)` and `\[...\]` are drawn here."""
        shown, number = _dollars(text)
        if number:
            words = (
                "1 formula written as \\(...\\) or \\[...\\], now between dollars: look at it"
                if number == 1
                else (
                    f"{decimal(number)} formulas written as \\(...\\) or \\[...\\], now between "
                    "dollars: look at them"
                )
            )
            self.report.notice(path, words, "/pages")
        return shown

    def _with_images(self, path: Path, page: str, text: str) -> str:
        """A page with the bundle's own images as `files/NAME`; says which others it will not show."""
        folder, lost, elsewhere = normal(page).rpartition("/")[0], list[str](), list[str]()

        def put(found: re.Match[str]) -> str:
            address = found["address"]
            name, content = _written_out(address) or self._beside(folder, address)
            if not (is_image(name) and 0 < len(content) <= MOST_BYTES):
                (elsewhere if "//" in address else lost).append(address[:200])
                return found[0]
            name = self._free_name(re.sub(r"[^A-Za-z0-9._-]+", "-", name)[-80:], content)
            self.kept[f"{FILES}{name}"] = content
            return found[0].replace(address, f"{FILES}{name}")

        shown = _IMAGE.sub(put, text)
        self._say_lost(path, lost, "not in the bundle, too large, or of a kind that no page shows")
        self._say_lost(path, elsewhere, "other hosts are asked for nothing")
        return shown

    def _say_lost(self, path: Path, lost: list[str], why: str) -> None:
        if lost:
            words = (
                (
                    f"1 image of this page cannot be shown: {why}. Add it under Images and files, "
                    f"and write files/NAME in the page ({', '.join(dict.fromkeys(lost))})"
                )
                if len(lost) == 1
                else (
                    f"{decimal(len(lost))} images of this page cannot be shown: {why}. Add them "
                    "under Images and files, and write files/NAME in the page "
                    f"({', '.join(dict.fromkeys(lost))})"
                )
            )
            self.report.notice(path, words, "/pages#files")

    def _beside(self, folder: str, address: str) -> tuple[str, bytes]:
        """The name and content of an image of the bundle; none of what lies elsewhere."""
        inside = posixpath.normpath(posixpath.join(folder, unquote(address)))
        content = self.files.read(inside) or self.files.read(unquote(address).lstrip("/"))
        return inside.removeprefix("pages/"), b"" if "//" in address or content is None else content

    def _free_name(self, name: str, content: bytes) -> str:
        """A name for an image that no other image of the pages has."""
        name = name.lstrip("-._")
        if self.kept.get(f"{FILES}{name}", content) == content:
            return name
        stem, dot, suffix = name.rpartition(".")
        others = {key.removeprefix(FILES).rpartition(".")[0] for key in self.kept if key.startswith(FILES)}
        return unique(stem, others) + dot + suffix

    def _fact_sheet(self) -> list[dict[str, Any]]:
        """The questions; each is answered by a text here."""
        sheet = self.data.get("fact_sheet")
        asked = sheet.items() if isinstance(sheet, dict) else ()
        questions, taken = list[dict[str, Any]](), set[str]()
        for name, question in asked:
            found = mapping(question)
            key = unique(key_from(str(found.get("key") or name), "question"), taken)
            taken.add(key)
            label = str(found.get("title") or found.get("key") or name).strip()[:200]
            questions.append(
                {"key": key, "label": label, "required": is_true(found.get("is_required", False))}
            )
            if found.get("selection"):
                words = "its choices are not taken over: the answer is a text"
                self.report.notice(("fact_sheet", name), words)
        return questions

    def _logo(self) -> str | None:
        source = self.data.get("image") or self.data.get("logo")
        if not isinstance(source, str) or not source.strip():
            return None
        content = self.files.read(source)
        if content is None:
            words = f"the image {source!r} is not in the bundle; the competition has no logo"
            self.report.notice(("image",), words)
            return None
        suffix = normal(source).rpartition(".")[2].lower()
        if suffix not in ("png", "jpg", "jpeg", "gif", "webp", "svg"):
            words = f"an image of type {suffix!r} cannot be shown; left out"
            self.report.notice(("image",), words)
            return None
        target = f"logo.{suffix}"
        self.kept[target] = content
        return target

    # -- boards ----------------------------------------------------------------------------------------------

    def _leagues(self) -> list[dict[str, Any]]:
        boards = convert_boards(self.data, v2=self.flavour is Flavour.CODABENCH_2)
        for path, message in boards.notices:
            self.report.notice(path, message)
        return boards.leagues


def _page_title(key: str) -> str:
    return key.replace("_", " ").strip().capitalize() if key.isascii() and key.islower() else key


def _dollars(text: str) -> tuple[str, int]:
    r"""A page whose formulas in `\(...\)` and `\[...\]` stand between dollars, and how many there were."""
    written, inline = _BRACKETS.subn(lambda found: f"${found['inside'].strip()}$", text)
    written, block = _SQUARES.subn(lambda found: f"$${found['inside'].strip()}$$", written)
    return written, inline + block
