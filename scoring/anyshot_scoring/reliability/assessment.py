"""The organizers' reliability report, as data: one function from aligned scores to everything it says."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anyshot_scoring.errors import ScoringError
from anyshot_scoring.joins import Join
from anyshot_scoring.reliability.agreement import tau_between, tau_between_runs
from anyshot_scoring.reliability.behind_best import FEWEST_UNITS, behind_best
from anyshot_scoring.reliability.board_model import BoardModel, sum_up
from anyshot_scoring.reliability.board_pairs import JudgedPair, KnownBoard
from anyshot_scoring.reliability.components import Components, each_task_once, estimate_components
from anyshot_scoring.reliability.crossed_levels import DrawnPoints, draw_populations, model_populations
from anyshot_scoring.reliability.crossed_model import CrossedFit, fit_crossed
from anyshot_scoring.reliability.flips import Flips, subset_flips
from anyshot_scoring.reliability.matrix import ClassMatrix, ScoreMatrix
from anyshot_scoring.reliability.over_datasets import MARGIN, OverDatasets, compare_over_datasets
from anyshot_scoring.reliability.paired import Interval, Verdict, count_units, why_undefined
from anyshot_scoring.reliability.planning import SampleSizePlan, plan_top
from anyshot_scoring.reliability.ranks import KnownRanks, RankReliability, know_ranks, rank_reliability
from anyshot_scoring.reliability.repetition import Repetition, weigh_repetition
from anyshot_scoring.reliability.resampling import POPULATIONS, Population, resample
from anyshot_scoring.reliability.seeds import SeedRuleEffect, fit_seed_model, simulate_rules
from anyshot_scoring.reliability.shared_tasks import mean_of_runs
from anyshot_scoring.reliability.spreads import SpreadFound, find_spreads
from anyshot_scoring.reliability.strata import Strata, order_by
from anyshot_scoring.reliability.tau_intervals import tau_interval
from anyshot_scoring.rules import Rule, find_rule
from anyshot_scoring.undefined import Undefined

VERSION = 5
FEWEST_REPLICATES = 1_000
FEWEST_BESIDE = 3  # submissions beside a far one: fewer have no spread of their own to speak of
MOST_OVER_DATASETS = 2_000  # replicates of intervals of single scores


@dataclass(frozen=True)
class Neighbours:
    """Two rows of the board, one below the other: the lead, its interval, and how likely the order is the true one.

    Both are the board's model's, and undefined where the population has too few units.
    """

    first: str
    second: str
    lead: float
    interval: Interval | Undefined
    ordered: float | Undefined
    verdict: Verdict


@dataclass(frozen=True)
class WithoutFarthest:
    """The model of the board without the one submission, farthest from the middle, that sets its spread."""

    key: str
    model: BoardModel


@dataclass(frozen=True)
class PopulationReport:
    """What another draw from one population would do to the board.

    `ranks`, `model` and `neighbours` are of the one model of the board; `redrawn` is what a bootstrap of the same data
    says of the ranks. `without` is there where one submission makes the spread of true levels more than twice that of
    the others, so that how far those are drawn towards the middle depends on it.
    """

    population: Population
    words: str
    units: int
    ranks: KnownRanks | Undefined
    redrawn: RankReliability
    model: BoardModel | Undefined
    neighbours: tuple[Neighbours, ...]
    without: WithoutFarthest | None = None


@dataclass(frozen=True)
class NeighbourFlips:
    """Flips of the lead of two neighbours on random halves of the units."""

    first: str
    second: str
    unit: str
    flips: Flips | Undefined


@dataclass(frozen=True)
class FeedbackAgreement:
    """The board of the feedback phase against this one.

    `cost` is what trusting the feedback phase would have cost: the winner's score less that of the submission that
    led the feedback phase (of those that stand in both), in the unit of `points`. `interval` is that of tau over other
    submissions, `cost_interval` that of the true cost over draws of `cost_over`.
    """

    tau: float | Undefined
    interval: Interval | Undefined
    cost: float | Undefined
    submissions: int
    cost_interval: Interval | Undefined
    cost_over: Population


@dataclass(frozen=True)
class Assessment:
    """The report. `keys`, `scores` and `points` are in the order of the board, best first; so are the arrays inside.

    `scores` are those shown by the rule, `points` what it ranks by, in its `unit`; higher is better.
    """

    keys: tuple[str, ...]
    scores: NDArray[np.float64]
    points: NDArray[np.float64]
    rule: str
    rule_words: str
    unit: str
    runs: int
    tasks: int
    datasets: int
    classes: int | Undefined
    replicates: int
    populations: dict[Population, PopulationReport | Undefined]
    spreads: tuple[SpreadFound, ...] | Undefined
    over_datasets: OverDatasets | Undefined
    flips: tuple[NeighbourFlips, ...]
    plan: SampleSizePlan | Undefined
    seeds_tau: float | Undefined
    seeds_interval: Interval | Undefined
    feedback: FeedbackAgreement | Undefined
    repetition: Repetition | Undefined
    rules: tuple[SeedRuleEffect, ...] | Undefined
    ways: Strata
    shots: Strata

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data with a version; a figure that is undefined is `{"undefined": reason}`."""
        return {"version": VERSION, **{name: _plain(value) for name, value in vars(self).items()}}


def assess(
    matrix: ScoreMatrix,
    *,
    classes: ClassMatrix | None = None,
    feedback: Mapping[str, float] | None = None,
    submissions: Mapping[str, int] | None = None,
    rule: Rule | str = "worst_run",
    top: int = 3,
    margin: float = MARGIN,
    replicates: int = 10_000,
    seed: int = 0,
    shared_tasks: bool = False,
) -> Assessment:
    """Assess a board of submissions that were run on the same tasks (`align`).

    The columns of the matrix must be in the order of submission, which breaks ties. `feedback` has scores of the
    feedback phase by key, `submissions` how many its team had scored in the phase where it chose this one (the
    feedback phase, where there is one). `top` is how many places should be settled, `margin` the difference that does
    not matter. Seeds speak of the mean over runs, flips over datasets of the runs that count, all else of what the rule
    ranks by. `shared_tasks`: the runs were tested on the same tasks, so that each is one task; where they were not,
    planning and flips over classes speak of the mean over runs. Raises `ScoringError` for under 1,000 replicates.
    """
    if replicates < FEWEST_REPLICATES:
        raise ScoringError(f"{replicates} replicates are too few: at least {FEWEST_REPLICATES} are needed.")
    chosen = find_rule(rule) if isinstance(rule, str) else rule
    runs, by_run = matrix.run_means(), matrix.run_dataset_means()
    values = chosen.points(runs, by_run)
    order = np.argsort(-values, kind="stable")
    board = matrix.submissions(order)
    own = None if classes is None else classes.submissions(order)
    points = values[order]
    fit = fit_crossed(board, own, shared_tasks=shared_tasks)
    seeds_tau = tau_between_runs(board)
    by_task, by_class = each_task_once(board, own, chosen, shared_tasks=shared_tasks)
    mean = mean_of_runs(board) if shared_tasks else board
    return Assessment(
        keys=board.keys,
        scores=chosen.score(runs, chosen.join_datasets(by_run))[order],
        points=points,
        rule=chosen.name,
        rule_words=chosen.words(board.runs),
        unit=chosen.unit,
        runs=board.runs,
        tasks=len(by_task.scores),
        datasets=len(board.datasets),
        classes=Undefined(why_undefined(board, None, Population.CLASSES))
        if own is None
        else len(own.class_id),
        replicates=replicates,
        populations=_judge_populations(
            fit, board, own, by_task, by_class, points, chosen, margin, replicates, seed, shared_tasks
        ),
        spreads=find_spreads(fit),
        over_datasets=compare_over_datasets(
            board,
            chosen,
            margin=margin,
            replicates=min(replicates, MOST_OVER_DATASETS),
            seed=seed,
            by_task=by_task,
        ),
        flips=_neighbour_flips(board, by_class, chosen.join, top, replicates, seed),
        plan=_plan(fit_crossed(by_task, by_class) if shared_tasks else fit, by_task, by_class, top),
        seeds_tau=seeds_tau,
        seeds_interval=tau_interval(seeds_tau, len(board.keys)),
        feedback=_compare_feedback(by_task, points, feedback, chosen, replicates, seed),
        repetition=weigh_repetition(by_task, points, chosen, feedback, submissions, seed),
        rules=_judge_rules(board, replicates, seed),
        ways=order_by(mean, "ways"),
        shots=order_by(mean, "shots"),
    )


def _judge_populations(
    fit: CrossedFit,
    board: ScoreMatrix,
    classes: ClassMatrix | None,
    by_task: ScoreMatrix,
    by_class: ClassMatrix | None,
    points: NDArray[Any],
    rule: Rule,
    margin: float,
    replicates: int,
    seed: int,
    shared_tasks: bool,
) -> dict[Population, PopulationReport | Undefined]:
    """Each population by draws from it, with what the one model of the whole board says of it."""
    found: dict[Population, PopulationReport | Undefined] = {}
    drawn_from = {p: board if p is Population.SEEDS else by_task for p in POPULATIONS}
    reasons = {p: why_undefined(drawn_from[p], by_class, p) for p in POPULATIONS}
    units = {p: count_units(drawn_from[p], p, by_class) for p in POPULATIONS if not reasons[p]}
    drawn = draw_populations(fit, rule, units, seed)
    models = {
        p: d if isinstance(d, Undefined) else sum_up(d.true, d.again, points, units[p])
        for p, d in drawn.items()
    }
    known = KnownBoard(
        keys=board.keys,
        points=points,
        rule=rule,
        tasks=len(by_task.scores),
        units=units,
        drawn={p: _true_levels(drawn.get(p, Undefined(reason))) for p, reason in reasons.items()},
    )
    without = _without_farthest(board, classes, points, rule, models, seed, shared_tasks)
    for population, reason in reasons.items():
        found[population] = (
            Undefined(reason)
            if reason
            else _report(
                drawn_from[population],
                by_class,
                known,
                population,
                margin,
                replicates,
                seed,
                models[population],
                without.get(population),
            )
        )
    return found


def _report(
    board: ScoreMatrix,
    classes: ClassMatrix | None,
    known: KnownBoard,
    population: Population,
    margin: float,
    replicates: int,
    seed: int,
    model: BoardModel | Undefined,
    without: WithoutFarthest | None,
) -> PopulationReport:
    drawn = resample(board, population, classes=classes, replicates=replicates, seed=seed, rule=known.rule)
    units = known.units[population]
    pairs = {pair: known.judge(*pair, margin, population) for pair in combinations(known.keys, 2)}
    return PopulationReport(
        population=population,
        words=POPULATIONS[population],
        units=units,
        ranks=_rank(known, population, pairs),
        redrawn=rank_reliability(known.points, drawn, units),
        model=model,
        neighbours=tuple(
            Neighbours(
                *pair, pairs[pair].difference, pairs[pair].interval, pairs[pair].better, pairs[pair].verdict
            )
            for pair in pairwise(known.keys)
        ),
        without=without,
    )


def _without_farthest(
    board: ScoreMatrix,
    classes: ClassMatrix | None,
    points: NDArray[Any],
    rule: Rule,
    models: Mapping[Population, BoardModel | Undefined],
    seed: int,
    shared_tasks: bool,
) -> dict[Population, WithoutFarthest]:
    """The model of the others, where the farthest submission more than doubles the spread."""
    known = {p: model for p, model in models.items() if not isinstance(model, Undefined)}
    if len(points) < FEWEST_BESIDE + 1 or not known:
        return {}
    far = int(np.argmax(np.abs(points - np.median(points))))
    others = np.delete(np.arange(len(points)), far)
    rest = None if classes is None else classes.submissions(others)
    fit = fit_crossed(board.submissions(others), rest, shared_tasks=shared_tasks)
    alone = model_populations(fit, points[others], rule, {p: model.units for p, model in known.items()}, seed)
    return {
        p: WithoutFarthest(board.keys[far], model)
        for p, model in alone.items()
        if not isinstance(model, Undefined) and 2 * model.spread <= known[p].spread
    }


def _true_levels(drawn: DrawnPoints | Undefined) -> NDArray[np.float32] | Undefined:
    return drawn if isinstance(drawn, Undefined) else drawn.true.astype(np.float32)


def _rank(
    known: KnownBoard, population: Population, pairs: Mapping[tuple[str, str], JudgedPair]
) -> KnownRanks | Undefined:
    """The ranks by the model: two submissions are told apart as brackets of the board have it."""
    levels = known.drawn[population]
    if isinstance(levels, Undefined):
        return levels
    above = np.zeros((len(known.keys), len(known.keys)), bool)
    for place, pair in zip(combinations(range(len(known.keys)), 2), pairs.values(), strict=True):
        above[place] = pair.verdict == "different"
    return know_ranks(levels, above | above.T)


def _neighbour_flips(
    board: ScoreMatrix, classes: ClassMatrix | None, join: Join, top: int, replicates: int, seed: int
) -> tuple[NeighbourFlips, ...]:
    """Flips on halves of the datasets, in the runs that count, and of the classes of each, for the first places."""
    made: list[NeighbourFlips] = []
    for i in range(min(top, len(board.keys) - 1)):
        first, second = board.keys[i], board.keys[i + 1]
        by_dataset = board.counting_means(join)
        flips = _half_flips(by_dataset[:, i] - by_dataset[:, i + 1], None, replicates, seed)
        made.append(NeighbourFlips(first, second, "datasets", flips))
        if classes is not None:
            by_class = classes.scores()
            flips = _half_flips(by_class[:, i] - by_class[:, i + 1], classes.dataset, replicates, seed)
            made.append(NeighbourFlips(first, second, "classes", flips))
    return tuple(made)


def _half_flips(
    differences: NDArray[Any], strata: NDArray[Any] | None, replicates: int, seed: int
) -> Flips | Undefined:
    groups = [differences] if strata is None else [differences[strata == one] for one in np.unique(strata)]
    if np.mean([group.mean() for group in groups]) < 0:  # all datasets weigh alike, as in the flips
        return Undefined("the mean over these units has the other order than the board")
    smallest = min(len(group) for group in groups)
    if smallest < 2:
        return Undefined("there is a single unit, which has no halves")
    return subset_flips(differences, smallest // 2, strata=strata, subsets=replicates, seed=seed)


def _plan(
    fit: CrossedFit, board: ScoreMatrix, classes: ClassMatrix | None, top: int
) -> SampleSizePlan | Undefined:
    pairs: list[Components] = []
    for i in range(min(top, len(board.keys) - 1)):
        components = estimate_components(fit, board, board.keys[i], board.keys[i + 1], classes)
        if isinstance(components, Undefined):
            return components
        if board.column(board.keys[i]).mean() < board.column(board.keys[i + 1]).mean():
            whose = "of the runs" if board.runs > 1 else "over all tasks"
            return Undefined(f"by the mean {whose}, which planning speaks of, two of these places are turned")
        pairs.append(components)
    if not pairs:
        return Undefined("a single submission has no order to settle")
    return replace(plan_top(pairs), runs=board.runs)


def _compare_feedback(
    board: ScoreMatrix,
    points: NDArray[Any],
    feedback: Mapping[str, float] | None,
    rule: Rule,
    replicates: int,
    seed: int,
) -> FeedbackAgreement | Undefined:
    if feedback is None:
        return Undefined("there is no feedback phase to compare with")
    own = dict(zip(board.keys, points.tolist(), strict=True))
    common = [key for key in board.keys if key in feedback]
    if not common:
        return Undefined("no submission stands on both boards")
    leader = max(common, key=lambda key: feedback[key])
    tau = tau_between(own, feedback)
    cost = max(own[key] for key in common) - own[leader]
    over = Population.DATASETS if len(board.datasets) >= FEWEST_UNITS else Population.TASKS
    drawn = resample(board, over, replicates=replicates, seed=seed, rule=rule)
    both = [board.keys.index(key) for key in common]
    interval = behind_best(points[both], drawn[:, both], common.index(leader), count_units(board, over))
    return FeedbackAgreement(tau, tau_interval(tau, len(common)), cost, len(common), interval, over)


def _judge_rules(board: ScoreMatrix, replicates: int, seed: int) -> tuple[SeedRuleEffect, ...] | Undefined:
    model = fit_seed_model(board.run_means())
    if isinstance(model, Undefined):
        return model
    return tuple(simulate_rules(model, runs=board.runs, competitions=min(replicates, 10_000), seed=seed))


def _plain(value: Any) -> Any:
    if isinstance(value, Undefined):
        return {"undefined": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(part) for name, part in vars(value).items()}
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
