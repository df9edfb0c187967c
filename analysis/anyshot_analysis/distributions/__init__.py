"""Task distributions of the papers: the starting kit's samplers, which the platform draws its tasks with too.

A task is a pure function of pool, protocol, seed and index; support and query are disjoint. Bulk draws on cached
features are in `anyshot_analysis.episodes`, mixtures on features in `anyshot_analysis.shift.evaluation`, fixed supports
in `anyshot_analysis.shift.fixml`, Gaussian worlds in `anyshot_analysis.gaussian.world`.
"""

from anyshot_core.protocols.attribute_pairs import (
    AttributePairs,
    bipartition,
    feasible_pairs,
    unseen_pairs,
)
from anyshot_core.protocols.base_novel import BaseNovel, ClassSide, mixture_classes
from anyshot_core.protocols.draws import Draws
from anyshot_core.protocols.fixed_supports import FixedSupports
from anyshot_core.protocols.gaussian import Gaussians
from anyshot_core.protocols.within_domain import WithinDomain
from anyshot_core.protocols.writers import Writers

__all__ = [
    "AttributePairs",
    "BaseNovel",
    "ClassSide",
    "Draws",
    "FixedSupports",
    "Gaussians",
    "WithinDomain",
    "Writers",
    "bipartition",
    "feasible_pairs",
    "mixture_classes",
    "unseen_pairs",
]
