"""What the one crossed model says of each population: true levels, probabilities, another phase of the same size.

Given the mean squares of the fit (scaled inverse chi-square: `FACTORS` sets of factors) and the spread tau of the true
levels (uniform shrinkage prior; Daniels 1999), the effects are jointly normal. They are drawn exactly: all are
drawn from the model, and corrected by what the cells drawn with them lack to those seen (Matheron's rule;
Wilson et al. 2021, *Pathwise Conditioning of Gaussian Processes*), stratum by stratum of the balanced design. One set
of draws answers for all populations and for every ranking rule.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from anyshot_scoring.joins import MEAN
from anyshot_scoring.reliability.board_model import FEWEST_UNITS, BoardModel, sum_up
from anyshot_scoring.reliability.crossed_model import (
    Cells,
    CrossedFit,
    Effects,
    MeanSquares,
    effects_of,
)
from anyshot_scoring.reliability.resampling import Population, Replicates
from anyshot_scoring.rules import Rule
from anyshot_scoring.undefined import Undefined

DRAWS = 4_000
DRAWS_BY_DATASET = 1_000  # for rules that need every dataset's scores of every draw
FACTORS = 16
SETS = 16  # other phases whose mean is what a rule expects, where no limit says it
_TAUS = 80
_BLOCK = 4 << 20  # numbers in the largest array

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Effects of n draws: `theta` `[n, p]`, `u` `[n, R, p]`, `b`, `k`, `t` `[n, D, p]`, `v` `[n, R, D, p]`."""

    theta: Matrix
    u: Matrix
    b: Matrix
    k: Matrix
    t: Matrix
    v: Matrix
    effects: Effects


def model_populations(
    fit: CrossedFit, points: Matrix, rule: Rule, units: Mapping[Population, int], seed: int = 0
) -> dict[Population, BoardModel | Undefined]:
    """The model of a board with these `points` `[S]` under each population that has `units`.

    Undefined where `draw_populations` has no draws.
    """
    return {
        population: drawn
        if isinstance(drawn, Undefined)
        else sum_up(drawn.true, drawn.again, points, units[population])
        for population, drawn in draw_populations(fit, rule, units, seed).items()
    }


@dataclass(frozen=True)
class DrawnPoints:
    """What the rule ranks by, `[n, S]` each, in n draws: `true` by the true levels, and `again` in another phase."""

    true: Matrix
    again: Matrix


def draw_populations(
    fit: CrossedFit, rule: Rule, units: Mapping[Population, int], seed: int = 0
) -> dict[Population, DrawnPoints | Undefined]:
    """The draws of each population that has `units`, the same ones whatever other populations are asked for.

    Undefined below six units, from which the spread of a population cannot be known, and for a single submission.
    """
    few = {population: _why_not(count, fit.submissions) for population, count in units.items()}
    asked = [population for population, reason in few.items() if not reason]
    drawn = _draw_points(fit, rule, asked, seed) if asked else {}
    return {p: Undefined(reason) if reason else drawn[p] for p, reason in few.items()}


def _why_not(units: int, submissions: int) -> str:
    if units < FEWEST_UNITS:
        return f"{units} units do not tell how much others would differ: probabilities need at least {FEWEST_UNITS}"
    return "a single submission has nothing to be compared with" if submissions < 2 else ""


def _draw_points(
    fit: CrossedFit, rule: Rule, asked: list[Population], seed: int
) -> dict[Population, DrawnPoints]:
    made: dict[Population, list[tuple[Matrix, Matrix]]] = {population: [] for population in asked}
    cells = fit.by_cell() if rule.by_dataset else fit.by_run()
    order = list(Population)
    apart = {population: np.random.default_rng([seed, 1 + order.index(population)]) for population in asked}
    count = DRAWS_BY_DATASET if rule.by_dataset else DRAWS
    for own, common in _draws(fit, cells, count, np.random.default_rng(seed)):
        for population, rng in apart.items():
            phases = Phases(fit.axes, cells.weights, own, common, rule, rng)
            made[population].append((phases.true(population), phases.again(population)))
    return {
        population: DrawnPoints(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        for population, parts in made.items()
    }


def _draws(
    fit: CrossedFit, cells: Cells, count: int, rng: np.random.Generator
) -> Iterator[tuple[Drawn, Drawn]]:
    """Draws of the effects on differences and on all submissions alike, in blocks of bounded size."""
    each = max(1, _BLOCK // max(1, cells.differences.size))
    chosen, tau, effects = _draw_spreads(fit.squares, cells, count, rng)
    alike = effects_of(fit.common_squares).on_means(cells.by_dataset, cells.by_task)
    of_all = Solver(alike, cells.common[..., None])
    for place, own in enumerate(effects):
        taus = tau[chosen == place]
        solver = Solver(own, cells.differences)
        for start in range(0, len(taus), each):
            some = taus[start : start + each]
            yield solver.draw(some, rng), of_all.draw(np.full(len(some), np.inf), rng)


def _draw_spreads(
    squares: MeanSquares, cells: Cells, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Matrix, list[Effects]]:
    """Of each draw, which set of factors, and tau, from their joint posterior on a grid; and each set's effects."""
    sets = [np.ones(6), *_factor_sets(squares, rng)]
    middle, *effects = (effects_of(squares, own).on_means(cells.by_dataset, cells.by_task) for own in sets)
    shape = cells.differences.shape
    grand = cells.differences.mean(axis=(0, 1))
    noise = [np.linalg.eigh(noise_of_mean(own, *shape[:2])) for own in effects]
    variances = np.array([np.maximum(values, 1e-24) for values, _ in noise])
    seen = np.array([(axes.T @ grand) ** 2 for _, axes in noise])
    usual = max(float(noise_of_mean(middle, *shape[:2]).trace()) / shape[2], 1e-24)
    top = 3.0 * float(np.sqrt((grand**2).mean() + usual)) + 1e-12
    taus = top * (np.arange(_TAUS) + 0.5) / _TAUS
    total = taus[:, None, None] ** 2 + variances
    weight = -0.5 * (np.log(total) + seen / total).sum(axis=-1)
    weight += (np.log(taus) - 2 * np.log(taus**2 + usual))[:, None]
    chances = np.exp(weight - weight.max()).ravel()
    picked = rng.choice(chances.size, count, p=chances / chances.sum())
    tau = taus[picked // FACTORS] + top / _TAUS * (rng.random(count) - 0.5)
    return picked % FACTORS, np.maximum(tau, 0.0), effects


def _factor_sets(squares: MeanSquares, rng: np.random.Generator) -> Matrix:
    """What each mean square may have to be multiplied by, `[FACTORS, 6]`: quantiles, in an order of their own each."""
    sets = np.ones((FACTORS, 6))
    levels = (np.arange(FACTORS) + 0.5) / FACTORS
    for place, square in enumerate(squares.all):
        if square.known:
            quantiles = square.freedom / (2 * special.gammaincinv(square.freedom / 2, levels))
            sets[:, place] = rng.permutation(quantiles)
    return sets


def noise_of_mean(own: Effects, runs: int, datasets: int) -> Matrix:
    """Covariance of the mean of all cells around the levels `theta`."""
    return own.u / runs + (own.b + own.k + own.t) / datasets + (own.v + own.e) / (runs * datasets)


class Solver:
    """Draws effects given cells `[R, D, p]` and covariances."""

    def __init__(self, effects: Effects, cells: Matrix) -> None:
        self.effects, self.cells = effects, cells
        runs, datasets = cells.shape[:2]
        cell = effects.v + effects.e
        of_dataset = effects.b + effects.k + effects.t
        self.roots = {name: _root(value) for name, value in vars(effects).items()}
        self.both = _inverse(cell)
        self.by_dataset = _inverse(of_dataset + cell / runs)
        self.by_run = _inverse(effects.u + cell / datasets)
        self.variances, self.axes = np.linalg.eigh(noise_of_mean(effects, runs, datasets))

    def draw(self, tau: Matrix, rng: np.random.Generator) -> Drawn:
        """One draw for each tau `[n]`; infinite where nothing is known of the level beforehand."""
        runs, datasets, p = self.cells.shape
        n, own, flat = len(tau), self.effects, bool(np.isinf(tau).any())
        sizes = {"u": (n, runs, p), "v": (n, runs, datasets, p), "e": (n, runs, datasets, p)}
        free = {
            name: _normal(sizes.get(name, (n, datasets, p)), root, rng) for name, root in self.roots.items()
        }
        theta = np.zeros((n, p)) if flat else tau[:, None] * rng.standard_normal((n, p))
        made = free["v"] + free["e"] + (free["b"] + free["k"] + free["t"])[:, None]
        lacking = self.cells - (made + free["u"][:, :, None] + theta[:, None, None])
        grand = lacking.mean(axis=(1, 2))
        dataset, run = lacking.mean(axis=1) - grand[:, None], lacking.mean(axis=2) - grand[:, None]
        both = (lacking - dataset[:, None] - run[:, :, None] - grand[:, None, None]) @ self.both
        dataset, run = dataset @ self.by_dataset, run @ self.by_run
        if flat:
            theta, level = theta + grand, np.zeros((n, p))
        else:
            level = (
                (grand @ self.axes) / np.maximum(tau[:, None] ** 2 + self.variances, 1e-300)
            ) @ self.axes.T
            theta = theta + tau[:, None] ** 2 * level
        of_dataset = dataset + level[:, None] / datasets
        of_cell = both + of_dataset[:, None] / runs + run[:, :, None] / datasets
        return Drawn(
            theta=theta,
            u=free["u"] + (run + level[:, None] / runs) @ own.u,
            b=free["b"] + of_dataset @ own.b,
            k=free["k"] + of_dataset @ own.k,
            t=free["t"] + of_dataset @ own.t,
            v=free["v"] + of_cell @ own.v,
            effects=own,
        )


class Phases:
    """What a rule makes of draws, where something is drawn again."""

    def __init__(
        self, axes: Matrix, weights: Matrix, own: Drawn, common: Drawn, rule: Rule, rng: np.random.Generator
    ) -> None:
        self.axes, self.weights, self.parts, self.rule, self.rng = axes, weights, (own, common), rule, rng

    def true(self, population: Population) -> Matrix:
        """What the rule ranks by where there is no end of what is drawn again, `[n, S]`, or its expectation."""
        known = population in (Population.TASKS, Population.CLASSES)
        limit = known or (
            not self.rule.by_dataset and (population is Population.DATASETS or self.rule.join is MEAN)
        )
        if limit:
            return self._points([_lasting(part, population) for part in self.parts])
        return np.mean([self.again(population) for _ in range(SETS)], axis=0)

    def again(self, population: Population) -> Matrix:
        """What the rule ranks by in another phase of this size, `[n, S]`."""
        return self._points([_redrawn(part, population, self.rng) for part in self.parts])

    def _points(self, cells: list[Matrix]) -> Matrix:
        differences, alike = cells
        if self.rule.by_dataset:
            scores = differences @ self.axes.T + alike
            runs = np.einsum("rd,nrds->nrs", self.weights, scores)
            return Replicates(runs, scores).points(self.rule)
        means = [np.einsum("rd,nrdp->nrp", self.weights, cell) for cell in cells]
        return Replicates(means[0] @ self.axes.T + means[1], None).points(self.rule)


def _lasting(part: Drawn, population: Population) -> Matrix:
    """Cells `[n, R, D, p]` without the effects that the population draws again."""
    level = part.theta[:, None, None]
    if population is Population.DATASETS:
        return np.broadcast_to(level + part.u[:, :, None], part.v.shape)
    if population is Population.SEEDS:
        return np.broadcast_to(level + (part.b + part.k + part.t)[:, None], part.v.shape)
    of_dataset = part.b if population is Population.CLASSES else part.b + part.k
    return level + part.u[:, :, None] + of_dataset[:, None] + part.v


def _redrawn(part: Drawn, population: Population, rng: np.random.Generator) -> Matrix:
    """Cells `[n, R, D, p]` of another phase: what the population draws again is drawn, with tasks of its own."""
    again = {
        Population.TASKS: ("t", "e"),
        Population.CLASSES: ("k", "t", "e"),
        Population.DATASETS: ("b", "k", "t", "v", "e"),
        Population.SEEDS: ("u", "v", "e"),
    }[population]
    n, runs, datasets, p = part.v.shape
    cells = np.broadcast_to(_lasting(part, population), part.v.shape).copy()
    for name in again:
        shape = (n, runs if name in "uve" else 1, datasets if name in "bktve" else 1, p)
        cells += _normal(shape, _root(getattr(part.effects, name)), rng)
    return cells


def _normal(shape: tuple[int, ...], root: Matrix, rng: np.random.Generator) -> Matrix:
    """Normal draws `[..., p]` with the covariance root @ root.T; an effect that there is not costs nothing."""
    return rng.standard_normal(shape) @ root.T if root.any() else np.zeros(shape)


def _root(covariance: Matrix) -> Matrix:
    variances, axes = np.linalg.eigh(covariance)
    return axes * np.sqrt(np.maximum(variances, 0.0))


def _inverse(covariance: Matrix) -> Matrix:
    """The inverse, 0 along axes without any variance."""
    variances, axes = np.linalg.eigh(covariance)
    kept = variances > 1e-14 * max(float(variances.max(initial=0.0)), 1e-30)
    return (axes * np.divide(1.0, variances, out=np.zeros_like(variances), where=kept)) @ axes.T
