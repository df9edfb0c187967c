import os

import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor


class Bomb:
    def __reduce__(self):
        return os.system, ("touch /tmp/unpickled",)


class Pickled(HonestPredictor):
    def predict(self, query):
        return np.array([Bomb() for _ in range(len(query))], dtype=object)


class MyLearner(HonestLearner):
    def fit(self, support):
        return Pickled(super().fit(support).centroids)
