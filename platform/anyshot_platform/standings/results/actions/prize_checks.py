"""What organizers look at before prizes are published: ties, and teams whose code is the same or nearly so."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.foundation.filters import score
from anyshot_platform.foundation.isolated_parsing.service import Busy, ConfinedFault, TooCostly, run_confined
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage, as_file
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.standings.leaderboards.reading import BoardPlace, group_equal
from anyshot_platform.standings.results.awards import in_words, share_prizes

log = logging.getLogger(__name__)

NEARLY = 0.8  # of the token sequences of the shorter code; methods of one family share less
Boards = Sequence[tuple[League, Sequence[BoardPlace]]]


def find_ties(boards: Boards) -> Iterator[str]:
    """A sentence for each tie that decides on a prize: who was ranked first by the moment of submission."""
    for league, places in boards:
        cents = share_prizes([place.rank or 0 for place in places], league.awards)
        prizes = {place.row.id: amount for place, amount in zip(places, cents, strict=True)}
        for tied in group_equal(places):
            if len(tied) > 1 and (tied[0].rank or 0) <= _prizes(league):
                named = "; ".join(_in_tie(place, prizes[place.row.id], league) for place in tied)
                yield (
                    f"{league.name}: {len(tied)} teams tie with {score(tied[0].row.value)}. "
                    f"The earlier submission is ranked first: {named}."
                )


def _in_tie(place: BoardPlace, cents: int, league: League) -> str:
    moment = moment_words(place.row.submitted_at, "milliseconds")
    prize = f", {in_words(cents, league.currency)}" if cents else ""
    return f"{place.rank}. “{place.name}”, submitted {moment}{prize}"


def _prizes(league: League) -> int:
    """How many ranks of a league win something."""
    return len(league.awards) or int(bool(league.prizes))


@dataclass(frozen=True)
class _Code:
    """What the zip of a team is compared by."""

    team: str
    files: str
    sequences: frozenset[int]


def ask_about_code(session: Session, boards: Boards) -> Iterator[str]:
    """A question for each two teams on ranks with prizes whose code is the same or nearly so.

    It is for people to answer: who starts from the same public code wins with similar code.
    """
    known: dict[tuple[str, str], _Code] = {}
    for place in (one for league, places in boards for one in places if (one.rank or 0) <= _prizes(league)):
        digest = session.get_one(Submission, place.row.submission_id).digest
        if (place.name, digest) not in known:
            try:
                found = _fingerprint(session.info[STORAGE_KEY], digest)
            except (TooCostly, Busy, ConfinedFault, FileNotFoundError):  # a hint holds no publication up
                log.warning(
                    "the code of submission %s was not compared", place.row.submission_id, exc_info=True
                )
                yield f"The code of “{place.name}” could not be compared with that of others."
                found = ("", frozenset())
            known[place.name, digest] = _Code(place.name, *found)
    for one, other in combinations(known.values(), 2):
        if one.team != other.team and (words := _compare(one, other)):
            yield words


def _compare(one: _Code, other: _Code) -> str:
    teams = f"“{one.team}” and “{other.team}”"
    if one.files and one.files == other.files:
        return f"Did {teams} work on their own? Their zips hold the same files."
    shorter = min(len(one.sequences), len(other.sequences))
    share = len(one.sequences & other.sequences) / shorter if shorter else 0.0
    if share < NEARLY:
        return ""
    return (
        f"Did {teams} work on their own? {share:.0%} of the shorter Python code is in the other too, whatever names "
        "and numbers it uses. Code that both took from the same public source counts."
    )


@lru_cache(maxsize=256)
def _fingerprint(storage: Storage, digest: str) -> tuple[str, frozenset[int]]:
    with as_file(storage, digest) as path:
        found = run_confined("likeness", path=str(path))
    return found["files"], frozenset(found["sequences"])
