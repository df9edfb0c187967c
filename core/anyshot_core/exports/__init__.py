"""What a run exports of its training and its learner, in the files that `anyshot analyse` reads."""

from anyshot_core.exports.asked import Asked, CannotExport, check_asked
from anyshot_core.exports.files import ESTIMATES, FILES, LAYERS, PROBABILITIES, SNAPSHOTS, array_role
from anyshot_core.exports.making import Exporting, make_exports

__all__ = [
    "ESTIMATES",
    "FILES",
    "LAYERS",
    "PROBABILITIES",
    "SNAPSHOTS",
    "Asked",
    "CannotExport",
    "Exporting",
    "array_role",
    "check_asked",
    "make_exports",
]
