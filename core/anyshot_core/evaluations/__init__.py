"""Further evaluations of learners that are trained once: which other tasks they are tested on, described once."""

from anyshot_core.evaluations.evaluation import EvaluationPoint, FurtherEvaluation, pool_part
from anyshot_core.evaluations.kinds import (
    NO_DOMAIN,
    AnotherPool,
    BaseClasses,
    EachDomain,
    Mixtures,
    NovelClasses,
    Shots,
    UnseenPairs,
    UnseenWriters,
    ValidationClasses,
)
from anyshot_core.evaluations.registry import (
    EVALUATIONS,
    evaluation_from_dict,
    evaluations_from_list,
    read_evaluation,
    read_evaluations,
)
from anyshot_core.evaluations.scores import PointScore, PointSeries, point_words, score_text, split_points

__all__ = [
    "EVALUATIONS",
    "NO_DOMAIN",
    "AnotherPool",
    "BaseClasses",
    "EachDomain",
    "EvaluationPoint",
    "FurtherEvaluation",
    "Mixtures",
    "NovelClasses",
    "PointScore",
    "PointSeries",
    "Shots",
    "UnseenPairs",
    "UnseenWriters",
    "ValidationClasses",
    "evaluation_from_dict",
    "evaluations_from_list",
    "point_words",
    "pool_part",
    "read_evaluation",
    "read_evaluations",
    "score_text",
    "split_points",
]
