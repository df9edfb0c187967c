"""Which exports are asked for, and whether a run with these protocols can have them."""

from dataclasses import dataclass

from anyshot_core.data.pool import Pool
from anyshot_core.evaluations import BaseClasses, EvaluationPoint, NovelClasses, ValidationClasses
from anyshot_core.protocols import ProtocolError, Roles

MOST_SNAPSHOTS = 20
EVALUATIONS = (BaseClasses(), ValidationClasses(), NovelClasses())  # what each snapshot is tested on


class CannotExport(ProtocolError):
    """An export that these protocols do not allow; the text says what they would need."""


@dataclass(frozen=True)
class Asked:
    """What a run exports: so many snapshots of training, layers of the learner, estimates from support sets, and the
    probabilities of its answers.
    """

    snapshots: int = 0
    features: bool = False
    estimates: bool = False
    probabilities: bool = False

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.features or self.estimates or self.probabilities)


def snapshot_points(roles: Roles) -> tuple[EvaluationPoint, ...]:
    """The tests of each snapshot: base, validation and novel classes, one point each. Raises `CannotExport`."""
    try:
        return tuple(point for one in EVALUATIONS for point in one.points(roles, ()))
    except ProtocolError as error:
        compared = "Snapshots are compared on base, validation and novel classes."
        raise CannotExport(f"{compared} {error}") from error


def check_asked(asked: Asked, roles: Roles, train: Pool, test: Pool) -> None:
    """Raise `CannotExport` where an export cannot be made, or would test what was trained on."""
    if not asked.snapshots:
        return
    snapshot_points(roles)
    for evaluation in EVALUATIONS:
        try:
            evaluation.check(roles, train, test, test)
        except ProtocolError as error:
            raise CannotExport(f"Snapshots, {evaluation.short_name}: {error}") from error
