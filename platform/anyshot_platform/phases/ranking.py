"""Ranking rules in the reader's language: the sentences are the rules' own, and stand in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from anyshot_scoring.joins import JOINS
from anyshot_scoring.rules import RULES, Rule

_MANY = "%(runs)s"


def rule_words(rule: Rule, runs: int | None) -> str:
    """What counts, in sentences; `runs` is how many an entry has, None where that is open."""
    if runs is None or runs == 1:
        return rule.words(runs)
    return rule.words(_MANY) % {"runs": runs}


def score_words(rule: Rule, runs: int) -> str:
    """What the score is beside a mean over tasks, as the end of a line; empty where it is just that."""
    words = rule.score_words(runs if runs == 1 else _MANY)
    return (words % {"runs": runs}) if words else ""


def sentences() -> Iterator[str]:
    """Every sentence that `rule_words` and `score_words` may say, the names of the rules, and what joins runs."""
    yield from (join.noun for join in JOINS.values())
    for rule in RULES.values():
        yield rule.title
        for runs in (None, 1, _MANY):
            yield rule.words(runs)
        yield from filter(None, (rule.score_words(runs) for runs in (1, _MANY)))
