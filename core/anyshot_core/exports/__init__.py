"""What a run exports of its training and its learner, in the files that `anyshot analyse` reads."""

from anyshot_core.exports.files import ESTIMATES, FILES, LAYERS, PROBABILITIES, SNAPSHOTS, array_role
from anyshot_core.exports.production import Exporting, make_exports
from anyshot_core.exports.requests import Asked, CannotExport, check_asked

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
