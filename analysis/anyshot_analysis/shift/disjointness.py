"""How many classes training and test tasks share when tasks are drawn from one finite set of classes.

The theory of *In vs. Out of Distribution*, section 3: benchmarks that split tasks, not classes, see nearly every
class in training as soon as there are a few times L/n tasks. L classes, tasks of n distinct classes, N tasks, p_i the
probability that class i is in a task (their sum is n). A distribution is gamma-spread when every p_i >= gamma n / L.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from anyshot_analysis.undefined import Quantity, Undefined


class BadTaskDistribution(ValueError):
    """The numbers do not describe tasks of distinct classes."""


def check_inclusion(inclusion: ArrayLike) -> NDArray[np.float64]:
    """Probabilities `[L]` that each class is in a task."""
    p = np.asarray(inclusion, dtype=np.float64)
    if p.ndim != 1 or len(p) == 0 or (p < 0).any() or (p > 1 + 1e-12).any():
        raise BadTaskDistribution("inclusion probabilities are a list of numbers in [0, 1]")
    return np.clip(p, 0.0, 1.0)


def check_spread(classes: int, ways: int, gamma: float) -> float:
    """gamma n / L, a probability."""
    if not (classes >= ways >= 1 and 0 < gamma <= 1):
        raise BadTaskDistribution(
            f"needs L >= n >= 1 and gamma in (0, 1], found L {classes}, n {ways}, gamma {gamma}"
        )
    return gamma * ways / classes


def spread(inclusion: ArrayLike) -> float:
    """The largest gamma of a distribution: L min p_i / n, 1 for uniform tuples."""
    p = check_inclusion(inclusion)
    return min(1.0, float(len(p) * p.min() / p.sum()))


def expected_classes(inclusion: ArrayLike, tasks: int) -> float:
    """E[Z] = L - sum (1 - p_i)^N: distinct classes in N independent tasks."""
    p = check_inclusion(inclusion)
    with np.errstate(divide="ignore"):
        return float(-np.expm1(tasks * np.log1p(-p)).sum()) if tasks else 0.0


def expected_classes_bound(classes: int, ways: int, gamma: float, tasks: int) -> float:
    """E[Z] >= L (1 - (1 - gamma n / L)^N)."""
    p = check_spread(classes, ways, gamma)
    return classes * -math.expm1(tasks * math.log1p(-p)) if p < 1 else float(classes)


def classes_variance_bound(ways: int, tasks: int) -> float:
    """Var Z <= n^2 N / 2 (Efron and Stein: one task changes Z by at most n)."""
    return ways**2 * tasks / 2


def disjoint_probability_bound(
    classes: int, ways: int, gamma: float, train_tasks: int, test_tasks: int
) -> float:
    """P(no class of the test tasks in training, or the reverse) <= 4 (1 - gamma n / L)^min(N_tr, N_te)."""
    p = check_spread(classes, ways, gamma)
    tasks = min(train_tasks, test_tasks)
    return min(1.0, 4.0 * math.exp(tasks * math.log1p(-p))) if p < 1 else float(tasks == 0)


def enough_tasks(classes: int, ways: int, gamma: float, rho: float) -> float:
    """ln(4 / rho) L / (gamma n): tasks from which on disjoint sets have probability below rho."""
    check_spread(classes, ways, gamma)
    if not 0 < rho < 4:
        raise BadTaskDistribution(f"rho is a probability, found {rho}")
    return math.log(4.0 / rho) * classes / (gamma * ways)


def many_classes_expectation(classes: int, ways: int, gamma: float, tasks: int) -> Quantity:
    """For L >= n N: E[Z] >= gamma n N / (1 + gamma)."""
    check_spread(classes, ways, gamma)
    if classes < ways * tasks:
        return Undefined(f"the bound holds for L >= n N, here {classes} < {ways * tasks}")
    return gamma * ways * tasks / (1.0 + gamma)


def many_classes_tail(classes: int, ways: int, gamma: float, tasks: int, eta: float) -> Quantity:
    """For L >= n N: P(Z <= eta gamma n N / (1 + gamma)) <= (1 + gamma)^2 / (2 (1 - eta)^2 gamma^2 N)."""
    check_spread(classes, ways, gamma)
    if not 0 <= eta < 1:
        raise BadTaskDistribution(f"eta lies in [0, 1), found {eta}")
    if classes < ways * tasks:
        return Undefined(f"the bound holds for L >= n N, here {classes} < {ways * tasks}")
    return min(1.0, (1.0 + gamma) ** 2 / (2.0 * (1.0 - eta) ** 2 * gamma**2 * tasks))


def ordered_tasks(classes: int, ways: int) -> int:
    """P(L, n): ordered tuples of distinct classes."""
    return math.perm(classes, ways)


def unordered_tasks(classes: int, ways: int) -> int:
    """C(L, n): sets of distinct classes."""
    return math.comb(classes, ways)


def novel_in_task(
    base: int, novel: int, ways: int, share: float, mixing: str = "weighted"
) -> NDArray[np.float64]:
    """Exact probabilities `[ways + 1]` of 0, 1, ... novel classes in a task of the mixture with lambda = `share`.

    `coin`: binomial. `weighted`: classes are drawn in sequence without replacement, each novel one with weight
    lambda / novel, each base one with (1 - lambda) / base. Each side has at least `ways` classes.
    """
    if mixing not in ("weighted", "coin") or not 0 <= share <= 1:
        raise BadTaskDistribution(
            f"a mixture is weighted or coin with lambda in [0, 1], found {mixing}, {share}"
        )
    if min(base, novel) < ways or ways < 1:
        raise BadTaskDistribution(f"each side needs {ways} classes, found {base} and {novel}")
    found = np.zeros(ways + 1)
    found[0] = 1.0
    for drawn in range(ways):
        seen = np.arange(drawn + 1)
        up = np.full(drawn + 1, share)
        if mixing == "weighted":
            left = share * (1 - seen / novel)
            up = left / (left + (1 - share) * (1 - (drawn - seen) / base))
        following = np.zeros(ways + 1)
        following[: drawn + 1] += found[: drawn + 1] * (1 - up)
        following[1 : drawn + 2] += found[: drawn + 1] * up
        found = following
    return found


def classes_variance(classes: int, ways: ArrayLike, tasks: int) -> float:
    """Var Z exactly, for uniform tuples whose ways are uniform over the list `ways`.

    Z = L - sum of the indicators that a class is in no task; with q1 and q2 the probabilities that one class, and that
    two given ones, are not in a task: Var Z = L q1^N (1 - q1^N) + L (L - 1) (q2^N - q1^2N).
    """
    n = np.asarray(ways, np.float64)
    if not len(n) or (n < 1).any() or (n > classes).any():
        raise BadTaskDistribution(f"ways lie between 1 and the {classes} classes")
    q1 = float(((classes - n) / classes).mean())
    one = q1**tasks
    if classes == 1:
        return one * (1 - one)
    q2 = float(((classes - n) * (classes - n - 1) / (classes * (classes - 1))).mean())
    return max(0.0, classes * one * (1 - one) + classes * (classes - 1) * (q2**tasks - one**2))
