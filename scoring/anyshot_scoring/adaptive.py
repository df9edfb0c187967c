"""A board that is asked many times: what a leader owes to repeated submissions, and the Ladder.

Who submits k times and keeps the best score keeps the luckiest too: with equal submissions, the best of k scores lies
on average E_k standard deviations of the noise above the level, E_k being the expected maximum of k normal variables.
Blum and Hardt (2015), *The Ladder: A Reliable Leaderboard for Machine Learning Competitions*, show what a board may
answer so that asking often teaches nothing about the hidden tasks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.rankings import RankedEntry, without_rounding
from anyshot_scoring.undefined import Undefined

FEWEST_TEAMS = 6


@cache
def expected_maximum(count: int) -> float:
    """E_k, the mean of the largest of `count` independent standard normal variables: 0, 0.564, 0.846, 1.029, ..."""
    if count < 1:
        raise ScoringError(f"A maximum is of one value at least, found {count}.")
    if count == 1:
        return 0.0

    def density(x: float) -> float:
        return (
            x * count * float(np.exp(-0.5 * x * x + (count - 1) * special.log_ndtr(x)) / np.sqrt(2 * np.pi))
        )

    return float(scipy.integrate.quad(density, -10.0, 12.0, limit=200, epsabs=1e-12)[0])


@dataclass(frozen=True)
class Luck:
    """What a team's best feedback score owes to the number of its submissions, in the units of the scores.

    An upper bound in expectation: E_k times the noise, as if all of the team's submissions were equally good. Where
    they are not, the luckiest wins less often.
    """

    team: str
    submissions: int
    score: float
    owed: float


@dataclass(frozen=True)
class GapCheck:
    """Whether feedback and final scores show that luck: `slope` of the gap (feedback minus final) on E_k over teams.

    The slope estimates the noise; near 0, repeated submissions bought nothing. With a 95 % interval over teams.
    """

    slope: float
    low: float
    high: float
    teams: int


def owed_to_repetition(
    scores: Mapping[str, float], submissions: Mapping[str, int], noise: float
) -> tuple[Luck, ...]:
    """What each team owes, best score first. `noise` is the deviation of one submission's score over draws of tasks.

    Noise that all submissions share (hard tasks) turns nobody's order round: take it of differences, over sqrt(2).
    """
    if noise < 0 or set(scores) != set(submissions):
        raise ScoringError("Each team needs a score and a number of submissions, and noise is not negative.")
    order = sorted(scores, key=lambda team: -scores[team])
    return tuple(
        Luck(team, submissions[team], scores[team], noise * expected_maximum(submissions[team]))
        for team in order
    )


def check_gap(
    feedback: Mapping[str, float], final: Mapping[str, float], submissions: Mapping[str, int]
) -> GapCheck | Undefined:
    """Regress each team's fall from feedback to final on E_k; undefined for few teams or equal numbers."""
    teams = [team for team in feedback if team in final and team in submissions]
    if len(teams) < FEWEST_TEAMS:
        return Undefined(
            f"{len(teams)} teams in both phases do not show it: at least {FEWEST_TEAMS} are needed"
        )
    x = np.array([expected_maximum(submissions[team]) for team in teams])
    y = np.array([feedback[team] - final[team] for team in teams])
    if np.ptp(x) == 0:
        return Undefined("all teams submitted equally often")
    moved = x - x.mean()
    slope = float(moved @ y / (moved @ moved))
    rest = y - y.mean() - slope * moved
    deviation = float(np.sqrt(rest @ rest / (len(teams) - 2) / (moved @ moved)))
    half = float(special.stdtrit(len(teams) - 2, 0.975)) * deviation
    return GapCheck(slope, slope - half, slope + half, len(teams))


def ladder(scores: Sequence[float], step: float) -> NDArray[np.float64]:
    """What the Ladder shows a team after each of its submissions: the best so far that was better by over `step`.

    Algorithm 1 of Blum and Hardt, for scores (higher is better): a score that passes the one shown by more than `step`
    is shown, rounded to a multiple of `step`; any other changes nothing. `-inf` is never shown: the first is.
    """
    if not step > 0:
        raise ScoringError(f"The step of a Ladder is positive, found {step}.")
    shown, made = -np.inf, []
    for score in scores:
        if without_rounding(score) > without_rounding(shown + step):
            shown = on_step(score, step)
        made.append(shown)
    return np.array(made)


def on_step(score: float, step: float) -> float:
    """The multiple of a Ladder's step that is nearest to a score: what the Ladder shows of it."""
    return float(without_rounding(round(score / step) * step))


def climb(own: Sequence[RankedEntry], step: float) -> RankedEntry | None:
    """The submission that stands for a team on a Ladder: the last one that moved what is shown.

    For ranking rules under which a score does not depend on the other entries.
    """
    taken = sorted(own, key=lambda entry: (entry.submitted, entry.key))
    shown = ladder([entry.score for entry in taken], step)
    return taken[int(np.argmax(shown))] if taken else None  # what is shown only rises


def ladder_by_tasks(scores: ArrayLike) -> NDArray[np.float64]:
    """The Ladder without a step, from scores `[submissions, tasks]` of one team, oldest first (their Algorithm 2).

    A submission counts if it passes the last that counted by more than the standard error of their difference over
    tasks; its score is then shown rounded to a multiple of 1 / tasks.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise ScoringError(
            f"The Ladder needs scores [submissions, tasks] of two tasks or more, found {values.shape}."
        )
    tasks, best, shown, made = values.shape[1], None, -np.inf, []
    for own in values:
        room = 0.0 if best is None else float((own - best).std(ddof=1)) / np.sqrt(tasks)
        if best is None or own.mean() > shown + room:
            best, shown = own, round(float(own.mean()) * tasks) / tasks
        made.append(shown)
    return np.array(made)
