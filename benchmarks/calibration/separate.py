"""The model that boards had before: fitted to each population on its own, kept to compare the crossed one with.

The scores x `[S]` of a board are x ~ N(theta, C), where C is how scores vary together over draws of a population (from
the bootstrap, which follows the board's own rule for runs), and the true levels are theta_s ~ N(mu, tau^2): submissions
are draws of one population of submissions, crossed with tasks, classes, datasets or runs. This is the normal model with
unequal, correlated variances of empirical Bayes (Efron and Morris 1975; Gelman et al. 2013, *Bayesian Data Analysis*,
5.4) with the uncertainty of both spreads kept: the share of noise in a difference is uniform
a priori (the uniform shrinkage prior; Daniels 1999), and C, known from few units, has a scaled inverse chi-square
factor. C is shrunken towards equal variances by the oracle approximating formula (Chen et al. 2010).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.reliability.board_model import BoardModel, sum_up
from anyshot_scoring.reliability.crossed_model import shrinkage

DRAWS = 4_000
_TAUS, _FACTORS = 80, 9


def model_alone(
    scores: NDArray[np.float64], replicates: NDArray[np.float64], units: int, seed: int = 0
) -> BoardModel:
    """Fit the model to the board's `scores` `[S]` and bootstrap `replicates` `[B, S]` that rest on `units`."""
    basis, variances, freedom = _noise(replicates, units)
    center = float(scores.mean())
    observed = basis.T @ (scores - center)
    rng = np.random.default_rng(seed)
    tau, factor = _draw_spreads(observed, variances, freedom, rng)
    noise = factor[:, None] * variances
    kept = tau[:, None] ** 2 / np.maximum(tau[:, None] ** 2 + noise, 1e-300)
    drawn = kept * observed + np.sqrt(kept * noise) * rng.standard_normal(noise.shape)
    levels = drawn @ basis.T + center
    again = levels + (np.sqrt(noise) * rng.standard_normal(noise.shape)) @ basis.T
    return sum_up(levels, again, scores, units)


def _noise(replicates: NDArray[Any], units: int) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Axes `[S, S - 1]` of the differences between submissions, the variance along each, and degrees of freedom."""
    count = replicates.shape[1]
    contrasts = _contrasts(count)
    drawn = (replicates - replicates.mean(axis=0)) @ contrasts
    covariance = drawn.T @ drawn / len(drawn) * (units / (units - 1))
    share = shrinkage(covariance, units - 1)
    flat = np.trace(covariance) / (count - 1) * np.eye(count - 1)
    variances, axes = np.linalg.eigh((1 - share) * covariance + share * flat)
    freedom = (units - 1) * (1 + share * (count - 2))
    return contrasts @ axes, np.maximum(variances, 0.0), freedom


def _contrasts(count: int) -> NDArray[Any]:
    """Orthonormal axes `[S, S - 1]` of what sums to 0."""
    return np.linalg.qr(np.eye(count)[:, :-1] - 1.0 / count)[0]


def _draw_spreads(
    observed: NDArray[Any], variances: NDArray[Any], freedom: float, rng: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draws of tau and of the factor of the noise from their joint posterior, on a grid."""
    quantiles = 2 * special.gammaincinv(freedom / 2, (np.arange(_FACTORS) + 0.5) / _FACTORS)
    factors = freedom / quantiles
    top = 3.0 * float(np.sqrt((observed**2).mean() + variances.mean())) + 1e-12
    taus = top * (np.arange(_TAUS) + 0.5) / _TAUS
    total = taus[:, None, None] ** 2 + factors[None, :, None] * np.maximum(variances, 1e-24)
    weight = -0.5 * (np.log(total) + observed**2 / total).sum(axis=-1)
    weight += (np.log(taus) - 2 * np.log(taus**2 + max(float(variances.mean()), 1e-24)))[:, None]
    chances = np.exp(weight - weight.max()).ravel()
    chosen = rng.choice(chances.size, DRAWS, p=chances / chances.sum())
    width = top / _TAUS
    tau = taus[chosen // _FACTORS] + width * (rng.random(DRAWS) - 0.5)
    return np.maximum(tau, 0.0), factors[chosen % _FACTORS]
