import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor


class Huge(HonestPredictor):
    def predict(self, query):
        return np.lib.stride_tricks.as_strided(np.zeros(1), shape=(1 << 40, 3), strides=(0, 0))


class MyLearner(HonestLearner):
    def fit(self, support):
        return Huge(super().fit(support).centroids)
