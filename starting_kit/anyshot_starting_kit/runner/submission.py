"""Imports a submission and names what is wrong with it."""

import importlib
from dataclasses import dataclass
from typing import Any


class MissingClass(Exception):
    """model.py was imported and lacks one of the two classes."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The two classes of a submission; the predictor's is whatever `fit` returns."""

    meta_learner: Any
    learner: Any


def import_submission() -> Submission:
    """Import model.py. Lets every exception of it through, so that a missing wheel is not called a missing class."""
    model = importlib.import_module("model")
    missing = [name for name in ("MyMetaLearner", "MyLearner") if not hasattr(model, name)]
    if missing:
        raise MissingClass(f"model.py defines no {' and no '.join(missing)}.")
    return Submission(model.MyMetaLearner, model.MyLearner)
