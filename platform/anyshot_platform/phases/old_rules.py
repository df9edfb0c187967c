"""What descriptions of earlier releases may hold.

The first release had two settings for one decision, `combine` and `ranking`: now the ranking rule decides. It had
`others`, which promised a list of others' submissions and did nothing.
"""

from __future__ import annotations

from typing import Any

from anyshot_scoring.joins import JOINS
from anyshot_scoring.rules import RULES

OTHERS_GONE = "others' submissions are not listed: `others` never had an effect, and is left out"


def without_others(shown: dict[Any, Any]) -> dict[Any, Any]:
    """What participants see, without the setting that did nothing."""
    return {key: value for key, value in shown.items() if key != "others"}


def one_rule(scoring: dict[Any, Any]) -> dict[Any, Any]:
    """The scoring part without `combine`, its ranking rule as it was meant.

    With a single run `combine` did nothing. Raises `ValueError` where the two settings contradict each other.
    """
    kept = {key: value for key, value in scoring.items() if key != "combine"}
    combine, ranking = str(scoring["combine"]), scoring.get("ranking")
    if combine not in JOINS:
        words = f"`combine` is gone; write `ranking` alone, one of {', '.join(RULES)}"
        raise ValueError(words)
    if ranking is None:
        return {**kept, "ranking": f"{combine}_run"}
    rule = RULES.get(str(ranking))
    if rule is None or rule.join.name == combine or scoring.get("runs", 1) == 1:
        return kept
    raise ValueError(
        f"`combine: {combine}` contradicts `ranking: {ranking}`, by which the {rule.join.noun} of "
        "the runs counts. `combine` is gone: write `ranking: "
        f"{rule_that_ranked(combine, str(ranking))}` alone to rank as such a board was ranked "
        f"until now, or `ranking: {ranking}` alone to rank as its page said"
    )


def rule_that_ranked(combine: str, ranking: str) -> str:
    """The rule by which a board with these two settings was ranked: runs were joined by `combine`, whatever it said."""
    return f"dataset_ranks_{combine}" if ranking.startswith("dataset_ranks") else f"{combine}_run"
