"""Values in the pages of a competition: `{{ phases.feedback.end }}` is what the settings say at this moment.

Only names of the table in docs/organizers/pages.md are values; every other pair of braces is text. No value is secret:
they are what the pages of phases and leagues show anyway.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from anyshot_core.words import count_of, deadline_words, in_utc, moment_words
from anyshot_platform.contest.leagues.description import LeagueSpec
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.foundation.filters import count, duration, join_texts, size

ROOTS = ("competition", "phases", "quota", "gates", "leagues")
_VALUE = re.compile(r"\{\{\s*((?:" + "|".join(ROOTS) + r")\.[A-Za-z0-9_.-]+)\s*\}\}")
_OPEN = "no date is set"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")


def has_values(text: str) -> bool:
    """Whether a text names any value."""
    return _VALUE.search(text) is not None


def fill(text: str, values: Mapping[str, str]) -> str:
    """The Markdown with every value in the place of its name; an unknown name stays as it is written.

    What is put in reads as text: no name of a phase or league becomes a heading, a link or HTML.
    """

    def put(found: re.Match[str]) -> str:
        value = values.get(found[1])
        return found[0] if value is None else _SPECIAL.sub(r"\\\1", value)

    return _VALUE.sub(put, text)


def unknown_in(text: str, values: Mapping[str, str]) -> list[str]:
    """What is wrong with the names in a text, as sentences that propose the nearest name."""
    names = dict.fromkeys(found[1] for found in _VALUE.finditer(text))
    return [_unknown(name, values) for name in names if name not in values]


def _unknown(name: str, values: Mapping[str, str]) -> str:
    near = difflib.get_close_matches(name, values, 1, 0.6)
    said = f"There is no value {{{{ {name} }}}}."
    return join_texts((said, f"Did you mean {{{{ {near[0]} }}}}?" if near else ""))


def values_of(
    phases: Iterable[PhaseSpec],
    leagues: Iterable[LeagueSpec],
    *,
    title: str = "",
    contact: str = "",
    team_size: int = 1,
) -> dict[str, str]:
    """The values of a competition by name; the moments of its phases are aware or in UTC."""
    listed = list(phases)
    values = {
        "competition.title": title,
        "competition.contact": contact or "the organizers",
        "competition.team_size": str(team_size),
    }
    for phase in listed:
        values |= {f"phases.{phase.key}.{name}": value for name, value in _of_phase(phase)}
        for gate in phase.entries.gates if phase.entries else ():
            values[f"gates.{phase.key}.{gate.league}"] = f"{gate.score:g}"
    for phase in reversed([phase for phase in listed if phase.accepts_uploads]):
        values |= {
            f"quota.{name}": values[f"phases.{phase.key}.{name}"] for name in ("per_day", "total", "running")
        }
    for league in leagues:
        values[f"leagues.{league.key}.name"] = league.title
        values[f"leagues.{league.key}.prizes"] = _prizes(league)
    return values


def _of_phase(phase: PhaseSpec) -> Iterator[tuple[str, str]]:
    yield "name", phase.title
    yield "start", moment_words(phase.start)
    yield "end", deadline_words(phase.end, phase.timezone or "UTC") if phase.end else _OPEN
    yield "dates", _dates(phase.start, phase.end)
    yield "tasks", f"{phase.tasks.count:,}"
    yield "runs", str(phase.scoring.runs)
    yield "time", duration(phase.budget.run)
    yield "task_time", duration(phase.budget.task) if phase.budget.task else "no limit"
    yield "machine", _machine(phase)
    yield "per_day", _limit(phase.quota.per_day)
    yield "total", _limit(phase.quota.total)
    yield "running", _limit(phase.quota.running)
    yield "smoke_tasks", str(phase.smoke.tasks)
    yield "smoke_time", duration(phase.smoke.budget)


def _machine(phase: PhaseSpec) -> str:
    machine = phase.machine
    gpus = count(machine.gpus, "GPU") if machine.gpus else "no GPU"
    return f"{count_of(machine.cpus, 'core')}, {gpus}, {size(machine.memory)} memory"


def _limit(number: int | None) -> str:
    return "no limit" if number is None else f"{number:,}"


def _day(moment: datetime) -> str:
    return f"{moment:%B} {moment.day}"


def _dates(start: datetime, end: datetime | None) -> str:
    """`July 1 to August 31, 2022`: the last day is the one on which the phase still is open."""
    first = in_utc(start)
    if end is None:
        return f"from {_day(first)}, {first.year}"
    last = in_utc(end) - timedelta(microseconds=1)
    if first.date() == last.date():
        return f"{_day(first)}, {first.year}"
    year = "" if first.year == last.year else f", {first.year}"
    return f"{_day(first)}{year} to {_day(last)}, {last.year}"


def _prizes(league: LeagueSpec) -> str:
    """Its amounts, and what its text adds."""
    return ". ".join(part for part in (_amounts(league), league.prizes) if part) or "no prizes"


def _amounts(league: LeagueSpec) -> str:
    if league.awards is None or not league.awards.amounts:
        return ""
    amounts = [f"{amount:,g}" for amount in league.awards.amounts]
    joined = amounts[0] if len(amounts) == 1 else f"{', '.join(amounts[:-1])} and {amounts[-1]}"
    return f"{joined} {league.awards.currency}"
