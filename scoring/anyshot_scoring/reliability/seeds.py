"""What the rule for seeded runs does to a ranking: the worst of three against the mean, by simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.joins import JOINS, MEAN
from anyshot_scoring.reliability.agreement import tau_b
from anyshot_scoring.undefined import Undefined


@dataclass(frozen=True)
class SeedModel:
    """score(submission s, run r) = level[s] + common[r] + noise[s, r], both normal.

    `level` `[S]`; `common` is the standard deviation of what a run does to all (its test tasks), `noise` `[S]` that
    of each submission's own.
    """

    level: NDArray[np.float64]
    common: float
    noise: NDArray[np.float64]


@dataclass(frozen=True)
class SeedRuleEffect:
    """How a rule does over simulated competitions, if the true order is that of the submissions' levels.

    `best_wins`: share in which the best submission is first. `tau`: mean tau-b with the true order (undefined for a
    single submission or equal levels). `penalty` `[S]`: mean of a submission's level minus its score by the rule.
    """

    rule: str
    best_wins: float
    tau: float | Undefined
    penalty: NDArray[np.float64]
    same_winner_as_mean: float


def fit_seed_model(run_scores: ArrayLike, pooled: bool = True) -> SeedModel | Undefined:
    """Fit the model to `run_scores` `[runs, S]`; undefined for a single run.

    `pooled` takes one noise for all submissions, which three runs can tell; else each has its own, rough one, which
    is what a rule that punishes unsteadiness acts on.
    """
    scores = np.asarray(run_scores, dtype=np.float64)
    if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
        raise ScoringError("Run scores must be a finite matrix of runs and submissions.")
    runs, n = scores.shape
    if runs < 2:
        return Undefined("a single run does not tell how runs vary")
    level, shift = scores.mean(axis=0), scores.mean(axis=1) - scores.mean()
    if n < 2:
        return SeedModel(level, 0.0, np.array([scores[:, 0].std(ddof=1)]))
    residual = scores - level - shift[:, None]
    own = (residual**2).sum(axis=0) / ((runs - 1) * (n - 1) / n)
    variance = np.full(n, own.mean()) if pooled else own
    common = max(0.0, float(shift.var(ddof=1) - own.mean() / n))
    return SeedModel(level, float(np.sqrt(common)), np.sqrt(variance))


def simulate_rules(
    model: SeedModel,
    runs: int = 3,
    rules: Sequence[str] = tuple(JOINS),
    competitions: int = 10_000,
    seed: int = 0,
) -> list[SeedRuleEffect]:
    """Simulate competitions of `runs` runs each and judge every rule on the same ones."""
    rng, n = np.random.default_rng(seed), len(model.level)
    drawn = model.level + model.noise * rng.standard_normal((competitions, runs, n))
    drawn += model.common * rng.standard_normal((competitions, runs, 1))
    winner_by_mean = MEAN(drawn).argmax(axis=1)
    return [_judge_rule(rule, JOINS[rule](drawn), model.level, winner_by_mean) for rule in rules]


def _judge_rule(
    rule: str, scores: NDArray[Any], level: NDArray[Any], winner_by_mean: NDArray[Any]
) -> SeedRuleEffect:
    winners = scores.argmax(axis=1)
    return SeedRuleEffect(
        rule=rule,
        best_wins=float((winners == level.argmax()).mean()),
        tau=_mean_tau(scores, level),
        penalty=level - scores.mean(axis=0),
        same_winner_as_mean=float((winners == winner_by_mean).mean()),
    )


def _mean_tau(scores: NDArray[Any], level: NDArray[Any]) -> float | Undefined:
    """Mean tau-b over competitions; scores are continuous, so only the levels can tie."""
    exact = tau_b(level, level)
    if isinstance(exact, Undefined):
        return exact
    truth = np.sign(level[:, None] - level[None, :])
    upper = np.triu_indices(len(level), 1)
    signs = truth[upper]
    agreement = np.zeros(len(scores))
    for (i, j), sign in zip(zip(*upper, strict=True), signs, strict=True):
        agreement += sign * np.sign(scores[:, i] - scores[:, j])
    pairs = len(signs)
    return float(agreement.mean() / np.sqrt(pairs * np.count_nonzero(signs)))
