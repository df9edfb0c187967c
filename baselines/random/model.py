"""Random guessing: what a score of 0 looks like."""

import numpy as np
from api import Learner, MetaLearner, Predictor


class MyMetaLearner(MetaLearner):
    """Learns nothing."""

    def meta_fit(self, meta_train_generator, meta_valid_generator):
        """Return a learner that knows nothing, without looking at any task."""
        return MyLearner()


class MyLearner(Learner):
    """Counts the ways of a task and forgets the rest."""

    def fit(self, support_set):
        """Keep the number of ways."""
        _, _, _, n_ways, _ = support_set
        return RandomPredictor(n_ways)

    def save(self, path_to_save):
        """There is nothing to save."""

    def load(self, path_to_load):
        """There is nothing to load."""


class RandomPredictor(Predictor):
    """Guesses uniformly."""

    def __init__(self, n_ways):
        super().__init__()
        self.n_ways = n_ways

    def predict(self, query_set):
        """Labels `[n_query]`, each drawn uniformly from the task's ways."""
        return np.random.default_rng(0).integers(0, self.n_ways, len(query_set))
