"""How far a ranking can be trusted: what would another draw of tasks, classes, datasets or seeds have said?

Every figure names its population, which is also its unit of resampling:

- `tasks`: other tasks of these datasets (tasks are drawn again within each dataset and run)
- `classes`: other classes of these datasets, and other tasks
- `datasets`: other datasets, and other tasks of them (hierarchical: datasets, then tasks within each)
- `seeds`: other runs of these submissions
"""

from anyshot_scoring.reliability.agreement import tau_b, tau_between, tau_between_runs
from anyshot_scoring.reliability.assessment import Assessment, assess
from anyshot_scoring.reliability.board_model import BoardModel
from anyshot_scoring.reliability.components import Components, estimate_components
from anyshot_scoring.reliability.crossed_levels import model_populations
from anyshot_scoring.reliability.crossed_model import CrossedFit, fit_crossed
from anyshot_scoring.reliability.flips import (
    Flips,
    count_flips,
    count_ties,
    subset_flips,
)
from anyshot_scoring.reliability.matrix import ClassMatrix, NotComparable, ScoreMatrix, align, align_classes
from anyshot_scoring.reliability.over_datasets import OverDatasets, compare_over_datasets
from anyshot_scoring.reliability.paired import Interval, PairedDifference, compare, judge
from anyshot_scoring.reliability.planning import SampleSizePlan, plan_top
from anyshot_scoring.reliability.ranks import (
    KnownRanks,
    RankReliability,
    find_groups,
    know_ranks,
    rank_reliability,
)
from anyshot_scoring.reliability.resampling import POPULATIONS, Population, resample
from anyshot_scoring.reliability.seeds import SeedModel, SeedRuleEffect, fit_seed_model, simulate_rules
from anyshot_scoring.reliability.spreads import SpreadFound, find_spreads
from anyshot_scoring.reliability.strata import Crossing, Strata, Stratum, order_by

__all__ = [
    "POPULATIONS",
    "Assessment",
    "BoardModel",
    "ClassMatrix",
    "Components",
    "CrossedFit",
    "Crossing",
    "Flips",
    "Interval",
    "KnownRanks",
    "NotComparable",
    "OverDatasets",
    "PairedDifference",
    "Population",
    "RankReliability",
    "SampleSizePlan",
    "ScoreMatrix",
    "SeedModel",
    "SeedRuleEffect",
    "SpreadFound",
    "Strata",
    "Stratum",
    "align",
    "align_classes",
    "assess",
    "compare",
    "compare_over_datasets",
    "count_flips",
    "count_ties",
    "estimate_components",
    "find_groups",
    "find_spreads",
    "fit_crossed",
    "fit_seed_model",
    "judge",
    "know_ranks",
    "model_populations",
    "order_by",
    "plan_top",
    "rank_reliability",
    "resample",
    "simulate_rules",
    "subset_flips",
    "tau_b",
    "tau_between",
    "tau_between_runs",
]
