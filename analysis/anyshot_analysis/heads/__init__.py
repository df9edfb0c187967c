"""Classifiers on frozen features, fitted for many tasks and many resamplings of a support set at once."""

from anyshot_analysis.heads.baseline import BaselineHead
from anyshot_analysis.heads.baseline_pp import BaselinePP
from anyshot_analysis.heads.linear import FittedClassifier, Head, LinearRule
from anyshot_analysis.heads.metaoptnet import MetaOptNetSVM
from anyshot_analysis.heads.problem import FittingProblem, compact, problem_of
from anyshot_analysis.heads.protonet import ProtoNet
from anyshot_analysis.heads.r2d2 import R2D2

HEADS: dict[
    str, type[BaselineHead] | type[BaselinePP] | type[ProtoNet] | type[R2D2] | type[MetaOptNetSVM]
] = {
    "baseline": BaselineHead,
    "baseline++": BaselinePP,
    "protonet": ProtoNet,
    "r2d2": R2D2,
    "metaoptnet-svm": MetaOptNetSVM,
}

__all__ = [
    "HEADS",
    "R2D2",
    "BaselineHead",
    "BaselinePP",
    "FittedClassifier",
    "FittingProblem",
    "Head",
    "LinearRule",
    "MetaOptNetSVM",
    "ProtoNet",
    "compact",
    "problem_of",
]
