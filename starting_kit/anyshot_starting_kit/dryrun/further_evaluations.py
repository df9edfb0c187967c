"""Which data further evaluations of a dry run test on, and whether they can."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import EvaluationPoint, FurtherEvaluation
from anyshot_core.evaluations.evaluation import domains_of
from anyshot_core.protocols import ProtocolError, Roles
from anyshot_starting_kit.dryrun.parts import training_packs
from anyshot_starting_kit.dryrun.publicdata import PublicData


def further_pool(data: PublicData, evaluation: FurtherEvaluation) -> Pool:
    """The pool that an evaluation is of."""
    packs = data.pools[evaluation.pool] if evaluation.pool else data.test
    return Pool.open(packs, verify=False)


def seen_pool(data: PublicData, roles: Roles) -> Pool:
    """What training and validation choose from."""
    train, validation = training_packs(data, roles)
    return Pool.open(tuple(dict.fromkeys((*train, *(validation or ())))), verify=False)


def check_further(data: PublicData, roles: Roles, evaluations: Sequence[FurtherEvaluation]) -> None:
    """Raise `ProtocolError` where one cannot be made of these protocols and packs, or tests what was trained on."""
    if not evaluations:
        return
    seen = seen_pool(data, roles)
    test = Pool.open(data.test, verify=False)
    for evaluation in evaluations:
        try:
            evaluation.check(roles, seen, test, further_pool(data, evaluation))
        except ProtocolError as error:
            raise ProtocolError(f"Evaluation {evaluation.short_name}: {error}") from error


def all_points(
    data: PublicData, roles: Roles, evaluations: Sequence[FurtherEvaluation]
) -> Iterator[tuple[FurtherEvaluation, EvaluationPoint]]:
    """Every test of every evaluation, in order."""
    for evaluation in evaluations:
        domains = domains_of(further_pool(data, evaluation))
        for point in evaluation.points(roles, domains):
            yield evaluation, point


def by_evaluation(
    points: Iterable[tuple[FurtherEvaluation, EvaluationPoint]],
) -> Iterator[tuple[FurtherEvaluation, list[EvaluationPoint]]]:
    """The points of each evaluation together, in order: what one job tests."""
    for evaluation, own in groupby(points, key=lambda pair: pair[0]):
        yield evaluation, [point for _, point in own]


def point_name(evaluation: FurtherEvaluation, point: EvaluationPoint) -> str:
    """What files call a point: the evaluation's short name, and the point's own where it has several."""
    return (
        evaluation.short_name
        if point.key == evaluation.short_name
        else f"{evaluation.short_name}-{point.key}"
    )
