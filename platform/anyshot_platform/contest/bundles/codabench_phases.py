"""Phases of a foreign bundle: order, dates, quotas, limits, what is shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from anyshot_platform.contest.bundles.codabench_columns import shown_boards
from anyshot_platform.contest.bundles.codabench_dates import UnclearDate, read_date
from anyshot_platform.contest.bundles.codabench_keys import (
    DEFAULTS_2,
    DEFAULTS_15,
    PHASE_READ,
    PHASE_WITHOUT_EQUIVALENT,
    RULE_2,
    RULES_2,
    SEVERAL_2,
    UNKNOWN,
)
from anyshot_platform.contest.bundles.codabench_order import orders_of, ranking_of
from anyshot_platform.contest.bundles.codabench_report import (
    Flavour,
    Reporter,
    entries,
    is_true,
    number_of,
    whole_of,
)
from anyshot_platform.contest.bundles.foreign_data import input_data_of
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.bundles.yaml_lines import Path

_MIGRATES = ("auto_migrate_to_this_phase", "auto_migration")
_LIMITS = ("execution_time_limit", "execution_time_limit_ms")


@dataclass
class PhasesConversion:
    """Converts the phases, and reports what it leaves out."""

    report: Reporter
    input_data: dict[str, str] = field(default_factory=dict)  # by the key of a phase
    ranking: str | None = None  # of all phases, where the order of a board has one of ours

    def convert(self) -> list[dict[str, Any]]:
        """The phases as a bundle of ours describes them, in their order."""
        found = self._sorted_phases()
        if not found:
            self.report.problem(("phases",), "the competition has no phases")
        self._take_order()
        dates = [self._dates(path, phase) for path, phase in found]
        phases: list[dict[str, Any]] = []
        for index, (path, phase) in enumerate(found):
            start, end = dates[index]
            if end is None:
                end = self._end_of_following(start, [other for other, _ in dates])
            phases.append(self._phase(path, phase, start, end, phases))
        self._say_whether_over(phases)
        return phases

    def _take_order(self) -> None:
        """The ranking that keeps the order of the boards; says where it is another one here."""
        v2 = self.report.flavour is Flavour.CODABENCH_2
        orders = list(orders_of(shown_boards(self.report.data, v2=v2), v2=v2))
        self.ranking = ranking_of(orders)
        for order in orders:
            if order.words:
                self.report.notice(order.path, order.words, "/phases")

    def _say_whether_over(self, phases: list[dict[str, Any]]) -> None:
        ends = [phase["end"] for phase in phases]
        if phases and None not in ends and max(ends) < datetime.now(UTC):
            words = "all phases are over: move their dates, or copy the competition with another start"
            self.report.notice(("phases",), words, "/phases")

    def _end_of_following(self, start: datetime, starts: list[datetime]) -> datetime | None:
        """When a phase without an end is over: as the next one starts, or parallel ones with the competition."""
        later = [other for other in starts if other > start]
        if later:
            return min(later)
        end = (
            self._date((), self.report.data, "end_date")
            if self.report.flavour is Flavour.CODALAB_15
            else None
        )
        return end if end and end > start else None

    def _sorted_phases(self) -> list[tuple[Path, dict[Any, Any]]]:
        raw = self.report.data.get("phases")
        items: Iterable[tuple[str | int, Any]] = (
            raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
        )
        found = [(("phases", key), phase) for key, phase in items if isinstance(phase, dict)]
        children = [item for item in found if not is_true(item[1].get("is_parallel_parent", False))]
        for path, _ in found:
            if len(children) < len(found) and all(path != kept for kept, _ in children):
                self.report.notice(path, "a parent of parallel phases; its children became phases")
        return sorted(
            children or found, key=lambda item: number_of(item[1].get("phasenumber", item[1].get("index")))
        )

    def _dates(self, path: Path, phase: dict[Any, Any]) -> tuple[datetime, datetime | None]:
        start = self._date(path, phase, "start", "start_date")
        if start is None:
            self.report.notice(path, "has no start; it starts when it is imported")
            start = datetime.now(UTC).replace(microsecond=0)
        end = self._date(path, phase, "end", "end_date")
        if end and end <= start:
            end = start + timedelta(days=1)
            words = f"the phase would end as it starts; its end became {end}"
            self.report.notice((*path, "end"), words)
        return start, end

    def _date(self, path: Path, phase: dict[Any, Any], *keys: str) -> datetime | None:
        for key in keys:
            value = phase.get(key)
            if value in (None, "", "null", "None"):
                continue
            try:
                moment, remark = read_date(value)
            except UnclearDate as error:
                self.report.problem((*path, key), str(error))
                return None
            if remark:
                self.report.notice((*path, key), remark)
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
                self.report.notice((*path, key), why)
            elif why is None and str(key) not in PHASE_READ:
                self.report.notice((*path, key), UNKNOWN)
        title = str(phase.get("name") or phase.get("label") or f"Phase {len(before) + 1}").strip()[:200]
        quota = {
            "per_day": self._count(path, phase, "max_submissions_per_day"),
            "total": self._count(path, phase, "max_submissions_per_person", "max_submissions"),
        }
        seconds = self._seconds(path, phase)
        migrates = next((phase[key] for key in _MIGRATES if key in phase), False)
        carried = is_true(migrates) and bool(before)
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
        if data := input_data_of(self.report.data, phase):
            self.input_data[raw["key"]] = data
        rule = self._rule(path, phase) | ({"ranking": self.ranking} if self.ranking else {})
        if rule:
            raw["scoring"] = rule
        if seconds:
            raw["budget"] = {"run": seconds}
        if carried:
            raw["entries"] = {"phase": before[-1]["key"]}
            self._say_carried(path, phase, before[-1]["title"])
        self.report.notice(
            path,
            "choose pools, protocol and number of tasks before a phase can take submissions",
            "/phases",
        )
        return raw

    def _say_carried(self, path: Path, phase: dict[Any, Any], source: str) -> None:
        key = next(key for key in _MIGRATES if key in phase)
        words = (
            f"takes no uploads here: what counts in {source!r} comes over as you launch "
            "the phase; it took uploads too there, which its editor can turn on"
        )
        self.report.notice((*path, key), words, "/phases")

    def _count(self, path: Path, phase: dict[Any, Any], *keys: str) -> int | None:
        for key in keys:
            value = phase.get(key, self._default(key, phase, keys))
            if value in (None, ""):
                continue
            number = whole_of(value)
            if number is None or number < 0:
                words = f"expected a number of submissions, found {value!r}"
                self.report.problem((*path, key), words)
                return None
            if number == 0 and self.report.flavour is Flavour.CODABENCH_2:
                self.report.notice((*path, key), "0 means no limit there; taken over as no limit")
                return None
            return number
        return None

    def _default(self, key: str, phase: dict[Any, Any], keys: tuple[str, ...]) -> int | None:
        """What the other platform takes where a phase has none of the keys."""
        known = DEFAULTS_2 if self.report.flavour is Flavour.CODABENCH_2 else DEFAULTS_15
        return None if any(name in phase for name in keys) else known.get(key)

    def _seconds(self, path: Path, phase: dict[Any, Any]) -> float | None:
        """How long a run may last; empty or 0, it is what the other platform takes where nothing is said."""
        for key, factor in zip(_LIMITS, (1.0, 0.001), strict=True):
            value = phase.get(key)
            if value in (None, "", 0):
                continue
            number = number_of(value, default=-1.0)
            if number <= 0:
                words = f"expected a time limit, found {value!r}"
                self.report.problem((*path, key), words)
                return None
            return number * factor
        return self._default("execution_time_limit", {}, _LIMITS)

    def _rule(self, path: Path, phase: dict[Any, Any]) -> dict[str, Any]:
        """Whose submission stands on the board: by the rule of the leaderboards, or the flags of CodaLab."""
        if is_true(phase.get("force_best_submission_to_leaderboard", False)):
            return {"board_shows": "best"}
        if self.report.flavour is Flavour.CODALAB_15:
            forced = is_true(self.report.data.get("force_submission_to_leaderboard", False))
            return {"board_shows": "last"} if forced or _is_blind(phase) else {"team_chooses": True}
        rules = self._rules()
        self._say_rules(path, rules)
        return dict(RULES_2.get(rules[0], {})) if rules else {}

    def _say_rules(self, path: Path, rules: list[str]) -> None:
        """Where the rules of the boards do not all become the one rule of a phase here."""
        if len(set(rules)) > 1 or not set(rules) <= set(RULES_2):
            named = ", ".join(sorted(rule.title() for rule in set(rules)))
            words = f"boards follow the rules {named}; look at what counts here"
            self.report.notice(path, words, "/phases")
        if SEVERAL_2 & set(rules):
            words = (
                "several submissions of a participant stand on the board there; here it is one of each team"
            )
            self.report.notice(path, words, "/phases")

    def _boards(self) -> list[tuple[int, dict[Any, Any]]]:
        return entries(self.report.data.get("leaderboards"))

    def _rules(self) -> list[str]:
        """The rules of the boards that become leagues here, in their order."""
        boards = [board for _, board in self._boards()]
        shown = [board for board in boards if not is_true(board.get("hidden", False))] or boards
        return [str(board.get("submission_rule") or RULE_2).lower() for board in shown]

    def _hides_boards(self) -> bool:
        """Whether every leaderboard is hidden there: then organizers alone see the boards here."""
        boards = [board for _, board in self._boards()]
        return bool(boards) and all(is_true(board.get("hidden", False)) for board in boards)

    def _shown(self, phase: dict[Any, Any]) -> dict[str, Any]:
        blind = _is_blind(phase)
        logs = "nothing" if is_true(phase.get("hide_output", False)) else "meta_train"
        audience = "organizers" if blind or self._hides_boards() else "everyone"
        return {"logs": logs, "scores": not blind, "board": audience}


def _is_blind(phase: dict[Any, Any]) -> bool:
    """Whether participants see neither the board nor their own scores, as CodaLab has it."""
    return phase.get("leaderboard_management_mode") == "hide_results"
