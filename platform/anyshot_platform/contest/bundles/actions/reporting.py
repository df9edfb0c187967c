"""What an import took over, what is left to do, what has no equivalent: kept in the audit log, read from there."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.codabench_report import Notice
from anyshot_platform.contest.bundles.reading import CompetitionBundle
from anyshot_platform.contest.bundles.schema import FILES
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.foundation.filters import count, decimal, join_texts
from anyshot_platform.people.audit.models import AuditEntry

IMPORT = "competition.import"


@dataclass(frozen=True)
class Todo:
    """Something that is left to do, on the page `place` of the organizers, like `/phases`; empty: on none."""

    words: str
    place: str


@dataclass(frozen=True)
class ImportReport:
    """The report of an import, in three groups."""

    format: str
    taken: list[str]
    todo: list[Todo]
    without_equivalent: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return asdict(self)


def report_on(bundle: CompetitionBundle, said: Iterable[str]) -> ImportReport:
    """The report on a bundle; `said` is what came up while its rows were made."""
    notices = bundle.without_equivalent
    left = [Todo(words, place) for words, place in _together(notices, to_do=True)]
    left += [Todo(words, "/phases") for words in said]
    lost = [words for words, _ in _together(notices, to_do=False)]
    return ImportReport(bundle.format, _taken(bundle), left, lost)


def _together(notices: Iterable[Notice], *, to_do: bool) -> list[tuple[str, str]]:
    """Each remark once, with all lines that it is about."""
    found: dict[tuple[str, str], list[Notice]] = {}
    for notice in notices:
        if bool(notice.place) == to_do:
            found.setdefault((notice.message, notice.place), []).append(notice)
    return [(join_texts((_where(rows), message), by=": "), place) for (message, place), rows in found.items()]


def _where(rows: list[Notice]) -> str:
    if rows[0].line == 0:
        return rows[0].path
    if len(rows) == 1:
        return f"line {rows[0].line}, {rows[0].path}"
    return f"lines {', '.join(str(row.line) for row in rows)}"


def _taken(bundle: CompetitionBundle) -> list[str]:
    spec = bundle.spec
    images = sum(name.startswith(FILES) for name in bundle.files)
    parts = [
        _named(count(len(spec.phases), "phase"), [phase.title for phase in spec.phases]),
        _named(count(len(spec.leagues), "league"), [league.title for league in spec.leagues]),
        count(len(spec.pages), "page") if spec.pages else "",
        "the terms" if spec.terms else "",
        "the logo" if spec.logo else "",
        ("1 file for the pages" if images == 1 else f"{decimal(images)} files for the pages")
        if images
        else "",
        _of_fact_sheet(len(spec.fact_sheet)) if spec.fact_sheet else "",
        count(len(spec.baselines), "baseline") if spec.baselines else "",
        count(len(spec.pools), "pool") if spec.pools and not bundle.taken else "",
        "the contact" if spec.contact else "",
        "the prizes" if spec.prizes else "",
    ]
    return [part for part in parts if part] + bundle.taken


def _named(counted: str, titles: list[str]) -> str:
    return join_texts((counted, ", ".join(titles)), by=": ")


def _of_fact_sheet(number: int) -> str:
    return "1 question of the fact sheet" if number == 1 else f"{decimal(number)} questions of the fact sheet"


def read_report(session: Session, competition: Competition) -> ImportReport | None:
    """The report of the import that made a competition; None where none was kept."""
    query = select(AuditEntry).where(AuditEntry.competition_id == competition.id, AuditEntry.action == IMPORT)
    entry = session.scalars(query.order_by(AuditEntry.id).limit(1)).one_or_none()
    kept = entry.after.get("report") if entry is not None else None
    if not kept:
        return None
    said = kept
    return ImportReport(**{**said, "todo": [Todo(**todo) for todo in said["todo"]]})
