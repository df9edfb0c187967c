"""Which prize a place gets, and how it is split between the members of a team. Amounts are in cents."""

from collections.abc import Sequence
from itertools import groupby

from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.states import AwardSplit

RULE_WORDS = {
    AwardSplit.EQUALLY: "The members of a team share its prize equally.",
    AwardSplit.CAPTAIN: "The captain receives a team's prize.",
}


def share_prizes(ranks: Sequence[int], amounts: Sequence[float]) -> list[int]:
    """What each of these places gets, in cents; `ranks` ascend from 1.

    Of equal scores the earlier submission has the better rank. Only submissions of the very same moment have the same
    one: they take the prizes of as many places as they are, and share them equally.
    """
    cents = [round(100 * amount) for amount in amounts]
    shares: list[int] = []
    for rank, group in groupby(ranks):
        tied = len(list(group))
        shares += divide(sum(cents[rank - 1 : rank - 1 + tied]), tied)
    return shares


def divide(cents: int, people: int) -> list[int]:
    """Equal parts that add up; what does not divide goes to the first, a cent each."""
    each, rest = divmod(cents, people)
    return [each + (place < rest) for place in range(people)]


def divide_in_team(cents: int, people: int, split: AwardSplit) -> list[int]:
    """What each member of a team gets; the captain comes first."""
    if split == AwardSplit.CAPTAIN and people:
        return [cents, *[0] * (people - 1)]
    return divide(cents, people) if people else []


def in_words(cents: int, currency: str) -> str:
    """`400 EUR`, or `133.34 EUR`."""
    amount = f"{cents // 100:,}" if cents % 100 == 0 else f"{cents / 100:,.2f}"
    return f"{amount} {currency}".strip()


def prizes_of(league: League) -> str:
    """A league's prizes in one line: its amounts, and what its text adds."""
    amounts = ", ".join(in_words(round(100 * amount), league.currency) for amount in league.awards)
    return ". ".join(part for part in (amounts, league.prizes) if part)
