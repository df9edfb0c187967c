"""Bundles of Codabench (version 2) and CodaLab (1.5): what has an equivalent is taken over, the rest listed.

The formats are known from their documentation and from bundles that people wrote: dates month first, time
zones or none, keys written as text or number, HTML pages, programs by folder, zip or key, tags of Python 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from anyshot_platform.bundles.codabench_columns import convert_boards
from anyshot_platform.bundles.codabench_dates import UnclearDate, read_date
from anyshot_platform.bundles.codabench_keys import (
    PHASE_READ,
    PHASE_WITHOUT_EQUIVALENT,
    READ_2,
    READ_15,
    WITHOUT_EQUIVALENT,
)
from anyshot_platform.bundles.files import BundleFiles, missing_file, normal
from anyshot_platform.bundles.marked import Marked, Path, Problem, decode
from anyshot_platform.bundles.naming import key_from, unique
from anyshot_platform.bundles.schema import CompetitionSpec


class Flavour(StrEnum):
    CODABENCH_2 = "Codabench 2"
    CODALAB_15 = "CodaLab 1.5"


@dataclass(frozen=True)
class Notice:
    """Something of the source that has no equivalent here, or was read in one of several ways."""

    line: int
    path: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.path}: {self.message}"


@dataclass
class Converted:
    """The result; `spec` is meaningful when `problems` is empty."""

    spec: CompetitionSpec
    files: dict[str, bytes]
    notices: list[Notice]
    problems: list[Problem]


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


def convert(marked: Marked, files: BundleFiles, flavour: Flavour) -> Converted:
    """Turn a foreign bundle into one of ours."""
    return _Conversion(marked, files, flavour).run()


@dataclass
class _Conversion:
    marked: Marked
    files: BundleFiles
    flavour: Flavour
    kept: dict[str, bytes] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def data(self) -> dict[Any, Any]:
        return self.marked.data

    def run(self) -> Converted:
        self._say_unread()
        self.problems += [p for p in self.marked.problems if "twice" not in p.message]
        for problem in self.marked.problems:
            if "twice" in problem.message:
                self.notices.append(Notice(problem.line, problem.path, "stands twice; the last one was read"))
        pages, terms = self._pages()
        phases = self._phases()
        raw = {
            "anyshot": 1,
            "slug": key_from(self._text("title"), "competition"),
            "title": self._text("title") or "Untitled competition",
            "summary": self._text("description"),
            "logo": self._logo(),
            "terms": terms,
            "pages": pages,
            "registration": "open" if self._joins_freely() else "approval",
            "team_size": 10 if _truth(self.data.get("allow_teams", False)) else 1,
            "discussion": _truth(self.data.get("enable_forum", self.data.get("forum_enabled", True))),
            "leagues": self._leagues(),
            "phases": phases,
        }
        if not self._text("title"):
            self._problem(("title",), "the competition has no title")
        return Converted(
            self._validated(raw), self.kept, sorted(self.notices, key=lambda n: n.line), self.problems
        )

    # -- reporting -------------------------------------------------------------------------------------------

    def _notice(self, path: Path, message: str) -> None:
        problem = self.marked.problem(path, message)
        self.notices.append(Notice(problem.line, problem.path, message))

    def _problem(self, path: Path, message: str) -> None:
        self.problems.append(self.marked.problem(path, message))

    def _say_unread(self) -> None:
        read = READ_2 if self.flavour is Flavour.CODABENCH_2 else READ_15
        for key, value in self.data.items():
            why = WITHOUT_EQUIVALENT.get(str(key))
            if why and value not in (None, "", [], {}, False):
                self._notice((key,), why)
            elif why is None and key not in read:
                self._notice((key,), "not known here; left out")

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        return str(value).strip() if value is not None else ""

    def _joins_freely(self) -> bool:
        if self.flavour is Flavour.CODABENCH_2:
            return _truth(self.data.get("registration_auto_approve", False))
        return not _truth(self.data.get("has_registration", False))

    def _validated(self, raw: dict[str, Any]) -> CompetitionSpec:
        try:
            return CompetitionSpec.model_validate(raw)
        except ValidationError as error:
            for details in error.errors():
                self._problem(tuple(details["loc"]), f"{details['msg']} (found {details.get('input')!r:.80})")
            return CompetitionSpec.model_construct()

    # -- texts and images ------------------------------------------------------------------------------------

    def _pages(self) -> tuple[list[dict[str, str]], str | None]:
        if self.flavour is Flavour.CODABENCH_2:
            named = [
                (("pages", index), str(page.get("title") or "Page"), page.get("file"))
                for index, page in _entries(self.data.get("pages"))
            ]
            terms: Any = self.data.get("terms")
            terms_path: Path = ("terms",)
        else:
            html = _mapping(self.data.get("html"))
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
            self._notice(path, f"the page {title!r} names no file; left out")
            return None
        said = missing_file(source, self.files)
        content = self.files.read(source)
        if said or content is None:
            self._problem(path, said or f"{source!r} is a folder, not a page")
            return None
        stem = unique(key_from(title, "page"), {name.split("/")[-1].rsplit(".", 1)[0] for name in self.kept})
        target = f"pages/{stem}.md"
        self.kept[target] = decode(content).encode()
        return target

    def _logo(self) -> str | None:
        source = self.data.get("image") or self.data.get("logo")
        if not isinstance(source, str) or not source.strip():
            return None
        content = self.files.read(source)
        if content is None:
            self._notice(
                ("image",), f"the image {source!r} is not in the bundle; the competition has no logo"
            )
            return None
        suffix = normal(source).rpartition(".")[2].lower()
        if suffix not in ("png", "jpg", "jpeg", "gif", "webp", "svg"):
            self._notice(("image",), f"an image of type {suffix!r} cannot be shown; left out")
            return None
        target = f"logo.{suffix}"
        self.kept[target] = content
        return target

    # -- boards ----------------------------------------------------------------------------------------------

    def _leagues(self) -> list[dict[str, Any]]:
        boards = convert_boards(self.data, v2=self.flavour is Flavour.CODABENCH_2)
        for path, message in boards.notices:
            self._notice(path, message)
        return boards.leagues

    # -- phases ----------------------------------------------------------------------------------------------

    def _phases(self) -> list[dict[str, Any]]:
        found = self._sorted_phases()
        if not found:
            self._problem(("phases",), "the competition has no phases")
        dates = [self._dates(path, phase) for path, phase in found]
        phases: list[dict[str, Any]] = []
        for index, (path, phase) in enumerate(found):
            start, end = dates[index]
            following = dates[index + 1][0] if index + 1 < len(found) else None
            if end is None:
                end = following if following and following > start else None
            phases.append(self._phase(path, phase, start, end, phases))
        return phases

    def _sorted_phases(self) -> list[tuple[Path, dict[Any, Any]]]:
        raw = self.data.get("phases")
        items: Iterable[tuple[str | int, Any]] = (
            raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
        )
        found = [(("phases", key), phase) for key, phase in items if isinstance(phase, dict)]
        children = [item for item in found if not _truth(item[1].get("is_parallel_parent", False))]
        for path, _ in found:
            if len(children) < len(found) and all(path != kept for kept, _ in children):
                self._notice(path, "a parent of parallel phases; its children became phases")
        return sorted(
            children or found, key=lambda item: _number(item[1].get("phasenumber", item[1].get("index")))
        )

    def _dates(self, path: Path, phase: dict[Any, Any]) -> tuple[datetime, datetime | None]:
        start = self._date(path, phase, "start", "start_date")
        if start is None:
            self._notice(path, "has no start; it starts when it is imported")
            start = datetime.now(UTC).replace(microsecond=0)
        end = self._date(path, phase, "end", "end_date")
        if end is None and self._is_last(path) and self.flavour is Flavour.CODALAB_15:
            end = self._date((), self.data, "end_date")
        if end and end <= start:
            self._notice(
                (*path, "end"),
                f"the phase would end as it starts; its end became {start + timedelta(days=1)}",
            )
            end = start + timedelta(days=1)
        return start, end

    def _is_last(self, path: Path) -> bool:
        return self._sorted_phase_paths()[-1] == path

    def _sorted_phase_paths(self) -> list[Path]:
        kept, self.notices = self.notices, []
        paths = [path for path, _ in self._sorted_phases()]
        self.notices = kept
        return paths

    def _date(self, path: Path, phase: dict[Any, Any], *keys: str) -> datetime | None:
        for key in keys:
            value = phase.get(key)
            if value in (None, "", "null", "None"):
                continue
            try:
                moment, remark = read_date(value)
            except UnclearDate as error:
                self._problem((*path, key), str(error))
                return None
            if remark:
                self._notice((*path, key), remark)
            return moment.astimezone(UTC)
        return None

    def _phase(
        self,
        path: Path,
        phase: dict[Any, Any],
        start: datetime,
        end: datetime | None,
        before: list[dict[str, Any]],
    ) -> dict[str, Any]:
        for key, value in phase.items():
            why = PHASE_WITHOUT_EQUIVALENT.get(str(key))
            if why and value not in (None, "", [], {}, False, 0):
                self._notice((*path, key), why)
            elif why is None and str(key) not in PHASE_READ:
                self._notice((*path, key), "not known here; left out")
        title = str(phase.get("name") or phase.get("label") or f"Phase {len(before) + 1}").strip()[:200]
        quota = {
            "per_day": self._count(path, phase, "max_submissions_per_day"),
            "total": self._count(path, phase, "max_submissions_per_person", "max_submissions"),
        }
        seconds = self._seconds(path, phase)
        migrates = phase.get("auto_migrate_to_this_phase", phase.get("auto_migration", False))
        carried = _truth(migrates) and bool(before)
        raw: dict[str, Any] = {
            "key": unique(key_from(title, f"phase-{len(before) + 1}"), {p["key"] for p in before}),
            "title": title,
            "description": str(phase.get("description") or "").strip(),
            "start": start,
            "end": end,
            "kind": "final" if carried else "feedback",
            "accepts_uploads": not carried,
            "quota": quota,
            "shown": self._shown(phase),
        }
        if seconds:
            raw["budget"] = {"run": seconds}
        if carried:
            raw["entries"] = {"phase": before[-1]["key"]}
        self._notice(
            path,
            f"phase {title!r}: choose pools, protocol and number of tasks before it can take submissions",
        )
        return raw

    def _count(self, path: Path, phase: dict[Any, Any], *keys: str) -> int | None:
        for key in keys:
            value = phase.get(key)
            if value in (None, ""):
                continue
            number = _whole(value)
            if number is None or number < 0:
                self._problem((*path, key), f"a number of submissions is wanted, found {value!r}")
                return None
            if number == 0 and self.flavour is Flavour.CODABENCH_2:
                self._notice((*path, key), "0 means no limit there; taken over as no limit")
                return None
            return number
        return None

    def _seconds(self, path: Path, phase: dict[Any, Any]) -> float | None:
        for key, factor in (("execution_time_limit", 1.0), ("execution_time_limit_ms", 0.001)):
            value = phase.get(key)
            if value in (None, "", 0):
                continue
            number = _number(value, default=-1.0)
            if number <= 0:
                self._problem((*path, key), f"a time limit is wanted, found {value!r}")
                return None
            return number * factor
        return None

    def _shown(self, phase: dict[Any, Any]) -> dict[str, Any]:
        hidden = _truth(phase.get("hide_score_output", False))
        board = phase.get("leaderboard_management_mode") != "hide_results"
        logs = "nothing" if _truth(phase.get("hide_output", False)) else "meta_train"
        audience = "everyone" if board and not hidden else "organizers"
        return {"logs": logs, "scores": not hidden, "board": audience}


def _page_title(key: str) -> str:
    return key.replace("_", " ").strip().capitalize() if key.isascii() and key.islower() else key


def _entries(value: Any) -> list[tuple[int, dict[Any, Any]]]:
    return [
        (i, item) for i, item in enumerate(value if isinstance(value, list) else []) if isinstance(item, dict)
    ]


def _mapping(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _place(phase: dict[Any, Any]) -> float:
    return _number(phase.get("phasenumber", phase.get("index")))


def _truth(value: Any) -> bool:
    return value.strip().lower() in ("true", "yes", "1", "on") if isinstance(value, str) else bool(value)


def _number(value: Any, default: float = 0.0) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return default


def _whole(value: Any) -> int | None:
    number = _number(value, default=-0.5)
    return int(number) if float(number).is_integer() else None
