"""Distances between the representations that two networks, or two layers, give to the same examples."""

from anyshot_analysis.representations.cca import CanonicalCorrelations, canonical_correlations, pwcca, svcca
from anyshot_analysis.representations.chance import (
    chance_cca,
    chance_cka,
    expected_overlap,
    permutation_level,
    permutation_levels,
)
from anyshot_analysis.representations.cka import linear_cka, unbiased_cka
from anyshot_analysis.representations.compare import Similarities, compare
from anyshot_analysis.representations.layers import Rows, convolution_rows, flatten_maps, pool_maps
from anyshot_analysis.representations.procrustes import procrustes_distance

__all__ = [
    "CanonicalCorrelations",
    "Rows",
    "Similarities",
    "canonical_correlations",
    "chance_cca",
    "chance_cka",
    "compare",
    "convolution_rows",
    "expected_overlap",
    "flatten_maps",
    "linear_cka",
    "permutation_level",
    "permutation_levels",
    "pool_maps",
    "procrustes_distance",
    "pwcca",
    "svcca",
    "unbiased_cka",
]
