"""The publication of a final phase: its results and, where asked, the winners' code."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.words import moment_words
from anyshot_platform.contest.competitions.messages import members_of, members_of_team
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import live_version, status_of
from anyshot_platform.contest.phases.states import Audience, PhaseStatus
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.filters import decimal, interval, join_texts, score
from anyshot_platform.foundation.isolated_parsing.service import Busy, ConfinedFault, TooCostly, run_confined
from anyshot_platform.foundation.storage import STORAGE_KEY, Storage, as_file
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.phases import publication_of
from anyshot_platform.judging.visibility.published_code import list_published, with_public_code
from anyshot_platform.judging.visibility.standing import standing_of
from anyshot_platform.people.notifications.service import notify
from anyshot_platform.people.webhooks.service import emit
from anyshot_platform.standings.leaderboards.reading import BoardPlace, group_equal, read_board
from anyshot_platform.standings.results.awards import in_words, share_prizes
from anyshot_platform.standings.results.records import record

log = logging.getLogger(__name__)
PODIUM = 3
_EVERYBODY = 10_000
NEARLY = 0.8  # of the token sequences of the shorter code; methods of one family share less
Boards = Sequence[tuple[League, Sequence[BoardPlace]]]


@dataclass(frozen=True)
class _Code:
    """What the zip of a team is compared by."""

    team: str
    files: str
    sequences: frozenset[int]


def publish(session: Session, phase: Phase, reason: str = "", *, winners: int = 0) -> list[Submission]:
    """Show the results to everyone; `winners` is how many of each league's best have their code published.

    The results are stored as they are now: see `standings.results.records`. Members are told when they become
    public, and not again. Returns those whose code is public now: not that of a team whose code the organizers hid.
    """
    before = publication_of(phase).published
    again, phase.published_at = before is not None, before or now()
    phase.board_audience, phase.scores_visible = Audience.EVERYONE, True
    if ends_by_publishing(phase):
        phase.closed_at = now()
    shown = best_of_leagues(session, phase, winners)
    for submission in shown:
        submission.code_published_at = standing_of(submission).code_published or now()
    competition = session.get_one(Competition, phase.competition_id)
    if shown:
        competition.code_published_at = now()
    if not again:
        session.flush()
        record(session, phase, reason)
        _tell_everybody(session, competition, phase)
    return with_public_code(session, shown)


def ends_by_publishing(phase: Phase) -> bool:
    """Whether the phase is over once its results are public, whatever its dates say: it takes no uploads."""
    return not phase.accepts_uploads and status_of(phase) != PhaseStatus.CLOSED


def _tell_everybody(session: Session, competition: Competition, phase: Phase) -> None:
    """Tell each member the places of their own team, and who is ahead."""
    best, own = podium(session, phase), _own_places(session, phase)
    title = f"{competition.title}: results of {phase.name}"
    url = f"/competitions/{competition.slug}/results?phase={phase.slug}"
    people: dict[str, tuple[str, ...]] = dict.fromkeys(members_of(session, competition), ())
    for team_id, places in own.items():
        people |= dict.fromkeys(members_of_team(session, team_id), places)
    for places in dict.fromkeys(people.values()):
        told = [user_id for user_id, theirs in people.items() if theirs == places]
        body = join_texts((*places, *best), by="\n")
        notify(session, told, kind="phase", title=title, body=body, url=url, about=competition.id)
    emit(session, competition.id, "phase.published", {"phase": phase.slug})


def check_prizes(session: Session, phase: Phase) -> list[str]:
    """What organizers should know of the ranks that win something: ties, and code that is nearly the same."""
    boards = list(_boards(session, phase, _EVERYBODY))
    return [*_find_ties(boards), *_ask_about_code(session, boards)]


def _boards(session: Session, phase: Phase, rows: int) -> Iterator[tuple[League, list[BoardPlace]]]:
    """The ranked places of each league, at most so many."""
    version = live_version(session, phase)
    for league in list_leagues(session, session.get_one(Competition, phase.competition_id)):
        yield league, [row for row in read_board(session, version, league, limit=rows).places if row.rank]


def podium(session: Session, phase: Phase) -> list[str]:
    """The best of each league, as sentences."""
    return [f"{league.name}: {_best(places)}." for league, places in _boards(session, phase, PODIUM)]


def _best(places: list[BoardPlace]) -> str:
    best = ", ".join(f"{place.rank}. {place.name} ({score(place.row.value)})" for place in places)
    return best or "nobody is on the board"


def _own_places(session: Session, phase: Phase) -> dict[str, tuple[str, ...]]:
    """What each team is told of itself, a sentence a league, by team id."""
    found: dict[str, tuple[str, ...]] = {}
    for league, places in _boards(session, phase, _EVERYBODY):
        for place in places:
            words = (
                f"Your team is on rank {decimal(place.rank or 0)} of {decimal(len(places))} in "
                f"{league.name}, with "
                f"{f'{score(place.row.value)} {interval(place.row.half_width)}'.strip()}."
            )
            found[place.row.team_id] = (*found.get(place.row.team_id, ()), words)
    return found


def best_of_leagues(session: Session, phase: Phase, winners: int) -> list[Submission]:
    """The submissions on the first so many ranks of each league, each once."""
    if not winners:
        return []
    found: dict[str, Submission] = {}
    for _, places in _boards(session, phase, _EVERYBODY):
        ids = [place.row.submission_id for place in places if (place.rank or 0) <= winners]
        rows = session.scalars(select(Submission).where(Submission.id.in_(ids)))
        found.update({submission.id: submission for submission in rows})
    return list(found.values())


def unpublish(session: Session, phase: Phase) -> None:
    """Undo a publication: only organizers see the board again, and no code is published."""
    phase.published_at = None
    phase.board_audience, phase.scores_visible = Audience.ORGANIZERS, False
    for submission in session.scalars(select(Submission).where(Submission.phase_id == phase.id)):
        submission.code_published_at = None
    session.flush()
    competition = session.get_one(Competition, phase.competition_id)
    if not list_published(session, competition):
        competition.code_published_at = None


def _find_ties(boards: Boards) -> Iterator[str]:
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


def _ask_about_code(session: Session, boards: Boards) -> Iterator[str]:
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
