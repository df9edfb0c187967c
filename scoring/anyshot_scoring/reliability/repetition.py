"""What the scores of a board owe to how often its teams submitted, in the score that the ranking rule counts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.adaptive import GapCheck, Luck, check_gap, owed_to_repetition
from anyshot_scoring.reliability.matrix import ScoreMatrix
from anyshot_scoring.reliability.resampling import Population, resample
from anyshot_scoring.rules import ByRuns, Rule
from anyshot_scoring.undefined import Undefined

DRAWS = 4_000  # give a deviation to 1.1 % of itself with two submissions, to less with more


@dataclass(frozen=True)
class Repetition:
    """A board that was asked many times. `noise` is of one submission's own, over draws of tasks, as a deviation.

    `luck` says of each team, best first, what its score owes to its submissions at most; undefined in a final phase,
    where the submissions were chosen by other scores: there the fall from the feedback phase (`gap`) tells. Both are
    undefined under a rule that ranks by average ranks, which cannot be set beside scores.
    """

    noise: float
    luck: tuple[Luck, ...] | Undefined
    gap: GapCheck | Undefined


def weigh_repetition(
    board: ScoreMatrix,
    points: NDArray[np.float64],
    rule: Rule,
    feedback: Mapping[str, float] | None,
    submissions: Mapping[str, int] | None,
    seed: int = 0,
) -> Repetition | Undefined:
    """Noise, luck and gap of a board; `points` `[S]` are what its rule ranks by, in the order of its keys.

    `feedback` has scores of the feedback phase by key, `submissions` how many each one's team had scored where this
    one was chosen. Undefined without `submissions` of all, and where the noise is (`noise_of_score`).
    """
    if not submissions or not set(board.keys) <= set(submissions):
        return Undefined("nobody said how many submissions each team had scored")
    noise = noise_of_score(board, rule, seed=seed)
    if isinstance(noise, Undefined):
        return noise
    own = dict(zip(board.keys, points.tolist(), strict=True))
    if rule.relative:
        ranks = Undefined("the rule ranks by average ranks, which are no scores")
        beside = Undefined("the rule ranks by average ranks, and feedback scores are scores")
        return Repetition(noise, ranks, beside if feedback else NO_FEEDBACK)
    if feedback:
        elsewhere = Undefined("the submissions were chosen by their scores in the feedback phase")
        return Repetition(noise, elsewhere, check_gap(feedback, own, submissions))
    luck = owed_to_repetition(own, {key: submissions[key] for key in own}, noise)
    return Repetition(noise, luck, NO_FEEDBACK)


NO_FEEDBACK = Undefined("there is no feedback phase to compare with")


def noise_of_score(board: ScoreMatrix, rule: Rule, *, draws: int = DRAWS, seed: int = 0) -> float | Undefined:
    """The deviation, over draws of tasks, of what is a submission's own of the score that the rule counts.

    The tasks of each dataset are drawn again in each run. What all submissions of a draw share, its mean over them, is
    taken out; since it holds 1 / S of each of the S submissions, mean squares of the rest are too small by (S - 1) / S.
    Of a rule that ranks by average ranks, it is that of the score shown: of the joined means of the runs.
    Undefined for one submission, and where a run has a single task of a dataset: how tasks vary is not known there.
    """
    entries = len(board.keys)
    cells = np.unique(np.stack([board.run, board.dataset]), axis=1, return_counts=True)[1]
    if entries < 2 or (cells < 2).any():
        return Undefined(
            "the noise of differences needs two submissions, and two tasks of each dataset in each run"
        )
    shown = ByRuns(rule.name, rule.title, rule.join) if rule.relative else rule
    drawn = resample(board, Population.TASKS, replicates=draws, seed=seed, rule=shown)
    own = drawn - drawn.mean(axis=1, keepdims=True)
    return float(np.sqrt(own.var(axis=0, ddof=1).mean() * entries / (entries - 1)))
