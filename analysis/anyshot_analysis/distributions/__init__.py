"""Task distributions of the papers: the starting kit's samplers, which the platform draws its tasks with too.

A task is a pure function of pool, protocol, seed and index; support and query are disjoint. Bulk draws on cached
features are in `anyshot_analysis.episodes`, mixtures on features in `anyshot_analysis.shift`, fixed supports in
`anyshot_analysis.fixml`, Gaussian worlds in `anyshot_analysis.gaussian.world`.
"""

from anyshot_starting_kit.protocols.attribute_pairs import (
    AttributePairs,
    bipartition,
    feasible_pairs,
    unseen_pairs,
)
from anyshot_starting_kit.protocols.base_novel import BaseNovel, ClassSide, mixture_classes
from anyshot_starting_kit.protocols.draws import Draws
from anyshot_starting_kit.protocols.fixed_supports import FixedSupports
from anyshot_starting_kit.protocols.gaussian import Gaussians
from anyshot_starting_kit.protocols.within_domain import WithinDomain
from anyshot_starting_kit.protocols.writers import Writers

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
