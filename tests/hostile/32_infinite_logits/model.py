import numpy as np
from honest import HonestMetaLearner as MyMetaLearner  # noqa: F401
from honest import HonestLearner, HonestPredictor


class Wrong(HonestPredictor):
    def predict(self, query):
        logits = super().predict(query)
        logits[0, 0] = np.inf
        return logits


class MyLearner(HonestLearner):
    def fit(self, support):
        return Wrong(super().fit(support).centroids)
