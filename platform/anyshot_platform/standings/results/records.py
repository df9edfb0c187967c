"""Published results are a record: stored as they were published, and changed by organizers alone, with a reason.

Each version holds the rows of every league, the people of each entry and their shares. Boards go on following scores,
answers and teams; the newest version is what everybody sees until the organizers correct it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import decimal_words
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import AwardSplit
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.results.awards import in_words
from anyshot_platform.standings.results.models import PublishedResults
from anyshot_platform.standings.results.reading import LeagueResults, ResultRow, Share, compute_results

_LEAGUE = ("id", "slug", "name", "currency", "awards", "prizes")
_OF_NOW = ("card", "code_public", "own")  # what a viewer sees beside the record


@dataclass(frozen=True)
class ResultChange:
    """What would be otherwise in a row of published results, in words, and who is told of it."""

    words: str
    people: tuple[str, ...]  # ids of users


def results_in_force(session: Session, phase: Phase) -> list[LeagueResults]:
    """The results as they were published, or corrected since; before they are, as the boards stand."""
    record = newest_version(session, phase) if publication_of(phase).published is not None else None
    return _unpack(record) if record is not None else compute_results(session, phase)


def list_versions(session: Session, phase: Phase) -> list[PublishedResults]:
    """The versions of a phase's published results, the first one first."""
    query = select(PublishedResults).where(PublishedResults.phase_id == phase.id)
    return list(session.scalars(query.order_by(PublishedResults.number)))


def newest_version(session: Session, phase: Phase) -> PublishedResults | None:
    """What was published last."""
    return next(reversed(list_versions(session, phase)), None)


def changes_of(session: Session, phase: Phase) -> list[ResultChange]:
    """What would change in the published results of a phase if they were published as the boards stand now."""
    return list(difference(results_in_force(session, phase), compute_results(session, phase)))


def record(session: Session, phase: Phase, reason: str = "") -> list[ResultChange]:
    """Store the results as the boards stand now, unless that changes nothing; returns what it changes."""
    last, now = newest_version(session, phase), compute_results(session, phase)
    changes = list(difference(_unpack(last), now)) if last is not None else []
    if last is None or changes:
        version = PublishedResults(
            phase_id=phase.id,
            number=last.number + 1 if last is not None else 1,
            leagues=[_pack(found) for found in now],
            reason=reason.strip(),
        )
        session.add(version)
        session.flush()
    return changes


def correct(session: Session, phase: Phase, reason: str) -> list[ResultChange]:
    """Record the results as the boards stand now, and tell the people of each row that changes; returns the changes."""
    changes = record(session, phase, reason)
    competition = session.get_one(Competition, phase.competition_id)
    told: dict[str, list[str]] = {}
    for change in changes:
        for user_id in change.people:
            told.setdefault(user_id, []).append(change.words)
    for user_id, words in told.items():
        notify(
            session,
            [user_id],
            kind="phase",
            title=f"{competition.title}: the organizers changed the published results of {phase.name}",
            body="\n".join([*words, reason.strip()]),
            url=f"/competitions/{competition.slug}/results?phase={phase.slug}",
            about=competition.id,
        )
    return changes


def difference(before: Sequence[LeagueResults], after: Sequence[LeagueResults]) -> Iterator[ResultChange]:
    """What differs between two results: names of leagues, then row by row."""
    names = {found.league.id: found.league.name for found in before}
    for found in after:
        if (name := names.get(found.league.id, found.league.name)) != found.league.name:
            people = tuple(dict.fromkeys(one.user_id for row in found.rows for one in row.people))
            yield ResultChange(f"The league “{name}” is called “{found.league.name}”.", people)
    old, new = _by_row(before), _by_row(after)
    for key in {**old, **new}:
        league, was = old.get(key, (None, None))
        league, is_now = new.get(key, (league, None))
        if league is not None and (words := _words(league, was, is_now)):
            known = (*(was.people if was else ()), *(is_now.people if is_now else ()))
            people = tuple(dict.fromkeys(one.user_id for one in known))
            yield ResultChange(f"{league.name}: {words}.", people)


def _by_row(results: Sequence[LeagueResults]) -> dict[tuple[str, str], tuple[League, ResultRow]]:
    return {(found.league.id, row.key): (found.league, row) for found in results for row in found.rows}


def _words(league: League, was: ResultRow | None, is_now: ResultRow | None) -> str:
    """How one row differs; empty where it does not."""
    if was is None or is_now is None:
        row = was or is_now
        verb = "leaves the results" if is_now is None else "comes into the results"
        return f"“{row.team}” {verb} ({_place(league, row)})" if row is not None else ""
    parts = []
    if was.team != is_now.team:
        parts.append(f"is called “{is_now.team}”")
    if (was.rank, was.cents) != (is_now.rank, is_now.cents):
        parts.append(f"has {_place(league, is_now)} instead of {_place(league, was)}")
    if was.score != is_now.score:
        parts.append(f"has the score {decimal_words(is_now.score)} instead of {decimal_words(was.score)}")
    elif was.submission_id != is_now.submission_id:
        parts.append("stands with another submission")
    if _ids(was.people) != _ids(is_now.people):
        parts.append(f"is shared by {_names(is_now)} instead of {_names(was)}")
    elif was.people != is_now.people and was.cents == is_now.cents and _cents(was) != _cents(is_now):
        parts.append("divides its prize otherwise")
    return f"“{was.team}” {', '.join(parts)}" if parts else ""


def _place(league: League, row: ResultRow) -> str:
    rank = f"rank {row.rank}" if row.rank is not None else "no rank"
    return f"{rank} and {in_words(row.cents, league.currency)}" if row.cents else rank


def _ids(people: Sequence[Share]) -> list[str]:
    return sorted(one.user_id for one in people)


def _cents(row: ResultRow) -> dict[str, int]:
    return {one.user_id: one.cents for one in row.people}


def _names(row: ResultRow) -> str:
    return ", ".join(row.members) or "nobody"


def _pack(found: LeagueResults) -> dict[str, Any]:
    rows = [{name: value for name, value in asdict(row).items() if name not in _OF_NOW} for row in found.rows]
    league = {name: getattr(found.league, name) for name in _LEAGUE}
    return {**league, "award_split": found.league.award_split.value, "rows": rows}


def _unpack(version: PublishedResults) -> list[LeagueResults]:
    return [
        LeagueResults(
            League(**{name: kept[name] for name in _LEAGUE}, award_split=AwardSplit(kept["award_split"])),
            tuple(
                ResultRow(**{**row, "people": tuple(Share(**one) for one in row["people"])})
                for row in kept["rows"]
            ),
        )
        for kept in version.leagues
    ]


def forget_name(session: Session, user: User) -> None:
    """Take a person's name out of all published results, with their account; their pseudonym takes its place."""
    for version in session.scalars(select(PublishedResults)):
        results = _unpack(version)
        if any(one.user_id == user.id for found in results for row in found.rows for one in row.people):
            version.leagues = [_pack(_without_name(found, user)) for found in results]


def _without_name(found: LeagueResults, user: User) -> LeagueResults:
    def renamed(row: ResultRow) -> ResultRow:
        people = (replace(one, name=user.username) if one.user_id == user.id else one for one in row.people)
        return replace(row, people=tuple(people))

    return replace(found, rows=tuple(map(renamed, found.rows)))
