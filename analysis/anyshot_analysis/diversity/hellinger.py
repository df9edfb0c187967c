"""Hellinger diversity of Gaussian benchmarks (Miranda et al.).

A benchmark B = (mu_m, sigma_m, mu_s, sigma_s) draws a class's mean from N(mu_m, sigma_m) and its standard deviation
as |N(mu_s, sigma_s)| (all sigmas are standard deviations). The diversity coefficient is the expected squared
Hellinger distance of two independent classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

PUBLISHED_SIGMA_M = (0.01, 1.0, 3.0, 10.0, 20.0, 30.0, 1000.0)
PUBLISHED_HELLINGER = (7.475e-5, 0.183, 0.574, 0.860, 0.929, 0.952, 0.998)
PUBLISHED_TASK2VEC = (0.247, 0.271, 0.393, 0.470, 0.533, 0.537, 0.546)
NODES = 400
TAILS = 12.0  # standard deviations beyond which the normal density is below double precision


class BadBenchmark(ValueError):
    """The parameters do not describe a Gaussian benchmark."""


@dataclass(frozen=True)
class GaussianBenchmark:
    """Parameters of a Gaussian benchmark; all standard deviations."""

    mu_m: float
    sigma_m: float
    mu_s: float
    sigma_s: float

    def __post_init__(self) -> None:
        values = (self.mu_m, self.sigma_m, self.mu_s, self.sigma_s)
        if not np.isfinite(values).all() or self.sigma_m < 0 or self.sigma_s < 0:
            raise BadBenchmark(f"needs finite parameters and non-negative deviations, found {values}")
        if self.mu_s == 0 and self.sigma_s == 0:
            raise BadBenchmark("every class would have standard deviation 0")


def published_benchmarks() -> tuple[GaussianBenchmark, ...]:
    """The papers' seven benchmarks (0, sigma_m, 1, 0.01), least diverse first."""
    return tuple(GaussianBenchmark(0.0, sigma, 1.0, 0.01) for sigma in PUBLISHED_SIGMA_M)


def squared_hellinger(m1: ArrayLike, s1: ArrayLike, m2: ArrayLike, s2: ArrayLike) -> NDArray[np.float64]:
    """H^2 of N(m1, s1) and N(m2, s2): 1 - sqrt(2 s1 s2 / v) exp(-(m1 - m2)^2 / (4 v)), v = s1^2 + s2^2."""
    a, b = np.asarray(s1, np.float64), np.asarray(s2, np.float64)
    if (a <= 0).any() or (b <= 0).any():
        raise BadBenchmark("a class needs a positive standard deviation")
    v = a**2 + b**2
    gap = np.asarray(m1, np.float64) - np.asarray(m2, np.float64)
    # log1p and expm1 keep the digits of distances near zero, where 1 - exp(...) would lose them.
    exponent = 0.5 * np.log1p(-((a - b) ** 2) / v) - gap**2 / (4 * v)
    return -np.expm1(exponent)


def deviation_nodes(benchmark: GaussianBenchmark, nodes: int = NODES) -> tuple[NDArray[Any], NDArray[Any]]:
    """Nodes and weights (sum 1) of the distribution of a class's standard deviation |N(mu_s, sigma_s)|."""
    mean, spread = abs(benchmark.mu_s), benchmark.sigma_s
    if spread == 0:
        return np.array([mean]), np.array([1.0])
    low, high = max(0.0, mean - TAILS * spread), mean + TAILS * spread
    points, weights = np.polynomial.legendre.leggauss(nodes)
    # s = low + (high - low) t^2 crowds the nodes towards zero, where the integrand behaves like a root.
    t = (points + 1) / 2
    s = low + (high - low) * t**2
    jacobian = (high - low) * t * weights
    density = np.exp(-0.5 * ((s - mean) / spread) ** 2) + np.exp(-0.5 * ((s + mean) / spread) ** 2)
    mass = density * jacobian
    return s, mass / mass.sum()


def hellinger_diversity(benchmark: GaussianBenchmark, nodes: int = NODES) -> float:
    """E[H^2] over two independent classes.

    The means integrate exactly: m1 - m2 is N(0, 2 sigma_m^2), so E exp(-(m1 - m2)^2 / (4 v)) = (1 + sigma_m^2/v)^-1/2;
    the two deviations are integrated by quadrature.
    """
    s, mass = deviation_nodes(benchmark, nodes)
    a, b = s[:, None], s[None, :]
    v = a**2 + b**2
    exponent = 0.5 * np.log1p(-((a - b) ** 2) / v) - 0.5 * np.log1p(benchmark.sigma_m**2 / v)
    return float(mass @ -np.expm1(exponent) @ mass)
