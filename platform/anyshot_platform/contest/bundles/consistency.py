"""What makes no sense across the fields of a competition: one judge for imports, every save, drafts and publication.

An error keeps a competition from working as it says; a warning is what its organizers should know.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from anyshot_core.evaluations import read_evaluations
from anyshot_core.evaluations.needs import require_scorable
from anyshot_core.exports.requests import snapshot_points
from anyshot_core.protocols import BaseNovel, ClassSide, ProtocolError, Roles, protocol_from_dict
from anyshot_core.zones import find_zone
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.states import BoardShows
from anyshot_platform.foundation.filters import count
from anyshot_platform.foundation.schema.quantities import write_duration, write_size
from anyshot_platform.foundation.zones import place, words_on_skipped, words_on_zone, zone_written
from anyshot_scoring.rules import RULES

Path = tuple[str | int, ...]
_TESTED = "protocol"
PROTOCOL_ROLES = (_TESTED, "train_protocol", "validation_protocol")
SEEDS_OF_RUNS = ("train_seeds", "test_seeds")
_FIRST_YEAR, _LAST_YEAR = 1971, 8999  # what databases and calendars everywhere can hold
_LARGE_MEMORY = 4 << 40
_BY_SCORE = (BoardShows.BEST, BoardShows.LAST_ABOVE_GATE)
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_DOMAIN = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")


@dataclass(frozen=True)
class SenseFinding:
    """One thing that makes no sense, at its place in the description."""

    path: Path
    words: str
    error: bool = True

    @property
    def field(self) -> str:
        """The place as a form names it: `budget.run`."""
        return ".".join(map(str, self.path))


def judge_phase(spec: PhaseSpec, home: str = "UTC") -> Iterator[SenseFinding]:
    """What is wrong or odd in a phase by itself; `home` is the time zone of one that names none."""
    yield from _times(spec, home)
    yield from _scoring(spec)
    yield from _tasks(spec)
    yield from _budgets(spec)
    if spec.machine.memory > _LARGE_MEMORY:
        words = f"{write_size(spec.machine.memory)} of memory: no machine has that much."
        yield SenseFinding(("machine", "memory"), words)
    if spec.machine.gpus and spec.machine.hardware == "cpu":
        words = "The hardware class is cpu, and GPUs are wanted: choose a class that has some."
        yield SenseFinding(("machine", "gpus"), words, error=False)
    yield from _quotas(spec)
    for index, gate in enumerate(spec.entries.gates if spec.entries else ()):
        if not is_gate(gate.score):
            yield SenseFinding(("entries", "gates", index, "score"), words_on_gate(gate.score))


def _times(spec: PhaseSpec, home: str) -> Iterator[SenseFinding]:
    zone = find_zone(spec.timezone or home)
    if zone is None:
        if spec.timezone:  # a wrong one of the competition is said once
            yield SenseFinding(("timezone",), words_on_zone(spec.timezone))
        return
    for name, moment in (("start", spec.start), ("end", spec.end), ("late_until", spec.late_until)):
        if moment and (words := words_on_moment(moment, zone)):
            yield SenseFinding((name,), words)
    if spec.end and (words := words_on_order(spec.start, spec.end, zone)):
        yield SenseFinding(("end",), words)
    if spec.late_until and (words := words_on_late(spec.end, spec.late_until, zone)):
        yield SenseFinding(("late_until",), words)


def words_on_moment(moment: datetime, zone: tzinfo) -> str:
    """Why nothing can begin or end then; empty where it can."""
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        return f"This must be a moment between {_FIRST_YEAR} and {_LAST_YEAR}."
    return words_on_skipped(moment, zone)


def words_on_order(start: datetime, end: datetime, zone: tzinfo) -> str:
    """Why these are no start and end; empty where they are, or where one of them cannot be."""
    if words_on_moment(start, zone) or words_on_moment(end, zone):
        return ""
    return "" if place(end, zone) > place(start, zone) else "The phase ends before it starts."


def words_on_late(end: datetime | None, until: datetime, zone: tzinfo) -> str:
    """Why no late submissions can be taken until then; empty where they can."""
    if end is None:
        return "A phase without an end has no late submissions."
    if words_on_moment(end, zone) or words_on_moment(until, zone) or place(until, zone) > place(end, zone):
        return ""
    return "Late submissions are taken after the end of the phase: this must be a later moment."


def place_phase(spec: PhaseSpec, home: str) -> PhaseSpec:
    """The phase with its moments in UTC; it keeps the zone that its end was written in, where that is not `home`."""
    zone = find_zone(spec.timezone or home) or UTC
    kept = spec.timezone or zone_written(spec.end or spec.start, home)
    moments = {
        name: place(moment, zone) if moment else None
        for name, moment in (("start", spec.start), ("end", spec.end), ("late_until", spec.late_until))
    }
    return spec.model_copy(update=moments | {"timezone": spec.timezone if kept == home else kept})


def _scoring(spec: PhaseSpec) -> Iterator[SenseFinding]:
    if words := words_on_ranking(spec.scoring.ranking):
        yield SenseFinding(("scoring", "ranking"), words)
    if spec.scoring.board_shows in _BY_SCORE and (not spec.shown.scores or spec.shown.after_publishing):
        words = (
            "Teams do not see their scores, and scores decide which of their submissions "
            "counts: which one it is they are not told either."
        )
        yield SenseFinding(("scoring", "board_shows"), words, error=False)
    for name in SEEDS_OF_RUNS:
        if words := words_on_seeds(getattr(spec.tasks, name), spec.scoring.runs):
            yield SenseFinding(("tasks", name), words)


def words_on_ranking(name: str) -> str:
    """Why this is no ranking rule; empty where it is one."""
    known = ", ".join(RULES)
    return "" if name in RULES else f"There is no rule {name}; there are {known}."


def words_on_seeds(seeds: Sequence[object] | None, runs: int) -> str:
    """Why these are not the seeds of an entry's runs; empty where they are, or none are given."""
    if not seeds or len(seeds) == runs:
        return ""
    return (
        f"{count(len(seeds), 'seed')} for {count(runs, 'run')} of an entry: give one a run, or "
        "none; then they are drawn."
    )


def _tasks(spec: PhaseSpec) -> Iterator[SenseFinding]:
    """The protocols, and what snapshots and further evaluations need of them."""
    tasks, readable = spec.tasks, True
    for role in PROTOCOL_ROLES:
        if words := words_on_protocol(getattr(tasks, role), role):
            readable = False
            yield SenseFinding(("tasks", role), words)
    if not tasks.protocol or not readable:
        return
    roles = _roles(spec)
    for evaluation in read_evaluations(tasks.evaluations):
        try:
            evaluation.points(roles, ())
        except ProtocolError as error:
            yield SenseFinding(("tasks", "evaluations"), str(error))
    if tasks.snapshots:
        try:
            snapshot_points(roles)
        except ProtocolError as error:
            yield SenseFinding(("tasks", "snapshots"), str(error))


def words_on_protocol(named: Mapping[str, Any] | None, role: str) -> str:
    """Why this is no protocol for that role, one of `PROTOCOL_ROLES`; empty where it is one, or none is named."""
    if not named:
        return ""
    try:
        protocol = protocol_from_dict(dict(named))
        if isinstance(protocol, BaseNovel):
            ClassSide(shares=protocol.shares)  # refuses what base_novel finds out with the first task alone
        if role == _TESTED:
            require_scorable(protocol)
    except (ProtocolError, ValueError, TypeError, KeyError) as error:
        return not_a_protocol(error)
    return ""


def not_a_protocol(error: Exception) -> str:
    """What is said of a protocol that core refuses."""
    return f"Not a task protocol: {error!s}"


def _roles(spec: PhaseSpec) -> Roles:
    tasks = spec.tasks
    named = (tasks.train_protocol, tasks.validation_protocol)
    train, validation = (protocol_from_dict(one) if one else None for one in named)
    return Roles(protocol_from_dict(tasks.protocol), train, validation)


def is_gate(score: float) -> bool:
    """Whether a score can be one: accuracies lie between 0 and 1."""
    return 0 <= score <= 1


def words_on_gate(score: float) -> str:
    """Why a score is no gate."""
    return f"A gate is a score between 0 and 1; found {score:g}."


def _budgets(spec: PhaseSpec) -> Iterator[SenseFinding]:
    run, shared = spec.budget.run, not spec.budget.each_dataset
    for name, part in (("meta_train", "meta-training"), ("task", "one task")):
        seconds = getattr(spec.budget, name)
        if seconds is not None and seconds > run and shared:
            words = (
                f"{write_duration(seconds)} for {part} are more than the {write_duration(run)} "
                "of the whole run."
            )
            yield SenseFinding(("budget", name), words)
    if spec.smoke.pool and spec.smoke.budget > run:
        words = f"A smoke test may last {write_duration(spec.smoke.budget)}, a run {write_duration(run)}."
        yield SenseFinding(("smoke", "budget"), words)
    if spec.budget.each_dataset and not spec.tasks.each_dataset:
        words = "The times are for each dataset, but the phase does not train dataset by dataset."
        yield SenseFinding(("budget", "each_dataset"), words, error=False)


def _quotas(spec: PhaseSpec) -> Iterator[SenseFinding]:
    quota = spec.quota
    if not spec.accepts_uploads:
        return
    if 0 in (quota.per_day, quota.total, quota.running):
        words = "With a quota of 0 nobody can submit; pause the phase instead."
        yield SenseFinding(("quota",), words, error=False)
    if quota.per_day is not None and quota.total is not None and quota.per_day > quota.total > 0:
        words = f"{quota.per_day} a day are more than the {quota.total} of the whole phase."
        yield SenseFinding(("quota", "per_day"), words, error=False)
    if quota.per_day is None and quota.total is None:
        yield SenseFinding(("quota",), "Neither a day nor the phase has a quota.", error=False)


def judge_circles(feeds: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Phases that feed each other in a circle, each with words; `feeds` is phase to the phase of its entries."""
    for start in feeds:
        way = [start]
        while (source := feeds.get(way[-1])) is not None and source not in way:
            way.append(source)
        if source == start and len(way) > 1:
            yield (
                start,
                f"These phases take their entries from each other: {', '.join(way)}.",
            )


def judge_people(
    contact: str, domains: Iterable[str], questions: Iterable[Mapping[str, object]]
) -> Iterator[SenseFinding]:
    """What is wrong with a contact, the domains of addresses, the questions of the fact sheet."""
    if contact and _MAIL.fullmatch(contact) is None:
        yield SenseFinding(("contact",), f"This is no e-mail address: {contact[:80]}.")
    for domain in domains:
        if _DOMAIN.fullmatch(domain) is None:
            words = f"“{domain[:80]}” is no domain; write it like example.org. Nobody could join."
            yield SenseFinding(("email_domains",), words)
    keys = Counter(str(question["key"]) for question in questions)
    if "" in keys:
        words = "Each question of the fact sheet needs a key: write it as key: question."
        yield SenseFinding(("fact_sheet",), words)
    for key, times in keys.items():
        if key and times > 1:
            words = f"The key {key} stands {times} times in the fact sheet."
            yield SenseFinding(("fact_sheet",), words)


def judge(spec: CompetitionSpec) -> Iterator[SenseFinding]:
    """Everything that makes no sense in a whole competition."""
    for index, phase in enumerate(spec.phases):
        for found in judge_phase(phase, spec.timezone):
            yield SenseFinding(("phases", index, *found.path), found.words, found.error)
    feeds = {phase.key: phase.entries.phase for phase in spec.phases if phase.entries}
    places = {phase.key: index for index, phase in enumerate(spec.phases)}
    for key, words in judge_circles(feeds):
        yield SenseFinding(("phases", places[key], "entries", "phase"), words)
    yield from judge_people(spec.contact, spec.email_domains, [q.model_dump() for q in spec.fact_sheet])
